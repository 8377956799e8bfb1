import { Hono } from "hono";
import { version } from "../../package.json";
import type { App } from "../auth/guard.js";
import { isOperator } from "../auth/operator.js";
import { isConversationId } from "../core/ids.js";
import { reindexBody, type ReindexAnswer, type Status } from "../protocol/status.js";
import type { Env } from "../settings.js";
import { conversationIds } from "../store/repair.js";
import { indexStatus } from "../store/status.js";
import { INDEX_UNREACHABLE, objectOf } from "./conversations.js";
import { problem, readBody, Refusal } from "./problem.js";

// For the deployment's operators: what is going on, and repair of the index (H16, H21).

/** Objects asked in one request, side by side. */
const OBJECTS = 20;
const ANSWER_MS = 5_000;

export const operator = new Hono<App>()
  .on(["GET", "POST"], ["/status", "/reindex"], async (c, next) => {
    if (!isOperator(c.env.OPERATORS, c.var.settings.auth, c.var.actor.person, c.var.caller))
      return problem(403, "not_operator", "Only an operator of this deployment may do this. The setting OPERATORS names them.");
    return next();
  })
  .get("/status", async (c) => {
    const now = Date.now();
    const asked = (c.req.query("conversation") ?? "").split(",").filter(isConversationId);
    const found = await within(indexStatus(c.env.DB, now, OBJECTS)).catch((error: unknown) => ({ index: null, suspects: [], error: wordsOf(error) }));
    const ids = [...new Set([...asked, ...found.suspects])].slice(0, OBJECTS);
    const objects = await Promise.all(
      ids.map((id) =>
        within(objectOf(c.env, id).status()).then(
          (answer) => answer ?? { conversation: id, error: "The object has no conversation: the index names one that is not there." },
          (error: unknown) => ({ conversation: id, error: wordsOf(error) }),
        ),
      ),
    );
    return c.json({ now, version, index: found.index, indexError: "error" in found ? found.error : null, objects } satisfies Status);
  })
  .post("/reindex", async (c) => {
    const { objects, after } = await readBody(c.req.raw, reindexBody);
    const ids = objects ?? (await conversationIds(c.env.DB, after ?? "", OBJECTS));
    const stubs = ids.map((id) => ({ object: id, stub: objects ? objectOfHex(c.env, id) : objectOf(c.env, id) }));
    const answer: ReindexAnswer = { conversations: 0, empty: 0, rows: 0, failed: [], next: !objects && ids.length === OBJECTS ? (ids.at(-1) ?? null) : null };
    await Promise.all(
      stubs.map(async ({ object, stub }) => {
        try {
          const sent = await stub.reindex();
          if (!sent) return void (answer.empty += 1);
          if (sent.status === "unreachable") return void answer.failed.push({ object, error: INDEX_UNREACHABLE });
          answer.conversations += 1;
          answer.rows += sent.rows;
          if (sent.status === "sent") answer.failed.push({ object, error: "D1 has not taken all rows yet. They are sent again by themselves." });
        } catch (error) {
          answer.failed.push({ object, error: wordsOf(error) });
        }
      }),
    );
    return c.json(answer);
  });

/** The object of one of the platform's own ids: 64 hexadecimal digits, made for this very namespace. */
function objectOfHex(env: Env, id: string): ReturnType<typeof objectOf> {
  try {
    return env.CONVERSATION.get(env.CONVERSATION.idFromString(id)) as unknown as ReturnType<typeof objectOf>;
  } catch {
    throw new Refusal(problem(422, "bad_object", `"${id.slice(0, 80)}" is not the id of an object of this deployment.`));
  }
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function within<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`No answer in ${ANSWER_MS / 1000} seconds.`)), ANSWER_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
