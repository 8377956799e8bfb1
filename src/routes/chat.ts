import { Hono } from "hono";
import * as z from "zod";
import type { App } from "../auth/guard.js";
import type { ChatRequest } from "../conversation/chat.js";
import { resumeBody } from "../protocol/http.js";
import type { Decision } from "../protocol/commands.js";
import { DEFAULT_SKILL } from "../skills/index.js";
import { conversationOf, hex, isConversationId } from "../core/ids.js";
import { canonicalJson, json } from "../protocol/json.js";
import type { Decided } from "../conversation/conversation.js";
import { asActor, objectOf } from "./conversations.js";
import { DECISION_STATUS, notFound, problem, readBody, refused } from "./problem.js";

// What a stock AI SDK client sends. Of its messages only two things are read: the last text of a person,
// and answers to approvals (H10). The rest may be anything and is not believed.

const part = z.looseObject({ type: z.string() });
const uiMessage = z.looseObject({ id: z.string().min(1).max(128), role: z.enum(["user", "assistant"]), parts: z.array(part).catch([]) });
export const chatBody = z.looseObject({
  id: z.string().min(1).max(200),
  messages: z.array(z.unknown()),
  trigger: z.string().optional(),
  messageId: z.string().optional(),
  /** Ours, set through the transport's `body`: cancels what is live and would be left behind (H22). */
  withdraw: z.boolean().optional().catch(undefined),
});
const answered = z.object({
  state: z.literal("approval-responded"),
  approval: z.object({
    id: z.string(),
    approved: z.boolean(),
    reason: z.string().optional(),
    /** Ours, sent back as it came: the card that the person saw. */
    descriptor: z.object({ version: z.number().int().positive() }).optional().catch(undefined),
  }),
});

const returned = z.union([
  z.object({ state: z.literal("output-available"), toolCallId: z.string(), output: json }),
  z.object({ state: z.literal("output-error"), toolCallId: z.string(), errorText: z.string() }),
]);

export const chat = new Hono<App>()
  .post("/", async (c) => {
    const body = await readBody(c.req.raw, chatBody);
    const id = await conversationIdOf(c.var.actor.person, body.id);
    const read = readChat(body);
    if ("refusal" in read) return read.refusal;
    const object = objectOf(c.env, id);
    // An id of the caller's own choosing makes its conversation on first use; one of ours must exist.
    if (id !== body.id && read.request.kind !== "answers") await object.create(c.var.actor.person, { id, skill: DEFAULT_SKILL });
    const response = await object.fetch(new Request("https://object/chat", { method: "POST", body: JSON.stringify(read.request), headers: asActor(c.var.actor) }));
    return asAnswer(response);
  })
  .get("/:id/stream", async (c) => {
    const id = await conversationIdOf(c.var.actor.person, c.req.param("id"));
    const response = await objectOf(c.env, id).fetch(new Request("https://object/resume", { headers: asActor(c.var.actor) }));
    // Never 404: a client without a conversation yet would turn to an error on load.
    return response.headers.get("content-type")?.startsWith("application/json") ? new Response(null, { status: 204 }) : response;
  })
  .post("/resume", async (c) => {
    const body = await readBody(c.req.raw, resumeBody);
    if (!("decisions" in body)) {
      const [outcome] = await decideAll(c, [body]);
      return outcome ? asDecision(outcome) : notFound();
    }
    const twice = contradiction(body.decisions);
    if (twice) return problem(400, "contradiction", `${twice} is decided twice in this request, in different ways. Nothing was applied.`);
    const outcomes = await decideAll(c, body.decisions);
    return c.json({ results: outcomes.map(asResult) });
  });

