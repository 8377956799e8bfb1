import type { MessageStep } from "../protocol/entities.js";
import { byteLength } from "../protocol/json.js";
import type { Journal } from "../core/journal.js";
import type { RunRow } from "../core/rows.js";
import { branchUp } from "../core/branches.js";
import { runId } from "../core/ids.js";
import { messageStepView } from "../core/views.js";

/** In a frame, a part over this size is cut and says so; the whole is fetched by `GET …/messages/:id` (H20). */
export const PART_BYTES = 16 * 1024;

export const sizeOf = (value: unknown): number => byteLength(JSON.stringify(value));

export interface Page {
  steps: MessageStep[];
  hasOlder: boolean;
}

/** The newest messages before a position, of every branch. */
export function pageBefore(journal: Journal, before: number, limit: number, bytes: number, show?: (step: MessageStep) => MessageStep): Page {
  const positions = new Set(journal.read.stepsBefore(before, limit).map((row) => row.position));
  const { steps } = wholeMessages(journal, positions, limit, bytes, show);
  return { steps, hasOlder: steps.length > 0 && journal.read.stepsBefore(steps[0]?.position ?? 0, 1).length > 0 };
}

/** The newest messages of the branch in use, texts that wait at its end; or those above the message at a position. */
export function branchPage(journal: Journal, before: number | null, limit: number, bytes: number): Page {
  const { head } = journal.conversation();
  const run = journal.liveRun();
  const queued = run ? journal.read.queued(head).map((row) => row.position) : [];
  if (before !== null && !queued.includes(before)) {
    const above = journal.read.message(before)[0]?.parent ?? (run?.position === before ? run.parent : 0);
    return wholeMessages(journal, branchUp(journal.read, above), limit, bytes);
  }
  const waiting = queued.filter((position) => before === null || position < before);
  const page = wholeMessages(journal, [...waiting.toReversed(), ...branchUp(journal.read, head)], limit, bytes);
  // A message that has no step yet still has its place, or the texts that wait for it would stand before it.
  const place = page.steps.findIndex(({ position }) => position === queued[0]);
  if (run && place !== -1 && journal.read.message(run.position).length === 0) page.steps.splice(place, 0, notYetWritten(run));
  return page;
}

const notYetWritten = ({ messageId, position, step, parentId, turn, startedAt }: RunRow): MessageStep => ({
  messageId,
  position,
  step,
  parentId,
  role: "assistant",
  parts: [],
  calls: [],
  runId: runId(turn),
  author: null,
  delivery: "sent",
  createdAt: startedAt,
});

/**
 * Messages at these positions, newest first, until there are `limit` steps or `bytes` are used up; given oldest
 * first. Messages are whole, for the next page begins at a position: one that is larger than the page is alone
 * on it, with its parts cut until it fits.
 */
function wholeMessages(journal: Journal, positions: Iterable<number>, limit: number, bytes: number, show = (step: MessageStep): MessageStep => step): Page {
  const steps: MessageStep[] = [];
  let left = bytes;
  for (const position of positions) {
    let message = stepsOf(journal, position).map(show);
    if (message.length === 0) continue;
    if (steps.length > 0 && (steps.length + message.length > limit || sizeOf(message) > left)) return { steps, hasOlder: true };
    if (sizeOf(message) > left) message = fit(message, bytes);
    left -= sizeOf(message);
    steps.unshift(...message);
  }
  return { steps, hasOlder: false };
}

/** One message, its parts cut only if it is larger than `bytes`. */
export function wholeMessage(journal: Journal, position: number, bytes: number): MessageStep[] {
  const message = stepsOf(journal, position);
  return sizeOf(message) > bytes ? fit(message, bytes) : message;
}

const stepsOf = (journal: Journal, position: number): MessageStep[] => journal.read.message(position).map((row) => messageStepView(journal.read, journal.conversation().id, row));

/** Cuts parts harder and harder until the message fits. What is left of a part is its shape, and how much was cut. */
function fit(message: MessageStep[], bytes: number): MessageStep[] {
  const parts = message.reduce((sum, step) => sum + step.parts.length, 0);
  let cut = message;
  for (let most = Math.max(256, Math.floor(bytes / parts)); sizeOf(cut) > bytes && most >= 64; most = Math.floor(most / 2)) {
    cut = message.map((step) => ({ ...step, parts: step.parts.map((part) => cutPart(part, most)) }));
  }
  return cut;
}

/** A step as it goes into a frame. */
export function cutStep(step: MessageStep): MessageStep {
  const most = step.parts.length <= 40 ? PART_BYTES : Math.max(256, Math.floor((600 * 1024) / step.parts.length));
  return { ...step, parts: step.parts.map((part) => cutPart(part, most)) };
}

function cutPart(part: MessageStep["parts"][number], most: number): MessageStep["parts"][number] {
  if (sizeOf(part) <= most) return part;
  const cut: Record<string, number> = {};
  const kept: MessageStep["parts"][number] = { type: part.type };
  for (const [field, value] of Object.entries(part)) {
    const bytes = sizeOf(value);
    if (bytes <= most / 4) kept[field] = value;
    else {
      cut[field] = bytes;
      kept[field] = typeof value === "string" ? value.slice(0, Math.floor(most / 8)) : null;
    }
  }
  return { ...kept, cut };
}
