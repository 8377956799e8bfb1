import type { Call, Delivery, MessageStep, PausePoint } from "../../protocol/entities.js";
import type { LiveView, SyncState } from "./state.js";

/** One message as it is read: its steps in order, and the step that is being written, if it is one of its own. */
export interface TranscriptMessage {
  messageId: string;
  role: "user" | "assistant";
  steps: MessageStep[];
  live: LiveView | null;
  author: MessageStep["author"];
  delivery: Delivery;
  createdAt: number;
  parentId: string | null;
  /** The versions of this message, itself among them, oldest first: edits of a text, answers to a text (H22). */
  versions: string[];
}

/**
 * The messages of the branch in use, oldest first: from the head up through the parents. Texts that wait
 * for the agent are not on the branch yet and are shown all the same (H9).
 */
export function transcript(state: SyncState): TranscriptMessage[] {
  return withLive(storedTranscript(state), state.live, state.run?.startedAt ?? 0);
}

/** The stored part of it, which stays the same while text is streamed. */
export function storedTranscript(state: Pick<SyncState, "steps" | "conversation" | "run">): TranscriptMessage[] {
  const messages = groupSteps(state.steps);
  const versions = versionsOf(messages);
  const chosen = new Set<string>();
  for (let id = startOf(state, messages); id !== null && !chosen.has(id);) {
    const message = messages.get(id);
    if (!message) break;
    chosen.add(id);
    id = message[0]?.parentId ?? null;
  }
  // Queued texts come last: the agent gets them after what it is writing now.
  const queued = [...messages.values()].flatMap(([first]) => (first?.delivery === "queued" ? [first] : [])).sort((a, b) => a.position - b.position);
  const branch = [...[...chosen].reverse(), ...queued.map(({ messageId }) => messageId)];
  return branch.flatMap((id) => {
    const [first, ...rest] = messages.get(id) ?? [];
    return first ? [toMessage([first, ...rest], versions.get(siblingKey(first)) ?? [id])] : [];
  });
}

/** Puts the step that is being written into its message, or, if that has no stored step yet, after the others. */
export function withLive(messages: TranscriptMessage[], live: LiveView | null, startedAt: number): TranscriptMessage[] {
  if (!live) return messages;
  const own = messages.findIndex(({ messageId }) => messageId === live.messageId);
  if (own !== -1) return messages.with(own, { ...(messages[own] as TranscriptMessage), live });
  const queued = messages.findIndex(({ delivery }) => delivery === "queued");
  return messages.toSpliced(queued === -1 ? messages.length : queued, 0, writing(live, startedAt));
}

/** Whether the end of the branch in use is known here; it may be older than what was loaded (H22). */
export function knowsHead({ steps, conversation, run }: Pick<SyncState, "steps" | "conversation" | "run">): boolean {
  const head = conversation?.head ?? null;
  return head === null || head === run?.messageId || [...steps.values()].some(({ messageId }) => messageId === head);
}

const siblingKey = (step: MessageStep): string => `${step.role} ${step.parentId}`;

/** Message ids by what they hang under and who wrote them. Texts that wait are no versions of one another. */
function versionsOf(messages: ReadonlyMap<string, MessageStep[]>): Map<string, string[]> {
  const siblings = new Map<string, MessageStep[]>();
  for (const [first] of messages.values()) {
    if (first && first.delivery !== "queued") siblings.set(siblingKey(first), [...(siblings.get(siblingKey(first)) ?? []), first]);
  }
  return new Map([...siblings].map(([key, steps]) => [key, steps.sort((a, b) => a.position - b.position).map(({ messageId }) => messageId)]));
}

// A run's message is the head before its first step is stored; what it answers is the end of the branch then.
function startOf({ conversation, run }: Pick<SyncState, "conversation" | "run">, messages: ReadonlyMap<string, MessageStep[]>): string | null {
  const head = conversation?.head ?? null;
  if (head !== null && messages.has(head)) return head;
  if (head !== null && head === run?.messageId && run.parentId !== undefined) return run.parentId;
  let newest: MessageStep | null = null;
  for (const [first] of messages.values()) {
    if (first && first.delivery === "sent" && (!newest || first.position > newest.position)) newest = first;
  }
  return newest?.messageId ?? null;
}

function groupSteps(steps: ReadonlyMap<string, MessageStep>): Map<string, MessageStep[]> {
  const messages = new Map<string, MessageStep[]>();
  for (const step of steps.values()) {
    const message = messages.get(step.messageId);
    if (message) message.push(step);
    else messages.set(step.messageId, [step]);
  }
  for (const message of messages.values()) message.sort((a, b) => a.step - b.step);
  return messages;
}

function toMessage(steps: [MessageStep, ...MessageStep[]], versions: string[]): TranscriptMessage {
  const [first] = steps;
  return {
    messageId: first.messageId,
    role: first.role,
    steps,
    live: null,
    author: first.author,
    delivery: first.delivery,
    createdAt: first.createdAt,
    parentId: first.parentId,
    versions,
  };
}

const writing = (live: LiveView, createdAt: number): TranscriptMessage => ({
  messageId: live.messageId,
  role: "assistant",
  steps: [],
  live,
  author: null,
  delivery: "sent",
  createdAt,
  parentId: null,
  versions: [live.messageId],
});

/** The cards about one tool call, oldest first: an approval may be followed by a recovery. */
export function cardsOf(pausePoints: ReadonlyMap<string, PausePoint>, call: Pick<Call, "toolCallId">): PausePoint[] {
  return [...pausePoints.values()].filter(({ toolCallId }) => toolCallId === call.toolCallId).sort((a, b) => a.createdAt - b.createdAt || number(a) - number(b));
}

/** The cards that wait for a person, in the order in which they were asked. */
export function pendingCards(pausePoints: ReadonlyMap<string, PausePoint>): PausePoint[] {
  return [...pausePoints.values()].filter(({ state }) => state === "pending").sort((a, b) => a.createdAt - b.createdAt || number(a) - number(b));
}

/** The card's number in its conversation: the end of its id. */
export const number = (pausePoint: Pick<PausePoint, "id">): number => Number(pausePoint.id.slice(pausePoint.id.lastIndexOf(".") + 1)) || 0;
