import type { Json } from "../protocol/json.js";

// What the model is told after each outcome. Different outcomes have different, honest texts (H13):
// silence is not refusal, and what nobody knows is not said to have failed.

/** What a person decided about the call that the result belongs to. */
export interface ToldDecision {
  by: string;
  device: string | null;
  /** The person's words, exactly as written. */
  reply?: string;
  choice?: Json;
  /** Present when the input was edited: what was proposed, what ran, and each field that differs. */
  edited?: { proposed: Json; approved: Json; changed: { path: string; from: Json; to: Json }[] };
}

/** The value of a tool result as the model gets it. A call that no person saw and that succeeded gets its bare result. */
export type ToldOutcome =
  | { outcome: "succeeded"; result: Json; decision?: ToldDecision }
  | { outcome: "answered"; decision: ToldDecision; answer: Json; message: string }
  | { outcome: "rejected"; message: string; decision: ToldDecision }
  | { outcome: "expired" | "cancelled" | "denied" | "failed" | "unknown"; message: string; decision?: ToldDecision };

/** Field by field difference of two JSON values; `path` is dotted, empty for the whole value. */
export function difference(from: Json, to: Json, path = ""): { path: string; from: Json; to: Json }[] {
  if (isObject(from) && isObject(to)) {
    return [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((key) =>
      difference(from[key] ?? null, to[key] ?? null, path ? `${path}.${key}` : key),
    );
  }
  return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ path, from, to }];
}

const isObject = (value: Json): value is { [key: string]: Json } => typeof value === "object" && value !== null && !Array.isArray(value);
