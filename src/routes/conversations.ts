import { Hono } from "hono";
import type { App } from "../auth/guard.js";
import { isName } from "../auth/local.js";
import { hex, isConversationId } from "../core/ids.js";
import type { Actor } from "../core/ports.js";
import type { MessageStep } from "../protocol/entities.js";
import { cancelBody, createConversationBody, memberBody, patchConversationBody } from "../protocol/http.js";
import { DEFAULT_SKILL, skills } from "../skills/index.js";
import { listConversations } from "../store/conversations.js";
import type { Conversation } from "../conversation/conversation.js";
import type { Env } from "../settings.js";
import { notFound, problem, readBody, Refusal, refused } from "./problem.js";

/** A new conversation's id: 128 random bits, so that none is ever guessed or used twice. */
const newId = (): string => `c_${hex(crypto.getRandomValues(new Uint8Array(16)))}`;

type Remote<Method> = Method extends (...values: infer Values) => infer Result ? (...values: Values) => Promise<Awaited<Result>> : never;
type ConversationStub = {
  [
    Name in
      | "create"
      | "describe"
      | "run"
      | "messages"
      | "message"
      | "pausePoint"
      | "decide"
      | "cancel"
      | "rename"
      | "head"
      | "setMember"
      | "remove"
      | "fetch"
      | "reindex"
      | "reindexAs"
      | "status"
  ]: Remote<Conversation[Name]>;
};

/** The object of a conversation id; throws a 404 for what is not one. */
export function objectOf(env: Env, id: string | null): ConversationStub {
  if (id === null || !isConversationId(id)) throw new Refusal(notFound());
  // The runtime's own stub type does not end on recursive JSON types, so its methods are restated above.
  return env.CONVERSATION.getByName(id) as unknown as ConversationStub;
}

/**
 * The header that tells an object who calls. Names have letters of every script and a header holds ASCII: of any
 * other the runtime would write a warning, with the name in it, into the operator's log (H16).
 */
export const asActor = (actor: Actor): { "x-actor": string } => ({
  "x-actor": JSON.stringify(actor).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
});

export const INDEX_UNREACHABLE = "The index did not answer, so nothing was changed. Try again in a minute.";

export const limitOf = (text: string | undefined): number => Math.min(100, Math.max(1, Number.parseInt(text ?? "50", 10) || 50));

export const conversations = new Hono<App>()
  .post("/", async (c) => {
    const body = await readBody(c.req.raw, createConversationBody);
    const skill = body.skill ?? DEFAULT_SKILL;
    if (!skills.has(skill)) return problem(422, "unknown_skill", `There is no skill "${skill}". The skills are: ${[...skills.keys()].join(", ")}.`);
    const id = newId();
    const made = await objectOf(c.env, id).create(c.var.actor.person, { id, title: body.title, skill });
    return c.json(made, 201);
  })
  .get("/", async (c) => c.json(await listConversations(c.env.DB, c.var.actor.person, limitOf(c.req.query("limit")), c.req.query("cursor") ?? null)))
  .get("/:id", async (c) => {
    const object = objectOf(c.env, c.req.param("id"));
    const found = await object.describe(c.var.actor.person);
    return found ? c.json({ ...found, run: await object.run(c.var.actor.person) }) : notFound();
  })
  .patch("/:id", async (c) => {
    const body = await readBody(c.req.raw, patchConversationBody);
    const object = objectOf(c.env, c.req.param("id"));
    const outcome = "title" in body ? await object.rename(c.var.actor, body.title) : await object.head(c.var.actor, body.head, body.withdraw === true);
    return outcome.status === "rejected" ? refused(outcome) : c.json(await object.describe(c.var.actor.person));
  })
  .delete("/:id", async (c) => {
    const outcome = await objectOf(c.env, c.req.param("id")).remove(c.var.actor);
    return outcome.status === "rejected" ? refused(outcome) : c.body(null, 204);
  })
  .post("/:id/cancel", async (c) => {
    const { runId } = await readBody(c.req.raw, cancelBody);
    const outcome = await objectOf(c.env, c.req.param("id")).cancel(c.var.actor, runId);
    return outcome.status === "rejected" ? refused(outcome) : c.json({ status: outcome.status });
  })
  .post("/:id/reindex", async (c) => {
    const outcome = await objectOf(c.env, c.req.param("id")).reindexAs(c.var.actor);
    if (outcome.status === "unreachable") return problem(503, "index_unreachable", INDEX_UNREACHABLE);
    return outcome.status === "rejected" ? refused(outcome) : c.json(outcome);
  })
  .put("/:id/members/:person", async (c) => {
    const { role } = await readBody(c.req.raw, memberBody);
    const person = c.req.param("person");
    if (!isName(person)) return problem(422, "bad_name", "A name has letters, digits and . _ - in it, 40 at most.");
    const outcome = await objectOf(c.env, c.req.param("id")).setMember(c.var.actor, person, role);
    return outcome.status === "rejected" ? refused(outcome) : c.body(null, 204);
  })
  .delete("/:id/members/:person", async (c) => {
    const outcome = await objectOf(c.env, c.req.param("id")).setMember(c.var.actor, c.req.param("person"), null);
    return outcome.status === "rejected" ? refused(outcome) : c.body(null, 204);
  })
  .get("/:id/messages", async (c) => {
    const before = Number.parseInt(c.req.query("before") ?? "", 10);
    const found = await objectOf(c.env, c.req.param("id")).messages(c.var.actor.person, Number.isFinite(before) ? before : null, limitOf(c.req.query("limit")));
    if (!found) return notFound();
    return c.json({ messages: asUiMessages(found.steps), before: found.hasOlder ? (found.steps[0]?.position ?? null) : null });
  })
  .get("/:id/messages/:message", async (c) => {
    const steps = await objectOf(c.env, c.req.param("id")).message(c.var.actor.person, c.req.param("message"));
    return steps ? c.json({ message: asUiMessages(steps)[0], steps }) : notFound();
  })
  .get("/:id/socket", async (c) => {
    if (c.req.header("upgrade")?.toLowerCase() !== "websocket") return problem(426, "upgrade_required", "This address speaks WebSocket.");
    return objectOf(c.env, c.req.param("id")).fetch(new Request("https://object/socket", { headers: { upgrade: "websocket", ...asActor(c.var.actor) } }));
  });

interface UiMessage extends Pick<MessageStep, "role"> {
  id: string;
  parts: unknown[];
  metadata?: { synthetic: true };
}

/** Steps joined to AI SDK `UIMessage`s, as a stock client takes them for its first messages. */
function asUiMessages(steps: Pick<MessageStep, "messageId" | "role" | "parts" | "author">[]): UiMessage[] {
  const messages = new Map<string, UiMessage>();
  for (const { messageId, role, parts, author } of steps) {
    const message = messages.get(messageId);
    if (message) message.parts.push(...parts);
    else messages.set(messageId, { id: messageId, role, parts: [...parts], ...(role === "user" && author === null ? { metadata: { synthetic: true } } : {}) });
  }
  return [...messages.values()];
}
