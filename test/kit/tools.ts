import * as z from "zod";
import { canonicalJson, type Json } from "../../src/protocol/json.js";
import { allow, ask, type PolicyVerdict, type Tool, type ToolContext } from "../../src/core/tool.js";

export interface Run {
  tool: string;
  input: Json;
  key: string;
}

interface Made {
  name: string;
  input?: z.ZodType;
  policy?: (input: Json) => PolicyVerdict;
  idempotent?: boolean;
  afterSiblings?: boolean;
  timeoutMs?: number;
  execute?: (input: Json, context: ToolContext) => Promise<unknown>;
}

/** A tool as small as a test needs it; every run is counted in `runs`. */
export function makeTool(runs: Run[], made: Made): Tool {
  const input = made.input ?? z.record(z.string(), z.json());
  return {
    name: made.name,
    description: made.name,
    inputSchema: z.toJSONSchema(input, { io: "input", unrepresentable: "any" }) as Json,
    parse: (value) => {
      const parsed = input.safeParse(value);
      return parsed.success
        ? { ok: true, value: parsed.data as Json }
        : { ok: false, faults: parsed.error.issues.map((issue) => ({ path: issue.path as (string | number)[], message: issue.message })) };
    },
    risk: "medium",
    policy: made.policy ?? (() => ask()),
    summary: (value) => `${made.name} ${canonicalJson(value)}`,
    idempotent: () => made.idempotent ?? false,
    afterSiblings: made.afterSiblings ?? false,
    timeoutMs: made.timeoutMs ?? 60_000,
    execute: async (value, context) => {
      runs.push({ tool: made.name, input: value, key: context.idempotencyKey });
      return made.execute ? made.execute(value, context) : { did: value };
    },
  };
}

/** The tools that most tests use: one that asks, one that doesn't, one idempotent, one that runs after the others. */
export function standardTools(runs: Run[]): Tool[] {
  const pay = z.object({ to: z.string(), amount: z.number().positive().max(10_000), note: z.string().default("none") });
  return [
    makeTool(runs, {
      name: "pay",
      input: pay,
      policy: (input) => {
        const { amount } = input as { amount: number };
        if (amount === 666) return { verdict: "deny", reason: "not that amount" };
        if (amount === 667) throw new Error("policy broke");
        return ask(amount > 1000 ? { risk: "high" } : {});
      },
    }),
    makeTool(runs, { name: "look", policy: allow, idempotent: true }),
    makeTool(runs, { name: "erase", idempotent: false }),
    makeTool(runs, { name: "set", idempotent: true }),
    makeTool(runs, { name: "notify", policy: allow, afterSiblings: true }),
  ];
}
