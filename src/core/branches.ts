import { isLive } from "./journal.js";
import type { Transaction } from "./transaction.js";
import { positionOf, supersededMessageId } from "./ids.js";
import { mayAct, OP_REUSED, rejected, type CommandOutcome } from "./command.js";
import type { Actor } from "./ports.js";
import type { Reads, RunRow, StepRow } from "./rows.js";
import { finishRun, liveRun, startRun } from "./run.js";
import { partialParts, type Streaming } from "./stream.js";

// The tree of messages (H22). An edit and a regeneration write a sibling; the head names the leaf in use. While
// a run is live its message is the head, and what would move it away is refused, or cancels the run first.

export interface BranchCommand {
  opId: string | null;
  messageId: string;
  /** Cancels the live run, if there is one, in the same transaction. */
  withdraw?: boolean | undefined;
}

/** A place in the tree; position 0 is its root. */
export interface Parent {
  position: number;
  messageId: string | null;
}

/** The positions of a branch, from a message up to the root. A run's message is known before its first step is stored. */
export function* branchUp(reads: Reads, from: number): Iterable<number> {
  for (let position = from; position > 0;) {
    yield position;
    position = reads.message(position)[0]?.parent ?? runAt(reads, position)?.parent ?? 0;
  }
}

/** The newest run, if this is the message that it writes. */
function runAt(reads: Reads, position: number): RunRow | null {
  const run = reads.get("runs", reads.get("conversation")?.turn ?? 0);
  return run?.position === position ? run : null;
}

/** The message of an id, a person's or the agent's. */
export function messageNamed(reads: Reads, id: string): Pick<StepRow, "position" | "messageId" | "role" | "parent" | "parentId" | "delivery"> | null {
  const step = reads.message(positionOf(id))[0] ?? reads.userStep(id);
  if (step?.messageId === id) return step;
  const run = runAt(reads, positionOf(id));
  return run && { ...run, role: "assistant", delivery: "sent" };
}

/** Cancels the live run for a command that moves the head away from it; refuses when it was not asked to. */
export function leaveRun(tx: Transaction, actor: Actor, withdraw: boolean | undefined, streaming: Streaming | null): CommandOutcome | null {
  const run = liveRun(tx);
  if (!run) return null;
  if (!withdraw) return rejected("run_live", "A run is under way here, or waits for a decision. Decide, wait until it has finished, or stop it first.");
  finishRun(tx, run, "cancelled", "cancelled", `Cancelled by ${actor.person} on ${actor.device.name}.`, partialParts(run, streaming));
  tx.updateRun(run.turn, { cancelledBy: actor.person });
  return null;
}

/** Has the agent answer a text once more: a sibling of the answer that is there, in a run of its own. */
export function regenerate(tx: Transaction, actor: Actor, command: BranchCommand, streaming: Streaming | null): CommandOutcome {
  const refusal = mayAct(tx, actor);
  if (refusal) return refusal;
  const asked = textToAnswer(tx.store, command.messageId);
  const known = command.opId === null ? null : tx.store.operation(actor.person, command.opId);
  if (known) return known.kind === "regenerate" && asked !== null && begunFor(tx.store, known.run) === asked.position ? { status: "duplicate" } : OP_REUSED;
  if (!asked) return rejected("not_found", "There is no such message to answer again.");
  const held = leaveRun(tx, actor, command.withdraw, streaming);
  if (held) return held;
  // Leaving the run may have hung texts elsewhere, or marked them.
  const text = tx.store.message(asked.position)[0] ?? asked;
  if (text.delivery === "unanswered") tx.updateStep(text, { delivery: "sent" });
  startRun(tx, { position: text.position, messageId: text.messageId, person: actor.person, begunOp: command.opId });
  return { status: "applied" };
}

/** The text that a run was begun for: above its messages and the texts that it has taken since. */
const begunFor = (reads: Reads, run: RunRow): number | undefined =>
  [...branchUp(reads, run.position)].find((position) => position !== run.position && reads.message(position)[0]?.turn !== run.turn);

/** A person's text by its own id, or by the id of an answer to it. */
function textToAnswer(reads: Reads, messageId: string): StepRow | null {
  const message = messageNamed(reads, messageId);
  const row = message && reads.message(message.role === "user" ? message.position : message.parent)[0];
  return row?.role === "user" && row.delivery !== "queued" ? row : null;
}

/** Chooses a branch: the newest leaf under a message becomes the head, for all devices. */
export function chooseHead(tx: Transaction, actor: Actor, command: BranchCommand, streaming: Streaming | null): CommandOutcome {
  const refusal = mayAct(tx, actor);
  if (refusal) return refusal;
  const known = command.opId === null ? null : tx.store.operation(actor.person, command.opId);
  if (known && known.kind !== "head") return OP_REUSED;
  const message = messageNamed(tx.store, command.messageId);
  if (!message) return rejected("not_found", "There is no such message to go to.");
  const before = tx.conversation.head;
  if (newestLeaf(tx.store, message).position === before) return { status: "duplicate" };
  const held = leaveRun(tx, actor, command.withdraw, streaming);
  if (held) return held;
  const leaf = newestLeaf(tx.store, message);
  tx.patchConversation({ head: leaf.position, headId: leaf.messageId, headBy: actor.person, headOp: command.opId });
  return { status: "applied" };
}

function newestLeaf(reads: Reads, from: Parent): Parent {
  const newest = reads.get("runs", reads.get("conversation")?.turn ?? 0);
  const live = newest && isLive(newest) ? newest : null;
  // What follows a live run's message waits, and is no leaf yet.
  // Texts that waited hang under the message that tells decisions, which came later: look from its parent on.
  const places = reads.places(reads.message(from.position)[0]?.parent ?? 0).filter((place) => !live || place.position <= live.position);
  const newestChild = new Map([...places, ...(live ? [live] : [])].map((place) => [place.parent, place]));
  let leaf = from;
  for (let child = newestChild.get(leaf.position); child; child = newestChild.get(leaf.position)) leaf = child;
  return leaf;
}

/** Where an edit hangs: beside the text that it replaces, or under the message that it names. Null when there is no such place. */
export function placeOfEdit(reads: Reads, actor: Actor, edit: { parentId?: string | null | undefined; replaces?: string | undefined }): Parent | null {
  if (edit.replaces !== undefined) {
    const old = reads.userStep(edit.replaces);
    return old && old.person === actor.person && old.delivery !== "queued" ? { position: old.parent, messageId: old.parentId } : null;
  }
  if (edit.parentId === null || edit.parentId === undefined) return { position: 0, messageId: null };
  const parent = messageNamed(reads, edit.parentId);
  return parent && parent.delivery !== "queued" ? parent : null;
}

/**
 * Gives the id of an edited text to its newer version: a stock client keeps the id, and no server can rename
 * what a client holds. The older version goes on under an id of ours.
 */
export function supersede(tx: Transaction, messageId: string): void {
  const old = tx.store.userStep(messageId);
  if (!old) return;
  const id = supersededMessageId(old.position, tx.conversation.nextPosition);
  tx.updateStep(old, { messageId: id });
  for (const place of tx.store.places(old.position)) {
    if (place.parent !== old.position) continue;
    for (const step of tx.store.message(place.position)) tx.updateStep(step, { parentId: id });
  }
}
