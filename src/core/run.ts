import type { RunStatus, StopReason } from "../protocol/entities.js";
import { mayHaveRun, whyNotAsShown } from "./as-shown.js";
import { assistantMessageId, pausePointId, runId } from "./ids.js";
import { isLive } from "./journal.js";
import type { Transaction } from "./transaction.js";
import type { CallRow, RunRow, StepRow } from "./rows.js";
import { isIdempotent, openPausePoint } from "./policy.js";
import { cardsOfStep, chainOf, insertDecisions } from "./told-by-message.js";
import type { Ports } from "./ports.js";
import { storedJson } from "./outcome.js";
import type { StoredPart } from "./views.js";

// The run's life in the journal: begun, taken forward, suspended, ended. Everything here happens in
// a transaction that somebody else has opened; nothing waits.

/** What the driver must do next. */
export type Next = { do: "stop" } | { do: "wait" } | { do: "execute"; calls: CallRow[] } | { do: "model"; run: RunRow };

const STOP: Next = { do: "stop" };

/**
 * Decides from the journal how the live run goes on, and writes that: suspended, finished, or the
 * calls to start, or the next model call (H17). `isExecuting` knows this process's own calls; any other
 * call found `started` belongs to a dead one (H5).
 */
export function settle(ports: Ports, tx: Transaction, isExecuting: (call: CallRow) => boolean): Next {
  const run = liveRun(tx);
  if (!run) return STOP;
  const calls = run.step === 0 ? [] : recoverDead(ports, tx, run, tx.store.callsOfStep(run.turn, run.step - 1), isExecuting);
  if (!calls) return STOP;
  const ready = releaseReady(ports, tx, calls);
  if (ready.startable.length > 0) return { do: "execute", calls: ready.startable };
  if (ready.calls.some((call) => call.state === "started")) return { do: "wait" };
  if (ready.calls.some((call) => call.state === "awaiting")) {
    suspend(tx, run);
    return STOP;
  }
  return afterStep(ports, tx, run, ready.calls);
}

/** Every call of the step is settled: the run ends, or the model is called, exactly once (H7). */
function afterStep(ports: Ports, tx: Transaction, run: RunRow, calls: CallRow[]): Next {
  const finish = (status: "completed" | "failed", reason: StopReason, detail: string | null): Next => {
    finishRun(tx, run, status, reason, detail);
    const next = liveRun(tx);
    return next ? { do: "model", run: next } : STOP;
  };
  if (halted(tx, calls)) return finish("completed", "halted", "Nobody decided before the deadline, so the run has ended.");
  // A run that took a person's text after its last step owes the model a call.
  if (calls.length === 0 && run.step > run.sinceStep) return finish("completed", "finished", null);
  const steps = chainOf(tx.store, run).reduce((sum, one) => sum + one.step, 0);
  if (steps >= ports.limits.stepsPerRun)
    return finish("failed", "step_limit", `The run has ended after ${ports.limits.stepsPerRun} steps, which is the most a run may take. Write again to go on.`);
  if (calls.some((call) => call.cause === "repeated") && tx.store.queued(run.position).length === 0) {
    return finish("completed", "repeated_call", "The agent proposed again what had been refused, so the run has ended. Write to it to go on.");
  }
  if (ports.resume.mode === "message" && run.step > run.sinceStep && cardsOfStep(tx.store, run, run.step - 1).length > 0) {
    if (tx.conversation.word === null) tx.setWord(ports.randomWord());
    finishRun(tx, run, "completed", "pause", null, [], ports.resume.auto);
    const next = liveRun(tx);
    return next ? { do: "model", run: next } : STOP;
  }
  if (run.status === "suspended") resume(tx, run);
  return { do: "model", run: liveRun(tx) ?? run };
}

const halted = (tx: Transaction, calls: CallRow[]): boolean =>
  calls.some((call) => call.cause === "expired" && call.pausePoint !== null && tx.store.get("pausePoints", call.pausePoint)?.onExpiry === "halt");

function recoverDead(ports: Ports, tx: Transaction, run: RunRow, calls: CallRow[], isExecuting: (call: CallRow) => boolean): CallRow[] | null {
  const { tools } = ports.agent(tx.conversation.skill);
  for (const call of calls) {
    if (call.state !== "started" || isExecuting(call)) continue;
    const tool = tools.get(call.tool);
    const input = storedJson(call.override ?? call.input);
    const idempotent = tool !== undefined && input !== undefined && isIdempotent(tool, input);
    ports.log("call.interrupted", { run: runId(run.turn), call: call.toolCallId, tries: call.tries });
    if (!idempotent) {
      askWhatHappened(ports, tx, run, call, "interrupted");
    } else if (call.interrupted + 1 < ports.limits.fruitless) {
      tx.updateCall(call, { state: "ready", interrupted: call.interrupted + 1 }, { state: "started", tries: call.tries });
    } else {
      tx.updateCall(call, { state: "unknown", cause: "interrupted", endedAt: tx.now }, { state: "started", tries: call.tries });
      finishRun(tx, run, "failed", "error", `${call.tool} was interrupted ${ports.limits.fruitless} times, so the run has ended. Nobody knows whether it happened.`);
      return null;
    }
  }
  return tx.store.callsOfStep(run.turn, run.step - 1);
}

