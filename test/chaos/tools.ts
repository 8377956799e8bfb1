import * as z from "zod";
import { ask, type Tool } from "../../src/core/tool.js";
import { toMinor, transfer } from "../../src/store/ledger.js";
import { isShort, isSlow, SHORT_MS, SLOW_MS } from "./short.js";
import { defineTool } from "../../src/tools/define-tool.js";

/** Moves money at once, with nothing that makes a second try harmless: each run of it is a transfer of its own. */
export const wire = defineTool({
  name: "wire",
  description: "Move money by wire. Can't be called twice for one payment.",
  input: z.object({ from: z.string(), to: z.string(), amount: z.number().positive(), currency: z.string() }),
  risk: "high",
  idempotent: false,
  async execute({ from, to, amount, currency }, { idempotencyKey, conversationId, env }) {
    await scheduler.wait(120);
    const key = `${idempotencyKey}#${crypto.randomUUID()}`;
    const outcome = await transfer(env.DB, { key, from, to, amountMinor: toMinor(amount) ?? 0, currency, conversationId, createdAtMs: Date.now() });
    await scheduler.wait(isSlow(amount) ? SLOW_MS : 60);
    if (outcome.status === "refused") throw new Error(outcome.message);
    return { moved: amount };
  },
});

export function questionable(tool: Tool): Tool {
  return {
    ...tool,
    policy(input) {
      const verdict = tool.policy(input);
      const { amount = 1 } = (input ?? {}) as { amount?: number };
      return verdict.verdict === "ask" && isShort(amount) ? ask({ ...verdict.terms, expiresIn: SHORT_MS }) : verdict;
    },
  };
}
