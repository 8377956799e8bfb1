import type { Chunk, LiveAttempt } from "../protocol/frames.js";
import { foldChunks, type LivePart } from "../protocol/fold.js";
import { canonicalJson } from "../protocol/json.js";
import { branchUp } from "../core/branches.js";
import { assistantMessageId, runId } from "../core/ids.js";
import type { Journal } from "../core/journal.js";
import type { RunRow, StepRow } from "../core/rows.js";
import { storeParts } from "../core/stream.js";
import { messageStepView, storedParts, type ToolPart } from "../core/views.js";

// One AI SDK message as a stream of `UIMessageChunk`s, for stock clients over HTTP and WebSocket. The stream
// follows the journal and ends when the run suspends or ends; dropping it cancels nothing.

/** Where a stream is written to: an HTTP response, or the frames of one request on a socket. */
export interface ChatSink {
  chunk(chunk: Chunk): void;
  /** Called once. `whole`: everything was said; else it stops where it is. */
  end(whole: boolean): void;
}

export interface StreamStart {
  /** Position of the message to show. */
  position: number;
  turn: number;
  /** Steps of it that the client holds; its last one is sent again whole. Null: it holds nothing of this message. */
  clientSteps: number | null;
  /** Goes on with the messages written after this one. A stock client takes several in a resumed stream only. */
  follows?: boolean;
  /** For the app: what became of an answer that decided nothing. Shown once, kept nowhere. */
  notes?: { pausePointId: string; code: string; message: string }[];
}

/** The step being sent, and what of it this client has. */
interface OpenStep {
  step: number;
  /** The attempt whose chunks are passed on as they come, and the last flush of it; null once the journal has the step. */
  live: { attempt: number; n: number; parts: LivePart[] } | null;
  calls: Map<string, SentCall>;
}

interface SentCall {
  /** Tool, input and metadata, as one text. */
  proposal: string | null;
  /** What was asked, as one text. */
  requested: string | null;
  responded: boolean | null;
  ended: string | null;
}

export class ChatStream {
  #ended = false;
  /** Steps of the message completely sent. */
  #done = 0;
  #open: OpenStep | null = null;
  /** The client holds the step that is sent next. */
  #resync = false;