const WHY_UNKNOWN = {
  interrupted: "The tool was interrupted.",
  timed_out: "The tool did not answer in time.",
  threw: "The tool can't tell whether its effect happened.",
};

/** Opens a recovery card for a call whose outcome is not known: a person who looked can tell (H5). Trying again is offered while it can be. */
export function askWhatHappened(ports: Ports, tx: Transaction, run: RunRow, call: CallRow, cause: keyof typeof WHY_UNKNOWN): void {
  if (!tx.updateCall(call, { state: "awaiting", cause, pausePoint: tx.conversation.nextPausePoint }, { state: call.state, tries: call.tries })) return;
  const started = call.startedAt === null ? "" : ` It was started at ${new Date(call.startedAt).toISOString()}.`;
  const input = storedJson(call.override ?? call.input);
  const changed = whyNotAsShown(ports.agent(tx.conversation.skill).tools.get(call.tool), input, call);
  openPausePoint(ports, tx, run, call, {
    kind: "recovery",
    title: `Did this happen? ${call.summary || call.tool}`,
    summary: call.summary,
    description: `${WHY_UNKNOWN[cause]}${started} Its effect may have happened, may still be under way, or may not have happened at all. Look where the effect would show before you answer.${changed === null ? "" : ` It can't be tried again: ${changed}`}`,
    options: [...(changed === null ? ["retry"] : []), "happened", "did_not_happen"],
    payload: input,
    payloadSchema: null,
    risk: "high",
  });
}

/** Ready calls that nothing holds back; a held-back call whose siblings did not all succeed is denied (H7). */
function releaseReady(ports: Ports, tx: Transaction, calls: CallRow[]): { calls: CallRow[]; startable: CallRow[] } {
  const { tools } = ports.agent(tx.conversation.skill);
  const startable: CallRow[] = [];
  const current = [...calls];
  for (const [place, call] of current.entries()) {
    if (call.state !== "ready") continue;
    if (!tools.get(call.tool)?.afterSiblings) {
      startable.push(call);
      continue;
    }
    const before = current.slice(0, place);
    if (before.every((one) => one.state === "succeeded")) startable.push(call);
    else if (before.every((one) => one.state !== "awaiting" && one.state !== "ready" && one.state !== "started")) {
      tx.updateCall(call, { state: "denied", cause: "siblings", endedAt: tx.now }, { state: "ready" });
      current[place] = { ...call, state: "denied" };
    }
  }
  return { calls: current, startable };
}

function suspend(tx: Transaction, run: RunRow): void {
  if (run.status === "suspended") return;
  tx.updateRun(run.turn, { status: "suspended" }, { status: "running" });
  stamp(tx, "paused", run);
}

/** The intent to go on, in the transaction of what makes it go on (H4). */
export function resume(tx: Transaction, run: RunRow): void {
  tx.updateRun(run.turn, { status: "running" }, { status: "suspended" });
  stamp(tx, "running", run);
}

function stamp(tx: Transaction, state: "running" | "paused", run: RunRow): void {
  const first = tx.store.pausePointsFrom(run.firstPausePoint).find((row) => row.state === "pending");
  const id = first ? pausePointId(tx.conversation.id, first.n) : null;
  tx.patchConversation({ state, pausePointId: id });
}

export function liveRun(tx: Transaction): RunRow | null {
  const { turn } = tx.conversation;
  const run = tx.run(turn);
  return run && isLive(run) ? run : null;
}

/** Begins the run that answers a person's text, which is already in the transcript. */
export function startRun(tx: Transaction, answers: { position: number; messageId: string; person: string; begunOp?: string | null }): void {
  const { conversation } = tx;
  const turn = conversation.turn + 1;
  const position = conversation.nextPosition;
  const messageId = assistantMessageId(position);
  tx.insertRun({
    turn,
    status: "running",
    stopReason: null,
    detail: null,
    position,
    messageId,
    parent: answers.position,
    parentId: answers.messageId,
    step: 0,
    sinceStep: 0,
    // Begun with its first attempt, which saves a row in each turn.
    attempt: 1,
    fruitless: 1,
    firstPausePoint: conversation.nextPausePoint,
    person: answers.person,
    startedAt: tx.now,
    endedAt: null,
    cancelledBy: null,
    opId: null,
    inputTokens: 0,
    outputTokens: 0,
    begunOp: answers.begunOp ?? null,
  });
  tx.begun = turn;
  tx.patchConversation({ turn, nextPosition: position + 1, head: position, headId: messageId, state: "running", pausePointId: null });
}

