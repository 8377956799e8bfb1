import { byteLength } from "../protocol/json.js";
import { mayAct, OP_REUSED, rejected, type CommandOutcome } from "./command.js";
import { isReservedMessageId, isSuperseded, turnOf } from "./ids.js";
import { isLive } from "./journal.js";
import type { Transaction } from "./transaction.js";
import { leaveRun, placeOfEdit, supersede, type Parent } from "./branches.js";
import type { StepRow } from "./rows.js";
import { settlePausePoint } from "./pause-point.js";
import type { Actor, Ports } from "./ports.js";
import { finishRun, liveRun, startRun } from "./run.js";
import { holdsWord } from "./told-by-message.js";
import { partialParts, type Streaming } from "./stream.js";

// What people do to a conversation, besides deciding: write to it, and cancel a run. Each is one
// transaction; what could not be done is a value, not an error.

export interface SendCommand {
  opId: string | null;
  messageId: string;
  text: string;
  /** Cancels the pending cards; with an edit, the live run. */
  withdraw?: boolean | undefined;
  /** An edit (H22): the message that the text hangs under, where that is not the head. Null: the beginning. */
  parentId?: string | null | undefined;
  /** An edit (H22): the person's own text that this one stands beside. Of the same id, the older one gets another. */
  replaces?: string | undefined;
}

/** Takes a person's text: it starts a run, or waits for the live one, or begins a branch. It is never a decision (H9). */
export function send(ports: Ports, tx: Transaction, actor: Actor, command: SendCommand, streaming: Streaming | null): CommandOutcome {
  const refusal = mayAct(tx, actor) ?? sendProblem(ports, tx, actor, command);
  if (refusal) return refusal;
  if (isEdit(tx, command)) return edit(tx, actor, command, streaming);
  const run = liveRun(tx);
  if (run && tx.store.queued(run.position).length >= ports.limits.queuedTexts)
    return rejected("queue_full", `${ports.limits.queuedTexts} texts are waiting already. Let the agent read them first.`);
  if (command.withdraw && run) withdrawCards(ports, tx, run.firstPausePoint);
  const { conversation } = tx;
  const step = insertText(tx, actor, command, { position: conversation.head, messageId: conversation.headId });
  if (!run) startRun(tx, { ...step, person: actor.person });
  return run ? { status: "applied", queued: true } : { status: "applied" };
}

/** A text that hangs anywhere but under the head. */
const isEdit = (tx: Transaction, { parentId, replaces }: SendCommand): boolean => replaces !== undefined || (parentId !== undefined && parentId !== tx.conversation.headId);

function edit(tx: Transaction, actor: Actor, command: SendCommand, streaming: Streaming | null): CommandOutcome {
  if (!placeOfEdit(tx.store, actor, command)) return rejected("not_found", "There is no such message to edit, or it is not yours.");
  const held = leaveRun(tx, actor, command.withdraw, streaming);
  if (held) return held;
  // Leaving the run may have hung the edited text elsewhere.
  const parent = placeOfEdit(tx.store, actor, command) ?? { position: 0, messageId: null };
  if (command.replaces === command.messageId) supersede(tx, command.messageId);
  const step = insertText(tx, actor, command, parent);
  startRun(tx, { ...step, person: actor.person });
  return { status: "applied" };
}

/** Writes a person's text: queued when a run is live, else the one that starts a run. */
function insertText(tx: Transaction, actor: Actor, command: SendCommand, parent: Parent): Omit<StepRow, "seq"> {
  const { conversation } = tx;
  const run = liveRun(tx);
  const step: Omit<StepRow, "seq"> = {
    position: conversation.nextPosition,
    step: 0,
    messageId: command.messageId,
    parent: parent.position,
    parentId: parent.messageId,
    role: "user",
    turn: run?.turn ?? conversation.turn + 1,
    person: actor.person,
    device: actor.device.name,
    opId: command.opId,
    delivery: run ? "queued" : "sent",
    createdAt: tx.now,
    withdrew: command.withdraw ? 1 : null,
    parts: JSON.stringify([{ type: "text", text: command.text }]),
  };
  tx.insertStep(step);
  tx.patchConversation({ nextPosition: step.position + 1, ...(conversation.title ? {} : { title: titleOf(command.text) }) });
  return step;
}

function sendProblem(ports: Ports, tx: Transaction, actor: Actor, command: SendCommand): CommandOutcome | null {
  const { opId, messageId, text } = command;
  const bytes = byteLength(text);
  if (text.trim() === "") return rejected("empty", "The text is empty.");
  if (bytes > ports.limits.userTextBytes) return rejected("too_large", `The text is ${bytes} bytes long; ${ports.limits.userTextBytes} is the most. Split it up.`);
  if (holdsWord(tx.conversation.word, text)) return rejected("reserved_word", "The text holds a word by which only the server speaks to the agent here. Leave it out.");
  if (isReservedMessageId(messageId) && command.replaces !== messageId) return rejected("message_id_taken", "Message ids like m1 are the server's. Use a random one.");
  const known = opId === null ? null : tx.store.operation(actor.person, opId);
  if (known) return known.kind === "send" && isSame(known.step, command) ? { status: "duplicate", queued: known.step.delivery === "queued" } : OP_REUSED;
  const existing = tx.store.userStep(messageId);
  if (!existing) return null;
  if (existing.person === actor.person && textOf(existing) === text) return { status: "duplicate", queued: existing.delivery === "queued" };
  if (existing.person === actor.person && command.replaces === messageId) return null;
  return rejected("message_id_taken", "This message id is taken by another message. Use a new one.");
}

const isSame = (step: StepRow, { messageId, text, withdraw }: SendCommand): boolean =>
  (step.messageId === messageId || isSuperseded(step)) && textOf(step) === text && Boolean(step.withdrew) === Boolean(withdraw);

const textOf = (row: StepRow): string => (JSON.parse(row.parts) as { text?: string }[])[0]?.text ?? "";

const titleOf = (text: string): string => {
  const line = text.trim().split("\n")[0] ?? "";
  return line.length <= 60 ? line : `${line.slice(0, 59).trimEnd()}…`;
};

function withdrawCards(ports: Ports, tx: Transaction, from: number): void {
  for (const row of tx.store.pausePointsFrom(from)) if (row.state === "pending") settlePausePoint(ports, tx, row, { state: "cancelled", withdrawn: true });
}

/** Cancels the live run: written first; the caller signals the model and the tools afterwards (H19). */
export function cancel(tx: Transaction, actor: Actor, command: { opId: string | null; runId: string }, streaming: Streaming | null): CommandOutcome {
  const refusal = mayAct(tx, actor);
  if (refusal) return refusal;
  const turn = turnOf(command.runId);
  const run = tx.run(turn);
  const known = command.opId === null ? null : tx.store.operation(actor.person, command.opId);
  if (known && !(known.kind === "cancel" && known.run.turn === turn)) return OP_REUSED;
  if (!run) return rejected("not_found", "There is no such run.");
  if (run.status === "cancelled") return { status: "duplicate" };
  if (!isLive(run)) return rejected("run_ended", "The run has ended already, so there is nothing to cancel.");
  finishRun(tx, run, "cancelled", "cancelled", `Cancelled by ${actor.person} on ${actor.device.name}.`, partialParts(run, streaming));
  tx.updateRun(turn, { cancelledBy: actor.person, opId: command.opId });
  return { status: "applied" };
}
