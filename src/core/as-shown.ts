import { canonicalJson, type Json } from "../protocol/json.js";
import { parseInput, policyOf } from "./policy.js";
import type { CallRow } from "./rows.js";
import type { Tool } from "./tool.js";

/** Whether a try of the call was begun, so that its effect may be there though no result is. */
export const mayHaveRun = (call: CallRow): boolean => call.tries > 0;

/** Why what would run today is not what was shown (H6), in a sentence; null when it is. */
export function whyNotAsShown(tool: Tool | undefined, input: Json | undefined, call: CallRow): string | null {
  if (!tool) return `The tool ${call.tool} is gone since this was proposed.`;
  if (input === undefined) return "The stored input can't be read.";
  const parsed = parseInput(tool, input);
  if (!parsed.ok || canonicalJson(parsed.value) !== canonicalJson(input)) return "The tool's input has changed since it was shown.";
  const policy = policyOf(tool, input);
  if (policy.verdict === "deny") return `The policy has changed since it was shown, and forbids it now: ${policy.reason}`;
  if (policy.verdict === "ask" && call.approval === null) return "The policy has changed since it was proposed, and asks a person now.";
  return null;
}
