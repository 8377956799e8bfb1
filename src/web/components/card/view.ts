import type { Call, PausePoint } from "../../../protocol/entities.js";
import type { Json } from "../../../protocol/json.js";
import type { IconName } from "../Icon.js";
import { isObject } from "../../lib/schema-form.js";

/** The band says what happened to the work; what a person decided is on the stamp. */
export interface BandView {
  band: "pending" | "running" | "done" | "approved" | "rejected" | "expired" | "cancelled" | "failed" | "unknown";
  word: string;
  small?: string;
  icon?: IconName;
}

export type CardCall = Pick<Call, "state" | "cause" | "tries" | "startedAt" | "endedAt" | "summary">;

const questionKinds = new Set<PausePoint["kind"]>(["choice", "data_entry", "clarification"]);

/** Asks the person something, and authorises no tool. */
export const isQuestion = (pausePoint: PausePoint): boolean => questionKinds.has(pausePoint.kind);

const asks: Partial<Record<PausePoint["kind"], string>> = { choice: "choose one", data_entry: "fill in", clarification: "a question" };

export function bandOf(pausePoint: PausePoint, call: CardCall | null): BandView {
  const notRun = isQuestion(pausePoint) ? "Not answered" : "Not run";
  switch (pausePoint.state) {
    case "pending": {
      if (pausePoint.kind === "recovery") return { band: "unknown", word: "Outcome unknown", icon: "unknown" };
      const small = asks[pausePoint.kind];
      return { band: "pending", word: "Hold", ...(small && { small }) };
    }
    case "rejected":
      return { band: "rejected", word: isQuestion(pausePoint) ? "Declined" : "Not run", icon: "x" };
    case "expired":
      return { band: "expired", word: notRun, icon: "expired" };
    case "cancelled":
      return pausePoint.kind === "recovery" ? { band: "cancelled", word: "Outcome unknown", icon: "unknown" } : { band: "cancelled", word: notRun, icon: "ban" };
    case "approved":
      return approvedBand(pausePoint, call);
  }
}

function approvedBand(pausePoint: PausePoint, call: CardCall | null): BandView {
  if (isQuestion(pausePoint)) return { band: "done", word: "Answered", icon: "done" };
  if (pausePoint.kind === "recovery" && pausePoint.choice === "did_not_happen") return { band: "cancelled", word: "Not run", icon: "ban", small: "as a person found" };
  if (pausePoint.kind === "recovery" && pausePoint.choice === "happened") return { band: "done", word: "Done", icon: "done", small: "as a person found" };
  switch (call?.state) {
    case "started":
    case "ready":
      return { band: "running", word: "Running", icon: "run" };
    case "succeeded":
      // A tool that is a question itself is never started: the approval was the answer.
      return call.startedAt === null ? { band: "done", word: "Approved", icon: "check" } : { band: "done", word: "Done", icon: "done" };
    case "failed":
      return { band: "failed", word: "Failed", icon: "fail" };
    case "denied":
      return { band: "cancelled", word: "Not run", icon: "ban" };
    case "unknown":
      return { band: "cancelled", word: "Outcome unknown", icon: "unknown" };
    case "awaiting":
      return call.startedAt === null ? { band: "approved", word: "Approved", icon: "check" } : { band: "cancelled", word: "Outcome unknown", icon: "unknown" };
    default:
      return { band: "approved", word: "Approved", icon: "check" };
  }
}

/** Nothing about this card will change any more. */
export function isSettled(pausePoint: PausePoint, call: CardCall | null): boolean {
  if (pausePoint.state === "pending") return false;
  return call === null || ["succeeded", "failed", "denied", "unknown"].includes(call.state);
}

/** What ran, or would run: the override once there is one. */
export const effectivePayload = (pausePoint: PausePoint): Json | null =>
  pausePoint.state === "approved" ? (pausePoint.payloadOverride ?? pausePoint.payload) : pausePoint.payload;

/** What stands on the button of a dangerous card, so that it is read once more: "250 EUR". */
export function effectOnButton(payload: Json | null): string | null {
  if (!isObject(payload)) return null;
  const { amount, currency } = payload as { amount?: Json; currency?: Json };
  const figure = typeof amount === "number" || (typeof amount === "string" && /^[\d.,]{1,20}$/.test(amount)) ? String(amount) : null;
  if (figure === null) return null;
  return typeof currency === "string" && /^[A-Z]{3}$/.test(currency) ? `${figure} ${currency}` : figure;
}

/** An option as a word. `false`, `0` and the empty text are answers too. */
export const optionLabel = (option: Json): string => (option === "" ? "(empty)" : typeof option === "string" ? option : JSON.stringify(option));
