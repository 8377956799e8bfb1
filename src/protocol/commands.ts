import * as z from "zod";
import { verdict } from "./entities.js";
import { json } from "./json.js";

const id = z.string().min(1).max(128);

/** A decision about one pause point, as every entry takes it. */
export const decision = z.object({
  pausePointId: id,
  /** The version that the person saw. Every client of ours sends it. */
  version: z.number().int().positive().optional(),
  decision: verdict,
  payloadOverride: json.optional(),
  choice: json.optional(),
  reply: z.string().optional(),
});
export type Decision = z.infer<typeof decision>;

/** How a decision ended. Only `decided` changed anything. */
export const decisionCode = z.enum(["decided", "same", "conflict", "expired", "changed", "invalid", "forbidden", "not_found"]);
export type DecisionCode = z.infer<typeof decisionCode>;
