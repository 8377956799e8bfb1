import type { Conversation, MessageStep, PausePoint, Presence, Run } from "../../protocol/entities.js";
import { foldChunks, type LivePart } from "../../protocol/fold.js";
import type { Change, LiveAttempt, ServerFrame, Welcome } from "../../protocol/frames.js";

/** The step that the model is writing now, as far as this device has it. */
export interface LiveView {
  runId: string;
  messageId: string;
  step: number;
  attempt: number;
  /** The newest flush that `parts` contains. */
  n: number;
  parts: LivePart[];
}

/** What this device knows of one conversation. Never believed by the server; replaced by it at will. */
export interface SyncState {
  epoch: string | null;
  seq: number;
  /** Server's clock minus this device's, so that a wrong clock here does no harm (S9). */
  clockOffset: number;
  conversation: Conversation | null;
  run: Run | null;
  you: Welcome["you"] | null;
  steps: ReadonlyMap<string, MessageStep>;
  pausePoints: ReadonlyMap<string, PausePoint>;
  devices: Presence[];
  hasOlder: boolean;
  live: LiveView | null;
}

export const emptyState: SyncState = {
  epoch: null,
  seq: 0,
  clockOffset: 0,
  conversation: null,
  run: null,
  you: null,
  steps: new Map(),
  pausePoints: new Map(),
  devices: [],
  hasOlder: false,
  live: null,
};

/** `resync`: what is here and what came don't fit together, so hello must be said again (S3). */
export interface Applied {
  state: SyncState;
  resync: boolean;
}

export const stepKey = (step: { messageId: string; step: number }): string => `${step.messageId}\n${step.step}`;

/** Takes one server frame into the state. Frames that tell nothing about the conversation leave it as it is. */
export function applyFrame(state: SyncState, frame: ServerFrame, now: number): Applied {
  switch (frame.type) {
    case "welcome":
      return { state: welcome(state, frame, now), resync: false };
    case "change":
      return { state: change(state, frame, now), resync: false };
    case "delta":
      return delta(state, frame);
    case "page":
      return {
        state: { ...state, steps: mergeSteps(state.steps, frame.messages), pausePoints: mergePausePoints(state.pausePoints, frame.pausePoints), hasOlder: frame.hasOlder },
        resync: false,
      };
    case "presence":
      return { state: { ...state, devices: frame.devices }, resync: false };
    case "ack":
      return { state: frame.current ? withPausePoint(state, frame.current) : state, resync: false };
    case "error":
    case "pong":
      return { state, resync: false };
  }
}

/** Puts in a pause point that came by another way (an ack, HTTP), unless what is here is newer. */
export function withPausePoint(state: SyncState, pausePoint: PausePoint): SyncState {
  const known = state.pausePoints.get(pausePoint.id);
  if (known && known.version > pausePoint.version) return state;
  return { ...state, pausePoints: mergePausePoints(state.pausePoints, [pausePoint]) };
}

function welcome(state: SyncState, frame: Welcome, now: number): SyncState {
  const fresh = frame.mode === "snapshot";
  return {
    epoch: frame.epoch,
    seq: frame.seq,
    clockOffset: frame.now - now,
    conversation: frame.conversation,
    run: frame.run,
    you: frame.you,
    steps: mergeSteps(fresh ? new Map() : state.steps, frame.messages),
    pausePoints: mergePausePoints(fresh ? new Map() : state.pausePoints, frame.pausePoints),
    devices: frame.devices,
    // A delta says what changed, not how far back this device has read.
    hasOlder: fresh ? frame.hasOlder : state.hasOlder,
    live: frame.live ? liveView(frame.live, []) : null,
  };
}

function change(state: SyncState, frame: Change, now: number): SyncState {
  const run = frame.run === undefined ? state.run : frame.run;
  return {
    ...state,
    seq: frame.more ? state.seq : frame.seq,
    clockOffset: frame.now - now,
    steps: frame.messages ? mergeSteps(state.steps, frame.messages) : state.steps,
    pausePoints: frame.pausePoints ? mergePausePoints(state.pausePoints, frame.pausePoints) : state.pausePoints,
    run,
    conversation: frame.conversation ?? state.conversation,
    live: stillWritten(state.live, frame.messages ?? [], run) ? state.live : null,
  };
}

// A step that is committed, or a run that has stopped writing, ends its deltas.
function stillWritten(live: LiveView | null, committed: MessageStep[], run: Run | null): boolean {
  if (!live) return false;
  if (run && run.runId === live.runId && run.status !== "running") return false;
  return !committed.some((step) => step.parts.length > 0 && step.messageId === live.messageId && step.step >= live.step);
}

function delta(state: SyncState, frame: LiveAttempt): Applied {
  const committed = state.steps.get(stepKey(frame));
  if (committed && committed.parts.length > 0) return { state, resync: false };
  const { live } = state;
  const same = live !== null && live.messageId === frame.messageId && live.step === frame.step && live.attempt === frame.attempt;
  if (same) {
    if (frame.n <= live.n) return { state, resync: false };
    if (frame.n === live.n + 1) return { state: { ...state, live: liveView(frame, live.parts) }, resync: false };
    return { state, resync: true };
  }
  // Output of an attempt that a newer one has replaced.
  if (live && live.messageId === frame.messageId && live.step === frame.step && frame.attempt < live.attempt) return { state, resync: false };
  return frame.n === 1 ? { state: { ...state, live: liveView(frame, []) }, resync: false } : { state, resync: true };
}

function liveView(attempt: LiveAttempt, parts: LivePart[]): LiveView {
  const { runId, messageId, step, attempt: number, n, chunks } = attempt;
  // Folding is in place; what React has drawn must not change under it.
  return {
    runId,
    messageId,
    step,
    attempt: number,
    n,
    parts: foldChunks(
      parts.map((part) => ({ ...part })),
      chunks,
    ),
  };
}

function mergeSteps(known: ReadonlyMap<string, MessageStep>, steps: MessageStep[]): ReadonlyMap<string, MessageStep> {
  if (steps.length === 0) return known;
  const merged = new Map(known);
  for (const step of steps) {
    if (step.removed) merged.delete(stepKey(step));
    else merged.set(stepKey(step), step);
  }
  return merged;
}

function mergePausePoints(known: ReadonlyMap<string, PausePoint>, pausePoints: PausePoint[]): ReadonlyMap<string, PausePoint> {
  if (pausePoints.length === 0) return known;
  const merged = new Map(known);
  for (const pausePoint of pausePoints) merged.set(pausePoint.id, pausePoint);
  return merged;
}