/** `c_` and 128 bits of SHA-256 over person, 0, id for an id that is not ours, so that nobody can take or test another's. */
export async function conversationIdOf(person: string, id: string): Promise<string> {
  if (isConversationId(id)) return id;
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${person}\0${id}`));
  return `c_${hex(new Uint8Array(hash, 0, 16))}`;
}

const unsupported = (code: string, detail: string): { refusal: Response } => ({ refusal: problem(422, code, detail) });
const malformed = (detail: string): { refusal: Response } => ({ refusal: problem(400, "malformed", detail) });

/** `messageId` names the message that the request is about; without it, it is the last one. */
export function readChat(body: z.infer<typeof chatBody>): { request: ChatRequest } | { refusal: Response } {
  const parsed = body.messages.map((message) => uiMessage.safeParse(message).data ?? null);
  const last = parsed.at(-1);
  // The client has cut its history before the answer that is to be given anew.
  if (body.trigger === "regenerate-message") {
    if (last?.role !== "user") return malformed("To regenerate an answer, end the messages with the text that it answers.");
    return readText(last, { kind: "regenerate", withdraw: body.withdraw === true });
  }
  const about = body.messageId === undefined ? last : (parsed.findLast((message) => message?.id === body.messageId) ?? last);
  if (!about) return malformed("The message that this is about must have an id, a role and parts.");
  if (about.role === "assistant") return about.id === (body.messageId ?? about.id) ? readAnswers(about) : malformed("The message that this is about is not among the messages.");
  return readText(about, { kind: "text", withdraw: body.withdraw === true, ...(body.messageId === undefined ? {} : { replaces: body.messageId }) });
}

type Text = Extract<ChatRequest, { kind: "text" | "regenerate" }>;

function readText({ id, parts }: z.infer<typeof uiMessage>, as: { kind: Text["kind"]; withdraw: boolean; replaces?: string }): ReturnType<typeof readChat> {
  if (parts.some((one) => one.type === "file")) return unsupported("files_not_supported", "Files can't be sent in this version. Nothing of the message was taken.");
  const text = parts.flatMap((one) => (one.type === "text" && typeof one["text"] === "string" ? [one["text"]] : [])).join("\n");
  if (text.trim() === "") return unsupported("empty", "The text is empty.");
  return { request: as.kind === "text" ? { ...as, kind: "text", again: as.replaces !== undefined, messageId: id, text } : { ...as, kind: "regenerate", messageId: id, text } };
}

function readAnswers({ id, parts }: z.infer<typeof uiMessage>): ReturnType<typeof readChat> {
  const answers = parts.flatMap((one) => {
    const read = answered.safeParse(one).data?.approval;
    return read ? [{ pausePointId: read.id, approved: read.approved, reason: read.reason, version: read.descriptor?.version }] : [];
  });
  const outputs = parts.flatMap((one) => returned.safeParse(one).data ?? []);
  return { request: { kind: "answers", messageId: id, steps: parts.filter((one) => one.type === "step-start").length, answers, outputs } };
}

/** A stream as it is, or the refusal that the object gave instead. */
async function asAnswer(response: Response): Promise<Response> {
  if (!response.headers.get("content-type")?.startsWith("application/json")) return response;
  return refused(await response.json());
}

/** One card, two verdicts: the request is at odds with itself, and nothing of it is believed. */
function contradiction(decisions: Decision[]): string | null {
  const seen = new Map<string, string>();
  for (const { pausePointId, decision, payloadOverride, choice } of decisions) {
    const said = canonicalJson([decision, payloadOverride, choice]);
    if ((seen.get(pausePointId) ?? said) !== said) return pausePointId;
    seen.set(pausePointId, said);
  }
  return null;
}

/** Decides in one transaction per object; the answers are in the order of the decisions. */
async function decideAll(c: { env: App["Bindings"]; var: App["Variables"] }, decisions: Decision[]): Promise<(Decided | typeof UNAVAILABLE)[]> {
  const byObject = Map.groupBy(decisions, (decision) => conversationOf(decision.pausePointId));
  const answers = new Map<Decision, Decided | typeof UNAVAILABLE>();
  for (const [id, group] of byObject) {
    // One conversation that fails must not hide what became of the others.
    const outcomes: (Decided | typeof UNAVAILABLE)[] =
      id === null
        ? []
        : await objectOf(c.env, id)
            .decide(c.var.actor, group)
            .catch(() => group.map(() => UNAVAILABLE));
    for (const [place, decision] of group.entries())
      answers.set(decision, outcomes[place] ?? { code: "not_found", message: "There is no such pause point, or it is not yours to see.", card: null });
  }
  return decisions.flatMap((decision) => answers.get(decision) ?? []);
}

const UNAVAILABLE = {
  code: "unavailable",
  message: "The conversation did not answer, so it is not known whether this was decided. Send it again: a decision is taken once.",
} as const;

/** One item of a batch. What there isn't and what is another's read the same. */
function asResult(outcome: Decided | typeof UNAVAILABLE): object {
  if (outcome.code === "unavailable") return { status: 503, ...outcome, pausePoint: null };
  const { code, message, card, faults } = outcome;
  const status = DECISION_STATUS[code];
  if (code === "not_found") return { status, code, message: "There is no such thing here, or it is not yours to see.", pausePoint: null };
  return { status, code, message, pausePoint: card, ...(faults ? { faults } : {}) };
}

function asDecision(outcome: Decided | typeof UNAVAILABLE): Response {
  if (outcome.code === "unavailable") return problem(503, outcome.code, outcome.message);
  const { code, message, card, faults } = outcome;
  const status = DECISION_STATUS[code];
  if (code === "not_found") return notFound();
  if (status === 200) return Response.json({ code, message, pausePoint: card });
  return problem(status, code, message, { ...(code === "forbidden" ? {} : { pausePoint: card }), ...(faults ? { faults } : {}) });
}
