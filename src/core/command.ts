import type { Transaction } from "./transaction.js";
import type { Actor } from "./ports.js";

// What every command of a person has in common: who may give one, and how it ends.

export interface CommandOutcome {
  status: "applied" | "duplicate" | "rejected";
  code?: string;
  message?: string;
  /** The text went into the queue of a live run (H9). */
  queued?: boolean;
}

export const rejected = (code: string, message: string): CommandOutcome => ({ status: "rejected", code, message });

export const NOT_FOUND = { status: "rejected", code: "not_found", message: "There is no such conversation, or it is not yours to see." } as const;

export const OP_REUSED = rejected("op_reused", "This opId was used for something else. Use a new one for each command.");

/** A member who may act, or the refusal. */
export function mayAct(tx: Transaction, actor: Actor): CommandOutcome | null {
  const member = tx.store.get("members", actor.person);
  if (!member || member.removed || tx.conversation.deletedAt !== null) return NOT_FOUND;
  return member.role === "viewer" ? rejected("forbidden", "You can read this conversation, but not write in it. Ask its owner to make you an approver.") : null;
}
