import type { Decision, DecisionCode } from "../protocol/commands.js";
import type { Ack } from "../protocol/frames.js";
import { OP_REUSED, type CommandOutcome } from "../core/command.js";
import { pausePointNumber } from "../core/ids.js";
import type { Journal } from "../core/journal.js";
import type { Actor } from "../core/ports.js";
import type { Decided } from "./conversation.js";

/** The answer to a command that is not a decision. */
export function acknowledge(opId: string, outcome: CommandOutcome): Ack {
  return { type: "ack", opId, status: outcome.status, ...(outcome.code ? { code: outcome.code } : {}), ...(outcome.message ? { message: outcome.message } : {}) };
}

const STATUS: Record<DecisionCode, Ack["status"]> = {
  decided: "applied",
  same: "duplicate",
  conflict: "conflict",
  expired: "conflict",
  changed: "conflict",
  invalid: "rejected",
  forbidden: "rejected",
  not_found: "rejected",
};

/** The answer to a decision. An opId that made something else, or another decision, is refused (S5). */
export function acknowledgeDecision(journal: Journal, actor: Actor, opId: string, decision: Decision, decide: () => Decided[]): Ack {
  const known = journal.read.operation(actor.person, opId);
  const reused = acknowledge(opId, OP_REUSED);
  const n = pausePointNumber(journal.conversation().id, decision.pausePointId);
  if (known && !((known.kind === "decide" || known.kind === "replace") && known.pausePoint.n === n)) return reused;
  if (known?.kind === "replace" && decision.version === known.pausePoint.version) return reused;
  const outcome = decide()[0];
  if (!outcome || (known?.kind === "decide" && outcome.code !== "same")) return reused;
  return { type: "ack", opId, status: STATUS[outcome.code], code: outcome.code, message: outcome.message, ...(outcome.card ? { current: fit(outcome.card) } : {}) };
}

/** A card in an ack is as small as it must be: its values come with the `change`, or by its own route. */
function fit(card: NonNullable<Decided["card"]>): NonNullable<Ack["current"]> {
  return JSON.stringify(card).length < 64 * 1024
    ? card
    : { ...card, description: "", payload: null, payloadSchema: null, payloadOverride: null, reply: card.reply?.slice(0, 500) ?? null, brief: true };
}
