import type { Transaction } from "./transaction.js";
import type { ConversationRow } from "./rows.js";

/** Makes the tables and the conversation, with its owner as the first member. */
export function createConversation(tx: Transaction, made: { id: string; owner: string; title: string; skill: string; epoch: string }): void {
  const row: ConversationRow = {
    ...made,
    state: "idle",
    pausePointId: null,
    head: 0,
    headId: null,
    nextPosition: 1,
    nextPausePoint: 1,
    turn: 0,
    lingering: null,
    seq: 1,
    createdAt: tx.now,
    updatedAt: tx.now,
    deletedAt: null,
    version: 1,
    mirrored: 0,
    parked: 0,
    headBy: null,
    headOp: null,
    word: null,
  };
  tx.insertConversation(row);
  tx.putMember(made.owner, "owner", false);
}
