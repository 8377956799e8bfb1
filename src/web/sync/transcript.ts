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
}

/**
 * The messages of the branch in use, oldest first: from the head up through the parents. Texts that wait
 * for the agent, or were never answered, are not on the branch yet and are shown all the same (H9).
 */
export function transcript(state: SyncState): TranscriptMessage[] {
  return withLive(storedTranscript(state), state.live, state.run?.startedAt ?? 0);
}

/** The stored part of it, which stays the same while text is streamed. */
export function storedTranscript(state: Pick<SyncState, "steps" | "conversation">): TranscriptMessage[] {
  const messages = groupSteps(state.steps);
  const chosen = new Set<string>();
  for (let id = startOf(state, messages); id !== null && !chosen.has(id);) {
    const message = messages.get(id);
    if (!message) break;
    chosen.add(id);
    id = message[0]?.parentId ?? null;
  }
  for (const [id, [first]] of messages) if (first && first.delivery !== "sent") chosen.add(id);

  const shown = [...chosen].flatMap((id) => {
    const [first, ...rest] = messages.get(id) ?? [];
    return first ? [{ position: first.position, message: toMessage([first, ...rest]) }] : [];
  });
  // Queued texts come last: the agent gets them after what it is writing now.
  shown.sort((a, b) => Number(a.message.delivery === "queued") - Number(b.message.delivery === "queued") || a.position - b.position);
  return shown.map(({ message }) => message);
}

/** Puts the step that is being written into its message, or, if that has no stored step yet, after the others. */
export function withLive(messages: TranscriptMessage[], live: LiveView | null, startedAt: number): TranscriptMessage[] {
  if (!live) return messages;
  const own = messages.findIndex(({ messageId }) => messageId === live.messageId);
  if (own !== -1) return messages.with(own, { ...(messages[own] as TranscriptMessage), live });
  const queued = messages.findIndex(({ delivery }) => delivery === "queued");
  return messages.toSpliced(queued === -1 ? messages.length : queued, 0, writing(live, startedAt));
}

// A run's message is the head before its first step is stored; then the newest message is its parent.
function startOf(state: Pick<SyncState, "conversation">, messages: ReadonlyMap<string, MessageStep[]>): string | null {
  const head = state.conversation?.head ?? null;
  if (head !== null && messages.has(head)) return head;
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

function toMessage(steps: [MessageStep, ...MessageStep[]]): TranscriptMessage {
  const [first] = steps;
  return {
    messageId: first.messageId,
    role: first.role,
    steps,
    live: null,
    author: first.author,
    delivery: first.delivery,
    createdAt: first.createdAt,
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