/**
 * Gives waiting texts to the run at a step boundary (H9): they follow the message written so far, and the
 * next step writes a new message under them. Returns the run as it is then.
 */
export function deliverQueued(tx: Transaction, run: RunRow): RunRow {
  const queued = tx.store.queued(run.position);
  if (queued.length === 0) return run;
  const leaf = chain(tx, run, queued, "sent");
  const position = tx.conversation.nextPosition;
  const messageId = assistantMessageId(position);
  const moved = { position, messageId, parent: leaf.position, parentId: leaf.messageId, sinceStep: run.step };
  tx.updateRun(run.turn, moved, { status: "running" });
  tx.patchConversation({ nextPosition: position + 1, head: position, headId: messageId });
  return { ...run, ...moved };
}

/** Hangs texts under what was told, the run's message, or what it answers while it has written nothing; each under the one before. */
function chain(
  tx: Transaction,
  run: RunRow,
  queued: StepRow[],
  delivery: "sent" | "unanswered",
  told: { position: number; messageId: string } | null = null,
): { position: number; messageId: string } {
  const wrote = tx.store.message(run.position).length > 0;
  let above = told ?? (wrote ? { position: run.position, messageId: run.messageId } : { position: run.parent, messageId: run.parentId ?? "" });
  for (const text of queued) {
    tx.updateStep(text, { delivery, parent: above.position, parentId: above.messageId || null, turn: run.turn });
    above = { position: text.position, messageId: text.messageId };
  }
  return above;
}

/**
 * Ends the live run and says in the transcript why, unless it simply finished. Pending cards are cancelled,
 * calls that had not started are denied; `partial` is what of the step being streamed is kept. Texts that
 * wait start the next run after `completed`, in this transaction; else they stay, marked unanswered.
 */
export function finishRun(
  tx: Transaction,
  run: RunRow,
  status: Exclude<RunStatus, "running" | "suspended">,
  stopReason: StopReason,
  detail: string | null,
  partial: StoredPart[] = [],
  /** With `pause`: the decisions start the next run by themselves. */
  auto = false,
): void {
  for (const row of tx.store.pausePointsFrom(run.firstPausePoint)) {
    if (row.state === "pending") tx.updatePausePoint(row, { state: "cancelled", decidedAt: tx.now });
  }
  const calls = tx.store.calls(run.turn);
  for (const call of calls) {
    if (call.state === "awaiting" && isRecovery(tx, call)) tx.updateCall(call, { state: "unknown", endedAt: tx.now }, { state: "awaiting" });
    else if (call.state === "ready" && mayHaveRun(call)) tx.updateCall(call, { state: "unknown", cause: "interrupted", endedAt: tx.now }, { state: "ready" });
    else if (call.state === "awaiting" || call.state === "ready" || call.state === "proposed")
      tx.updateCall(call, { state: "denied", cause: "cancelled", endedAt: tx.now }, { state: call.state });
  }
  const parts = [...partial, ...(detail === null ? [] : [{ type: "data-notice", data: { code: stopReason, text: detail } }])];
  const written = tx.run(run.turn) ?? run;
  if (parts.length > 0) insertAssistantStep(tx, written, parts);
  tx.updateRun(run.turn, { status, stopReason, detail, endedAt: tx.now });
  if (calls.some((call) => call.state === "started")) tx.patchConversation({ lingering: tx.conversation.lingering ?? run.turn });

  const queued = tx.store.queued(run.position);
  const goesOn = status === "completed" && stopReason !== "halted";
  const told = stopReason === "pause" ? insertDecisions(tx, written) : null;
  const leaf = chain(tx, written, queued, goesOn ? "sent" : "unanswered", told);
  tx.patchConversation({ state: "idle", pausePointId: null, head: leaf.position, headId: leaf.messageId || null });
  const asker = queued.at(-1);
  if (goesOn && (asker || auto)) startRun(tx, { ...leaf, person: asker?.person ?? run.person });
}

const isRecovery = (tx: Transaction, call: CallRow): boolean => call.pausePoint !== null && tx.store.get("pausePoints", call.pausePoint)?.kind === "recovery";

export function insertAssistantStep(tx: Transaction, run: RunRow, parts: StoredPart[]): void {
  tx.insertStep({
    position: run.position,
    step: run.step,
    messageId: run.messageId,
    parent: run.parent,
    parentId: run.parentId,
    role: "assistant",
    turn: run.turn,
    person: null,
    device: null,
    opId: null,
    delivery: "sent",
    createdAt: tx.now,
    withdrew: null,
    parts: JSON.stringify(parts),
  });
}
