import type { LiveAttempt, ServerFrame, Welcome, Change } from "../protocol/frames.js";
import { PROTOCOL, SERVER_FRAME_BYTES } from "../protocol/frames.js";
import type { MessageStep, PausePoint, Presence, Role } from "../protocol/entities.js";
import { byteLength } from "../protocol/json.js";
import { cutStep, PART_BYTES, pageBefore, sizeOf } from "./pages.js";
import { conversationView, messageStepView, pausePointView, runView } from "../core/views.js";
import type { Journal } from "../core/journal.js";
import type { Changes } from "../core/transaction.js";
import type { PausePointRow, StepRow } from "../core/rows.js";

// What a device is told about a conversation: everything that fits for one that comes new, what has a
// larger `seq` than its own for one that comes back. Frames stay under 1 MiB (H20).

const PAGE_STEPS = 60;
const MESSAGES_BYTES = 400 * 1024;
const PAUSE_POINTS_BYTES = 300 * 1024;
const MOST_CHANGED = 200;

interface Has {
  epoch?: string | undefined;
  seq?: number | undefined;
}

type Snapshot = Pick<Welcome, "mode" | "messages" | "pausePoints" | "hasOlder">;

/** The welcome for a device that has `has`. It names the run and every pending pause point, whatever the mode (S1, S2). */
export function welcome(journal: Journal, has: Has, you: { person: string; role: Role }, devices: Presence[], live: LiveAttempt | null): Welcome {
  const conversation = journal.conversation();
  const delta = has.epoch === conversation.epoch && has.seq !== undefined && has.seq <= conversation.seq ? catchUp(journal, has.seq) : null;
  const run = journal.run(conversation.turn);
  return {
    type: "welcome",
    protocol: PROTOCOL,
    epoch: conversation.epoch,
    seq: conversation.seq,
    now: journal.now(),
    conversation: conversationView(conversation, journal.read.members()),
    run: run ? runView(run) : null,
    devices,
    live,
    you,
    ...(delta ?? newestPage(journal)),
  };
}

function catchUp(journal: Journal, seq: number): Snapshot | null {
  const changed = journal.read.changedSince(seq, MOST_CHANGED + 1);
  const steps = new Map(changed.steps.map((row) => [`${row.position}:${row.step}`, row]));
  for (const call of changed.calls) {
    const row = journal.read.get("steps", call.position, call.step);
    if (row) steps.set(`${row.position}:${row.step}`, row);
  }
  const rows = new Map([...changed.pausePoints, ...journal.pending()].map((row) => [row.n, row]));
  if (steps.size + rows.size > MOST_CHANGED) return null;
  const messages = [...steps.values()].map((row) => stepOf(journal, row));
  if (sizeOf(messages) > MESSAGES_BYTES) return null;
  // Whether there is more above is known already to a device that comes back.
  return { mode: "delta", messages, pausePoints: within(journal, [...rows.values()]), hasOlder: false };
}

const newestPage = (journal: Journal): Snapshot => ({ mode: "snapshot", ...page(journal, Number.MAX_SAFE_INTEGER, journal.pending()) });

/** The newest whole messages before a position that fit a frame, with the pause points they show. */
export function page(journal: Journal, before: number, always: PausePointRow[] = []): Pick<Snapshot, "messages" | "pausePoints" | "hasOlder"> {
  const { steps: messages, hasOlder } = pageBefore(journal, before, PAGE_STEPS, MESSAGES_BYTES, cutStep);
  const shown = messages.flatMap((step) => step.calls.flatMap((call) => (call.pausePointId ? [Number(call.pausePointId.split(".")[1])] : [])));
  const pausePoints = new Map(always.map((row) => [row.n, row]));
  for (const n of shown) {
    const row = journal.read.get("pausePoints", n);
    if (row) pausePoints.set(n, row);
  }
  return { messages, pausePoints: within(journal, [...pausePoints.values()]), hasOlder };
}

/** The change of one transaction, as frames that each fit. */
export function changeFrames(journal: Journal, changes: Changes): Change[] {
  const conversation = journal.conversation();
  const steps = [...changes.steps].flatMap((key) => {
    const [position = 0, step = 0] = key.split(":").map(Number);
    const row = journal.read.get("steps", position, step);
    return row ? [stepOf(journal, row)] : [];
  });
  const rows = [...changes.pausePoints].flatMap((n) => journal.read.get("pausePoints", n) ?? []);
  const run = changes.run === null ? null : journal.run(changes.run);
  const last: Change = {
    type: "change",
    seq: changes.seq,
    now: journal.now(),
    ...(run ? { run: runView(run) } : {}),
    ...(changes.conversation ? { conversation: conversationView(conversation, journal.read.members()) } : {}),
  };
  const pausePoints = within(journal, rows);
  const pieces = split(steps);
  const newest = pieces.pop();
  if (newest?.length) last.messages = newest;
  if (pausePoints.length) last.pausePoints = pausePoints;
  return [...pieces.map((messages): Change => ({ type: "change", seq: changes.seq, now: last.now, messages, more: true })), last];
}

function split(steps: MessageStep[]): MessageStep[][] {
  const pieces: MessageStep[][] = [[]];
  let bytes = 0;
  for (const step of steps) {
    bytes += sizeOf(step);
    if (bytes > MESSAGES_BYTES && pieces.at(-1)?.length) {
      pieces.push([]);
      bytes = sizeOf(step);
    }
    pieces.at(-1)?.push(step);
  }
  return pieces;
}

const stepOf = (journal: Journal, row: StepRow): MessageStep => cutStep(messageStepView(journal.read, journal.conversation().id, row));

/** Pause points as they fit: one over 16 KiB, and what comes after the byte budget, is `brief`. */
function within(journal: Journal, rows: PausePointRow[]): PausePoint[] {
  let left = PAUSE_POINTS_BYTES;
  return rows
    .toSorted((a, b) => a.n - b.n)
    .map((row) => {
      const whole = pausePointView(journal.conversation().id, row);
      const bytes = sizeOf(whole);
      const fits = bytes <= PART_BYTES && bytes <= left;
      const shown = fits ? whole : brief(whole);
      left -= fits ? bytes : sizeOf(shown);
      return shown;
    });
}

const brief = (whole: PausePoint): PausePoint => ({
  ...whole,
  title: whole.title.slice(0, 500),
  summary: whole.summary.slice(0, 500),
  reply: whole.reply?.slice(0, 500) ?? null,
  choice: null,
  description: "",
  payload: null,
  payloadSchema: null,
  payloadOverride: null,
  options: whole.options && sizeOf(whole.options) < 2000 ? whole.options : null,
  brief: true,
});

/** A frame as text. One that would be too large is a bug here, and must not reach a device. */
export function encode(frame: ServerFrame): string {
  const text = JSON.stringify(frame);
  if (text.length > SERVER_FRAME_BYTES / 3 && byteLength(text) > SERVER_FRAME_BYTES) throw new Error(`A ${frame.type} frame of ${byteLength(text)} bytes was about to be sent.`);
  return text;
}
