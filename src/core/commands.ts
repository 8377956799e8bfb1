import { byteLength } from "../protocol/json.js";
import { isReservedMessageId, turnOf } from "./ids.js";
import { isLive, type Transaction } from "./journal.js";
import type { StepRow } from "./rows.js";
import { settlePausePoint } from "./pause-point.js";
import type { Actor, Ports } from "./ports.js";
import { finishRun, liveRun, startRun } from "./run.js";
import { partialParts, type Streaming } from "./stream.js";

// What people do to a conversation, besides deciding: write to it, and cancel a run. Each is one
// transaction; what could not be done is a value, not an error.

export interface CommandOutcome {
  status: "applied" | "duplicate" | "rejected";
  code?: string;
  message?: string;
  /** The text went into the queue of a live run (H9). */
  queued?: boolean;
}

export interface SendCommand {
  opId: string | null;
  messageId: string;
  text: string;
  withdraw?: boolean | undefined;
  /** An edit of an earlier text: refused until there are branches (H22). */
  parentId?: string | undefined;
}

const rejected = (code: string, message: string): CommandOutcome => ({ status: "rejected", code, message });

const OP_REUSED = rejected("op_reused", "This opId was used for something else. Use a new one for each command.");

/** A member who may act, or the refusal. */
export function mayAct(tx: Transaction, actor: Actor): CommandOutcome | null {
  const member = tx.store.get("members", actor.person);
  if (!member || member.removed) return rejected("not_found", "There is no such conversation, or it is not yours to see.");
  return member.role === "viewer" ? rejected("forbidden", "You can read this conversation, but not write in it. Ask its owner to make you an approver.") : null;
}

/** Takes a person's text: it starts a run, or waits for the live one. It is never a decision (H9). */
export function send(ports: Ports, tx: Transaction, actor: Actor, command: SendCommand): CommandOutcome {
  const refusal = mayAct(tx, actor) ?? sendProblem(ports, tx, actor, command);
  if (refusal) return refusal;
  const run = liveRun(tx);
  if (run && tx.store.queued(run.position).length >= ports.limits.queuedTexts)
    return rejected("queue_full", `${ports.limits.queuedTexts} texts are waiting already. Let the agent read them first.`);
  if (command.withdraw && run) withdrawCards(ports, tx, run.firstPausePoint);
  const { conversation } = tx;
  const step: Omit<StepRow, "seq"> = {
    position: conversation.nextPosition,
    step: 0,
    messageId: command.messageId,
    parent: conversation.head,
    parentId: conversation.headId,
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
  if (!run) startRun(tx, { ...step, person: actor.person });
  return run ? { status: "applied", queued: true } : { status: "applied" };
}

function sendProblem(ports: Ports, tx: Transaction, actor: Actor, { opId, messageId, text, parentId }: SendCommand): CommandOutcome | null {
  if (parentId !== undefined) return rejected("edit_not_supported", "A text can't be changed after it was sent, in this version. Send a new one.");
  const bytes = byteLength(text);
  if (text.trim() === "") return rejected("empty", "The text is empty.");
  if (bytes > ports.limits.userTextBytes) return rejected("too_large", `The text is ${bytes} bytes long; ${ports.limits.userTextBytes} is the most. Split it up.`);
  if (isReservedMessageId(messageId)) return rejected("message_id_taken", "Message ids like m1 are the agent's. Use a random one.");
  const known = opId === null ? null : tx.store.operation(actor.person, opId);
  if (known && !(known.kind === "send" && known.step.messageId === messageId && textOf(known.step) === text)) return OP_REUSED;
  const existing = tx.store.userStep(messageId);
  if (!existing) return null;
  if (existing.person !== actor.person || textOf(existing) !== text) return rejected("message_id_taken", "This message id is taken by another message. Use a new one.");
  return { status: "duplicate", queued: existing.delivery === "queued" };
}

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
