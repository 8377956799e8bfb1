import { MOST_AMOUNT, type DecideFrame, type Plan, type ToolName } from "./terms.js";

// A card, a call and a run as people may rely on them, and how a decision about a card is judged.

export type CardState = "pending" | "approved" | "rejected" | "expired" | "cancelled";

export interface Card {
  n: number;
  run: number;
  kind: "approval" | "choice" | "recovery";
  state: CardState;
  version: number;
  amount: number;
  risky: boolean;
  options: readonly string[] | null;
  expiresAt: number | null;
  /** An edit has made it another card: without its version nobody has seen it (H12). */
  replaced: boolean;
  decision: { by: string; verdict: "approve" | "reject"; amount: number | null; choice: string | null } | null;
  call: Call;
}

export interface Call {
  key: string;
  tool: ToolName;
  state: "awaiting" | "ready" | "ended";
  /** The word in which the agent is told how it ended (H13). */
  outcome: string | null;
  amount: number;
  halts: boolean;
  /** What the tool was run with, in order. */
  ran: number[];
}

export interface Run {
  n: number;
  status: "running" | "suspended" | "completed" | "cancelled";
  steps: number;
  calls: Call[];
  /** What the newest text given to the agent asks for. */
  plan: Plan;
}

export const isOverdue = (card: Card, now: number): boolean => card.state === "pending" && card.expiresAt !== null && card.expiresAt <= now;

/** Over a socket each answer is an ack with this status. */
export const STATUS = {
  decided: "applied",
  same: "duplicate",
  conflict: "conflict",
  expired: "conflict",
  changed: "conflict",
  invalid: "rejected",
  forbidden: "rejected",
  not_found: "rejected",
  op_reused: "rejected",
} as const;
export type Code = keyof typeof STATUS;

/** The same again, from anyone, gets the winner's decision; a different one how it ended; an expired card is expired. */
export function afterwards(card: Card, frame: DecideFrame): Code {
  if (card.state === "expired") return "expired";
  if (!card.decision || card.decision.verdict !== frame.decision) return "conflict";
  if (frame.decision === "reject") return "same";
  return card.decision.amount === editOf(card, frame) && card.decision.choice === (frame.choice ?? null) ? "same" : "conflict";
}

/** The amount that an approval changes the card's to; one that changes nothing is no edit (C56). */
export function editOf(card: Card, frame: DecideFrame): number | null {
  if (frame.decision === "reject" || frame.payloadOverride === undefined) return null;
  return frame.payloadOverride.amount === card.amount ? null : frame.payloadOverride.amount;
}

export function isValid({ kind, options }: Card, { choice, payloadOverride }: DecideFrame): boolean {
  if (choice === undefined ? kind !== "approval" : !options?.includes(choice)) return false;
  if (payloadOverride === undefined) return true;
  return kind === "approval" && payloadOverride.amount > 0 && payloadOverride.amount <= MOST_AMOUNT && payloadOverride.amount !== 666;
}

export function end(call: Call, outcome: string): void {
  call.state = "ended";
  call.outcome = outcome;
}

/** What a person who looked says of a call that was interrupted; nobody's word leaves it unknown (H5). */
export function recovered(call: Call, choice: string | null): void {
  if (choice === "retry") call.state = "ready";
  else end(call, choice === "happened" ? "succeeded" : choice === "did_not_happen" ? "failed" : "unknown");
}
