import { canonicalJson, type Json } from "../protocol/json.js";
import type { CallRow, PausePointRow } from "./rows.js";

// What the model is told after each outcome. Different outcomes have different, honest texts (H13):
// silence is not refusal, and what nobody knows is not said to have failed.

/** What a person decided about the call that the result belongs to. */
export interface ToldDecision {
  by?: string;
  device?: string | null;
  /** The person's words, exactly as written. */
  reply?: string;
  choice?: Json;
  /** Present when the input was edited: what was proposed, what ran, and each field that differs. */
  edited?: { proposed: Json; approved: Json; changed: { path: string; from: Json; to: Json }[] };
}

/** The value of a tool result as the model gets it. A call that no person saw and that succeeded gets its bare result. */
export type ToldOutcome =
  | { outcome: "succeeded"; result: Json; decision?: ToldDecision; approval?: ToldDecision; again?: ToldDecision }
  | { outcome: "answered"; decision?: ToldDecision; answer?: Json; message: string }
  | { outcome: "rejected"; message: string; decision?: ToldDecision }
  | { outcome: "expired" | "cancelled" | "denied" | "failed" | "unknown"; message: string; decision?: ToldDecision; approval?: ToldDecision; again?: ToldDecision };

/** Field by field difference of two JSON values; `path` is dotted, empty for the whole value. */
export function difference(from: Json, to: Json, path = ""): { path: string; from: Json; to: Json }[] {
  if (isObject(from) && isObject(to)) {
    return [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((key) => difference(own(from, key), own(to, key), path ? `${path}.${key}` : key));
  }
  return canonicalJson(from) === canonicalJson(to) ? [] : [{ path, from, to }];
}

const own = (of: { [key: string]: Json }, key: string): Json => (Object.hasOwn(of, key) ? (of[key] ?? null) : null);

const isObject = (value: Json): value is { [key: string]: Json } => typeof value === "object" && value !== null && !Array.isArray(value);

/** Parses stored JSON text; `undefined` for text that is not JSON. */
export function storedJson(text: string | null): Json | undefined {
  if (text === null) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function told(pausePoint: PausePointRow, call: CallRow): ToldDecision {
  const decision: ToldDecision = { by: pausePoint.decidedBy ?? "nobody", device: pausePoint.decidedDevice };
  if (pausePoint.reply !== null) decision.reply = pausePoint.reply;
  const choice = storedJson(pausePoint.choice);
  if (choice !== undefined) decision.choice = choice;
  const approved = storedJson(call.override);
  const proposed = storedJson(call.input);
  if (approved !== undefined && proposed !== undefined && pausePoint.kind === "approval") {
    decision.edited = { proposed, approved, changed: difference(proposed, approved) };
  }
  return decision;
}

function toldHere(pausePoint: PausePointRow, call: CallRow, elsewhere: boolean): ToldDecision | undefined {
  const { edited, ...decision } = told(pausePoint, call);
  if (!elsewhere) return edited ? { ...decision, edited } : decision;
  return edited && { edited };
}

/**
 * The one tool result of a call, in whatever state it is: each proposed call has exactly one (H14).
 * `approval` is the pause point that let it run or refused it, if there was one; `recovery` the newest
 * question about its outcome. With `elsewhere` the decision is told in a message, and the result has only what it changed.
 */
export function tellOutcome(call: CallRow, approval: PausePointRow | null, recovery: PausePointRow | null, elsewhere = false): Json {
  if (approval?.decidedBy && approval.forPerson !== null) return say(fromDevice(call, approval));
  const decision = approval?.decidedBy ? toldHere(approval, call, elsewhere) : undefined;
  const withDecision = decision ? { decision } : {};
  // What was said about its outcome, and beside it what was said about the call itself.
  const looked = !elsewhere && recovery?.decidedBy ? told(recovery, call) : undefined;
  const checked = looked ? { decision: looked, ...(decision ? { approval: decision } : {}) } : {};
  const again = recovery?.choice === '"retry"' && recovery.reply !== null ? looked : undefined;
  switch (call.state) {
    case "succeeded": {
      const result = storedJson(call.output) ?? null;
      if (call.cause === "told" && recovery) {
        return say({
          outcome: "succeeded",
          result: { confirmedBy: recovery.decidedBy, note: "It was interrupted. A person checked and says that it happened; its own result is lost." },
          ...withDecision,
          ...checked,
        });
      }
      if (approval?.decidedBy && (approval.kind !== "approval" || isQuestion(call))) {
        return say(
          elsewhere ? { outcome: "answered", message: "The answer follows in a message." } : { outcome: "answered", ...withDecision, answer: result, message: answered(approval) },
        );
      }
      if (again) return say({ outcome: "succeeded", result, ...withDecision, again });
      return decision ? say({ outcome: "succeeded", result, decision }) : result;
    }
    case "failed":
      if (call.cause === "told" && recovery) {
        return say({
          outcome: "failed",
          message: "It was interrupted. A person checked and says that it did not happen.",
          ...withDecision,
          ...checked,
        });
      }
      return say({ outcome: "failed", message: call.error ?? "The tool failed.", ...withDecision, ...(again ? { again } : {}) });
    case "denied":
      return say(denied(call, decision));
    case "unknown":
      return say({
        outcome: "unknown",
        message: "It was started, and nobody knows whether it happened. Do not assume either, and do not repeat it on your own.",
        ...withDecision,
        ...checked,
      });
    case "started":
      return say({ outcome: "unknown", message: "The run was cancelled while this was under way. Its end is not known yet.", ...withDecision });
    case "proposed":
    case "awaiting":
    case "ready":
      return say({ outcome: "cancelled", message: "It has not run.", ...withDecision });
  }
}

const say = (outcome: ToldOutcome): Json => outcome as unknown as Json;

/** What a device of the person answered, or that it did not. */
function fromDevice(call: CallRow, asked: PausePointRow): ToldOutcome {
  const decision = { by: asked.decidedBy ?? "nobody", device: asked.decidedDevice, ...(asked.reply === null ? {} : { reply: asked.reply }) };
  if (call.state === "succeeded") return { outcome: "succeeded", result: storedJson(call.output) ?? null, decision };
  return { outcome: "rejected", message: "The person, or their device, did not give this. Go on without it, and do not ask for it again unless they want you to.", decision };
}

/** Whether the call is a question itself (`wait_for_approval`): its answer is for the model and authorises no tool. */
const isQuestion = (call: CallRow): boolean => call.tries === 0 && call.state === "succeeded" && call.startedAt === null;

function answered(pausePoint: PausePointRow): string {
  switch (pausePoint.kind) {
    case "approval":
      return "A person approved. This answers your question; a tool that asks for itself still asks.";
    case "choice":
      return "A person chose.";
    case "data_entry":
      return "A person filled in these values.";
    default:
      return "A person answered.";
  }
}

function denied(call: CallRow, decision: ToldDecision | undefined): ToldOutcome {
  const withDecision = decision ? { decision } : {};
  switch (call.cause) {
    case "rejected":
      return {
        outcome: "rejected",
        message: "A person rejected this. It has not run. Do not propose the same again unless they ask for it.",
        ...withDecision,
      };
    case "expired":
      return { outcome: "expired", message: "Nobody decided before the deadline. It has not run. This is not a refusal, and not consent either." };
    case "withdrawn":
      return { outcome: "cancelled", message: "The question was withdrawn by a person who wrote something new instead. It has not run." };
    case "repeated":
      return { outcome: "denied", message: "The same call with the same input was already refused in this run. It has not run and nobody was asked again." };
    case "siblings":
      return { outcome: "denied", message: "It has not run, because it waits for the calls before it, and not all of them succeeded.", ...withDecision };
    case "policy":
      return { outcome: "denied", message: `The policy forbids it: ${call.error ?? "no reason given"}. It has not run.` };
    default:
      return { outcome: "cancelled", message: "The run was cancelled before this ran. It has not run.", ...withDecision };
  }
}

/** The sentence that people see on a call that did not simply succeed. */
export function explainCall(call: CallRow, approval: PausePointRow | null): string {
  const outcome = tellOutcome(call, approval, null);
  return typeof outcome === "object" && outcome !== null && "message" in outcome && typeof outcome["message"] === "string" ? outcome["message"] : "";
}