  constructor(
    private readonly journal: Journal,
    private start: StreamStart,
    live: LiveAttempt[] | null,
    private readonly sink: ChatSink,
    private readonly closed: (stream: ChatStream) => void,
  ) {
    this.#begin();
    for (const note of start.notes ?? []) this.#emit({ type: "data-decision", transient: true, data: note });
    this.#advance();
    // What is streaming right now is taken up here; its later flushes follow from n.
    for (const flush of live ?? []) this.live(flush, true);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** A flush of the step being streamed. `whole`: a piece of the attempt from its beginning. */
  live(flush: LiveAttempt, whole = false): void {
    if (this.#ended || flush.runId !== runId(this.start.turn) || flush.messageId !== this.#messageId()) return;
    const { step, attempt, n, chunks } = flush;
    if (this.#open?.step !== step) this.#openStep(step);
    else if (this.#open.live?.attempt !== attempt) this.#resetStep();
    if (!this.#open) return;
    this.#open.live ??= { attempt, n: 0, parts: [] };
    if (n <= this.#open.live.n && !whole) return;
    this.#open.live.n = n;
    foldChunks(this.#open.live.parts, chunks);
    for (const chunk of chunks) this.#emit(this.#passedOn(chunk));
  }

  /** After a commit: sends what the journal has by now, and ends when the run rests. */
  changed(): void {
    if (!this.#ended) this.#advance();
  }

  /** Ends it where it is: its client has gone, or its person may not see the conversation any more. */
  end(whole = false): void {
    if (this.#ended) return;
    this.#ended = true;
    this.sink.end(whole);
    this.closed(this);
  }

  #begin(): void {
    const { clientSteps } = this.start;
    this.#resync = clientSteps !== null;
    this.#done = clientSteps === null ? 0 : Math.max(0, Math.min(clientSteps - 1, this.#rows().length));
    this.#open = null;
    this.#emit({ type: "start", messageId: this.#messageId() });
  }

  #advance(): void {
    const rows = this.#rows();
    for (const row of rows.slice(this.#done)) this.#sendRow(row);
    const run = this.journal.run(this.start.turn);
    if (run?.status === "running" && run.position === this.start.position) return;
    if (run?.status === "suspended") this.#releaseHeldBack();
    const next = this.start.follows ? messageAfter(this.journal, this.start.position) : null;
    if (!next) return this.#finish(run);
    this.#closeStep();
    this.start = { ...next, clientSteps: null, follows: true };
    this.#begin();
    this.#advance();
  }

  #sendRow(row: StepRow): void {
    const view = messageStepView(this.journal.read, this.journal.conversation().id, row);
    if (this.#open?.step !== row.step) this.#openStep(row.step);
    else if (!this.#open.live) return this.#sendParts(view.parts.filter(isCall));
    else if (isWhole(this.#open.live.parts, row)) {
      this.#open.live = null;
      return this.#sendParts(view.parts.filter((part) => isCall(part) || part.type === "data-notice"));
    } else this.#resetStep();
    if (this.#open) this.#open.live = null;
    this.#sendParts(view.parts);
  }

  #openStep(step: number): void {
    this.#closeStep();
    this.#open = { step, live: null, calls: new Map() };
    // A client that holds this step keeps its `step-start`, and gets the rest anew.
    if (this.#resync) this.#emit({ type: "reset-step" });
    if (!this.#resync || this.start.clientSteps === 0) this.#emit({ type: "start-step" });
    this.#resync = false;
  }

  #closeStep(): void {
    if (!this.#open) return;
    this.#emit({ type: "finish-step" });
    this.#open = null;
    this.#done += 1;
  }

  /** Takes back what was sent of the open step: another attempt, or the journal, says something else (H8). */
  #resetStep(): void {
    if (!this.#open) return;
    this.#emit({ type: "reset-step" });
    this.#open = { step: this.#open.step, live: null, calls: new Map() };
  }

  /** A chunk of the model, without the fields that the journal doesn't keep. */
  #passedOn(chunk: Chunk): Chunk {
    if (!chunk.type.startsWith("tool-input")) return chunk;
    const { dynamic: _, title: __, toolMetadata: ___, ...kept } = chunk;
    if (kept.type === "tool-input-available") {
      const proposal = proposalOf(String(kept["toolName"]), kept["input"], kept["providerMetadata"]);
      this.#open?.calls.set(String(kept["toolCallId"]), { proposal, requested: null, responded: null, ended: null });
    }
    return kept as Chunk;
  }

  #sendParts(parts: { type: string; [field: string]: unknown }[]): void {
    for (const [place, part] of parts.entries()) {
      if (part.type === "text" || part.type === "reasoning") this.#sendText(part.type, `${part.type}-${this.#open?.step}-${place}`, part);
      else if (isCall(part)) this.#sendCall(part as unknown as ToolPart);
      else if (part.type.startsWith("data-")) this.#emit({ type: part.type, data: part["data"] });
      else if (part.type.startsWith("source-")) this.#emit(part as Chunk);
    }
  }

  #sendText(kind: "text" | "reasoning", id: string, part: { [field: string]: unknown }): void {
    this.#emit({ type: `${kind}-start`, id, ...(part["providerMetadata"] ? { providerMetadata: part["providerMetadata"] } : {}) });
    this.#emit({ type: `${kind}-delta`, id, delta: String(part["text"]) });
    this.#emit({ type: `${kind}-end`, id });
  }

  /** Takes one call from what this client was sent to what it is now. */
  #sendCall(part: ToolPart): void {
    const { toolCallId, approval, input } = part;
    const toolName = part.type.slice("tool-".length);
    const providerMetadata = part["callProviderMetadata"];
    const sent = this.#open?.calls.get(toolCallId) ?? { proposal: null, requested: null, responded: null, ended: null };
    this.#open?.calls.set(toolCallId, sent);
    const proposal = proposalOf(toolName, input, providerMetadata);
    if (sent.proposal !== proposal) this.#emit({ type: "tool-input-available", toolCallId, toolName, input, ...(providerMetadata ? { providerMetadata } : {}) });
    sent.proposal = proposal;
    const request = approval && { approvalId: approval.id, toolCallId, reason: approval.requestReason, approvalDescriptor: approval.descriptor };
    // An edit can change what a waiting card asks; a decision changes its version.
    if (request && sent.requested !== canonicalJson(request)) {
      this.#emit({ type: "tool-approval-request", ...request });
      Object.assign(sent, { requested: canonicalJson(request), responded: null });
    }
    if (approval?.approved !== undefined && sent.responded !== approval.approved) {
      this.#emit({ type: "tool-approval-response", approvalId: approval.id, approved: approval.approved, reason: approval.reason ?? "" });
      sent.responded = approval.approved;
    }
    if (sent.ended === part.state) return;
    if (part.state === "output-available") this.#emit({ type: "tool-output-available", toolCallId, output: part.output ?? null });
    else if (part.state === "output-denied") this.#emit({ type: "tool-output-denied", toolCallId });
    else if (part.state === "output-error") this.#emit({ type: "tool-output-error", toolCallId, errorText: part.errorText ?? "" });
    else return;
    sent.ended = part.state;
  }

  #finish(run: RunRow | null): void {
    this.#closeStep();
    this.#emit({ type: "finish", finishReason: finishReasonOf(run) });
    this.end(true);
  }

  /**
   * A call that waits for its siblings has no card, and a stock client holds every answer back while a call of
   * the step is open. It is shown as approved by itself, which it is.
   */
  #releaseHeldBack(): void {
    const row = this.#rows().at(-1);
    if (!row || !this.#open) return;
    for (const call of this.journal.read.callsOfStep(row.turn, row.step)) {
      if (call.state !== "ready" || this.#open.calls.get(call.toolCallId)?.requested) continue;
      const approvalId = `${call.toolCallId}-auto`;
      this.#emit({ type: "tool-approval-request", approvalId, toolCallId: call.toolCallId, isAutomatic: true });
      this.#emit({ type: "tool-approval-response", approvalId, approved: true, reason: "Needs no approval; waits for the calls before it." });
    }
  }

  #rows(): StepRow[] {
    return this.journal.read.message(this.start.position);
  }

  #messageId(): string {
    return assistantMessageId(this.start.position);
  }

  #emit(chunk: Chunk): void {
    if (!this.#ended) this.sink.chunk(chunk);
  }
}

function finishReasonOf(run: RunRow | null): string {
  if (run?.status === "suspended") return "tool-calls";
  if (run?.status === "failed") return "error";
  // The message ends with results that the next run speaks about: a client must not send because of them.
  return run?.stopReason === "pause" ? "interrupted" : "stop";
}

const isCall = (part: { type: string }): boolean => part.type.startsWith("tool-");

const proposalOf = (toolName: string, input: unknown, metadata: unknown): string => canonicalJson([toolName, input, metadata]);

/** Whether what was streamed is what the journal has kept: an attempt that was cut loses its calls and the end of its text. */
function isWhole(parts: LivePart[], row: StepRow): boolean {
  const closed = parts.every((part) => part.type === "other" || (part.type === "tool" ? part.state !== "input-streaming" : part.state === "done" && part.text !== ""));
  return closed && canonicalJson(storeParts(parts, true)) === canonicalJson(storedParts(row).filter((part) => part.type !== "data-notice"));
}

/** The agent's next message after a position, on the branch in use. */
export function messageAfter(journal: Journal, position: number): { position: number; turn: number } | null {
  let next: { position: number; turn: number } | null = null;
  for (const at of branchUp(journal.read, journal.conversation().head)) {
    if (at === position) return next;
    if (at < position) return null;
    next = agentMessage(journal, at) ?? next;
  }
  return null;
}

/** An agent's message, the one being written included. */
export function agentMessage(journal: Journal, position: number): { position: number; turn: number } | null {
  const run = journal.run(journal.conversation().turn);
  if (run?.position === position) return { position, turn: run.turn };
  const row = journal.read.message(position)[0];
  return row?.role === "assistant" ? { position, turn: row.turn } : null;
}

/** What says that nothing is to come: the text waits for the live run, or its run ended before it was read (H9). */
export const emptyStream = (messageId: string, delivery: "queued" | "unanswered"): Chunk[] => [
  { type: `data-${delivery}`, transient: true, data: { messageId } },
  { type: "finish" },
];
