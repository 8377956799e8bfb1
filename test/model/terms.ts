// What the promise and the product have in common: who there is, what tools there are, and what clients send.

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const MOST_AMOUNT = 10_000;
/** Texts that may wait for a live run. */
export const QUEUE = 3;
export const MEMBERS: Record<string, "owner" | "approver" | "viewer"> = { ana: "owner", ben: "approver", vic: "viewer" };
export const OUTSIDER = "mallory";

export type ToolName = "pay" | "set" | "vote" | "choose";
/** All ask. `choose` is a question to a person and runs nothing; amounts over 1000 are of high risk, 666 is forbidden. */
export const TOOLS: Record<ToolName, { idempotent: boolean; halts?: true; expiresInMs?: number }> = {
  pay: { idempotent: false },
  set: { idempotent: true, expiresInMs: 2 * HOUR },
  vote: { idempotent: false, halts: true, expiresInMs: 30 * MINUTE },
  choose: { idempotent: false },
};

/** What a text asks the agent to propose in one step. */
export type Plan = [tool: ToolName, amount: number][];

export interface DecideFrame {
  type: "decide";
  /** Null over HTTP. */
  opId: string | null;
  n: number;
  version?: number;
  decision: "approve" | "reject";
  payloadOverride?: { amount: number };
  choice?: string;
  reply?: string;
}

export type Frame =
  | DecideFrame
  /** Several decisions in one body, over HTTP. */
  | { type: "batch"; decisions: DecideFrame[] }
  | { type: "send"; opId: string; messageId: string; text: string; withdraw: boolean }
  | { type: "cancel"; opId: string; runId: string };

/** A frame and whose it is. */
export interface Sent {
  person: string;
  frame: Frame;
}

/** A rejection in the words in which the agent is told it: the person's own go with it. */
export const wordOf = ({ reply }: { reply?: string }): string => (reply === undefined ? "rejected" : `rejected: ${reply}`);
