import type { ModelMessage } from "ai";
import * as z from "zod";
import type { Model } from "../../src/core/model.js";
import { ask, type Tool } from "../../src/core/tool.js";
import { waitForApproval } from "../../src/tools/hitl.js";
import { checkHistory, propose, say } from "../kit/model.js";
import { makeTool } from "../kit/tools.js";
import { MOST_AMOUNT, TOOLS, type Plan, type ToolName } from "./terms.js";

// What is not Holdpoint: an agent that proposes what the newest text asks for, and tools that end at once.

const amounts = z.object({ amount: z.number().positive().max(MOST_AMOUNT) });

// Made once: a schema takes longer to build than most of a sequence takes.
const PROTOTYPES = (Object.keys(TOOLS) as ToolName[])
  .filter((name) => name !== "choose")
  .map((name) => {
    const { idempotent, halts, expiresInMs } = TOOLS[name];
    return makeTool([], {
      name,
      input: amounts,
      idempotent,
      policy: (input) => {
        const { amount } = input as { amount: number };
        if (amount === 666) return { verdict: "deny", reason: "not that amount" };
        return ask({ risk: amount > 1000 ? "high" : "medium", onExpiry: halts ? "halt" : "continue", ...(expiresInMs === undefined ? {} : { expiresIn: expiresInMs }) });
      },
    });
  });

/** The tools of one process, which say when they are run and with what. */
export function toolsOf(ran: (key: string, amount: number) => void): Map<string, Tool> {
  const made = PROTOTYPES.map((tool): Tool => ({
    ...tool,
    execute: async (input, { idempotencyKey }) => {
      ran(idempotencyKey, (input as { amount: number }).amount);
      return { done: true };
    },
  }));
  return new Map([...made, waitForApproval].map((tool) => [tool.name, tool]));
}

/** `heard` is given what the agent is told of the step before, as one word for each of its calls. */
export const agent = (heard: (told: string) => void): Model =>
  async function* ({ messages }) {
    checkHistory(messages);
    heard(told(messages));
    const plan = planOf(messages.at(-1));
    if (plan.length === 0) return yield* say("Done.");
    for (const [tool, amount] of plan) {
      if (tool === "choose") yield* propose("wait_for_approval", { title: "Which?", description: "", kind: "choice", options: ["a", "b"], risk: "medium" });
      else yield* propose(tool, { amount });
    }
  };

function planOf(last: ModelMessage | undefined): Plan {
  const part = last?.role === "user" && Array.isArray(last.content) ? last.content.at(-1) : undefined;
  return part?.type === "text" ? (JSON.parse(part.text) as Plan) : [];
}

function told(messages: ModelMessage[]): string {
  const last = messages.findLast(({ role }) => role !== "user");
  return last?.role === "tool" ? last.content.map((part) => (part.type === "tool-result" && part.output.type === "json" ? wordOf(part.output.value) : "?")).join() : "";
}

function wordOf(result: unknown): string {
  const { outcome, decision } = result as { outcome: string; decision?: { reply?: string } };
  return outcome === "rejected" && decision?.reply !== undefined ? `${outcome}: ${decision.reply}` : outcome;
}
