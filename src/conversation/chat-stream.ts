import type { Chunk, LiveAttempt } from "../protocol/frames.js";
import { canonicalJson } from "../protocol/json.js";
import { runId } from "../core/ids.js";
import type { Journal, RunRow, StepRow } from "../core/journal.js";
import { messageStepView, type ToolPart } from "../core/views.js";

// One AI SDK message as a stream of `UIMessageChunk`s, for stock clients over HTTP. The stream follows the
// journal and ends when the run suspends or ends; dropping it cancels nothing.

/** Comments sent while nothing else is, so that nothing on the way takes the stream for dead. */
const PING_MS = 15_000;

export interface StreamStart {
  /** Position of the message to show. */
  position: number;
  turn: number;
  /** Steps of it that the client holds; its last one is sent again whole. 0: everything is sent. */
  clientSteps: number;
}

export class ChatStream {
  readonly body: ReadableStream<Uint8Array>;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #ended = false;

  get ended(): boolean {
    return this.#ended;
  }

  /** Steps of the message completely sent. */
  #done: number;
  /** The step being sent: its index in the run, and the attempt whose chunks were passed on. */
  #open: { step: number; attempt: number; n: number } | null = null;
  #calls = new Map<string, Sent>();
  #resync: boolean;
  readonly #ping: ReturnType<typeof setInterval>;
  readonly #encoder = new TextEncoder();

  constructor(
    private readonly journal: Journal,
    private readonly start: StreamStart,
    live: LiveAttempt[] | null,
    private readonly closed: (stream: ChatStream) => void,
  ) {
    const rows = this.#rows();
    this.#done = Math.max(0, Math.min(start.clientSteps, rows.length + 1) - 1);
    this.#resync = start.clientSteps > 0;
    this.body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
      cancel: () => this.#end(),
    });
    this.#ping = setInterval(() => this.#write(": ping\n\n"), PING_MS);
    this.#emit({ type: "start", messageId: this.#messageId() });
    // What is streaming right now is taken up here; its later flushes follow from n.
    this.#advance();
    for (const flush of live ?? []) this.live(flush, true);
  }

  /** A flush of the step being streamed. `whole`: it is the attempt from its beginning. */
  live(flush: LiveAttempt, whole = false): void {
    if (this.#ended || flush.runId !== runId(this.start.turn) || flush.messageId !== this.#messageId()) return;
    if (this.#open?.step !== flush.step) this.#openStep(flush);
    else if (this.#open.attempt !== flush.attempt) {
      this.#emit({ type: "reset-step" });
      this.#calls.clear();
      this.#open = { step: flush.step, attempt: flush.attempt, n: 0 };
    } else if (flush.n <= this.#open.n && !whole) return;
    if (this.#open) this.#open.n = flush.n;
    for (const chunk of flush.chunks) {
      if (chunk.type === "tool-input-available") this.#calls.set(String(chunk["toolCallId"]), { input: canonicalJson(chunk["input"]), requested: null, responded: null, ended: null });
      this.#emit(chunk);
    }
  }

  /** After a commit: sends what the journal has by now, and ends when the run rests. */
  changed(): void {
    if (!this.#ended) this.#advance();
  }

  #advance(): void {
    const rows = this.#rows();
    for (const [place, row] of rows.entries()) {
      if (place < this.#done) continue;
      const last = place === rows.length - 1;
      this.#sendRow(row);
      if (!last) {
        this.#emit({ type: "finish-step" });
        this.#open = null;
        this.#done = place + 1;
        this.#calls.clear();
      }
    }
    const run = this.journal.run(this.start.turn);
    if (!run || run.status !== "running" || run.position !== this.start.position) this.#finish(run);
  }

  #sendRow(row: StepRow): void {
    const view = messageStepView(this.journal.read, this.journal.conversation().id, row);
    if (this.#open?.step !== row.step) {
      this.#openStep({ step: row.step, attempt: -1 });
      this.#sendParts(view.parts);
    } else if (this.#open.attempt === -1) {
      this.#sendParts(view.parts.filter((part) => part.type.startsWith("tool-")));
    } else {
      // Its text was passed on as it came, the last piece just before the commit.
      this.#sendParts(view.parts.filter((part) => part.type.startsWith("tool-") || part.type.startsWith("data-")));
    }
    if (this.#open) this.#open.attempt = -1;
  }

  #openStep(at: { step: number; attempt: number }): void {
    const before = this.#open;
    if (before) {
      this.#emit({ type: "finish-step" });
      this.#done += 1;
      this.#calls.clear();
    }
    // A client that holds this step keeps its `step-start`, and gets the rest anew (AI SDK `reset-step`).
    this.#emit({ type: this.#resync ? "reset-step" : "start-step" });
    this.#resync = false;
    this.#open = { step: at.step, attempt: at.attempt, n: 0 };
  }

  #sendParts(parts: { type: string; [field: string]: unknown }[]): void {
    for (const [place, part] of parts.entries()) {
      if (part.type === "text" || part.type === "reasoning") this.#sendText(part.type, `${part.type}-${this.#open?.step}-${place}`, String(part["text"]));
      else if (part.type.startsWith("tool-")) this.#sendCall(part as unknown as ToolPart);
      else if (part.type.startsWith("data-")) this.#emit({ type: part.type, data: part["data"] });
      else if (part.type.startsWith("source-")) this.#emit(part as Chunk);
    }
  }

  #sendText(kind: "text" | "reasoning", id: string, text: string): void {
    this.#emit({ type: `${kind}-start`, id });
    this.#emit({ type: `${kind}-delta`, id, delta: text });
    this.#emit({ type: `${kind}-end`, id });
  }

  /** Takes one call from what this client was sent to what it is now. */
  #sendCall(part: ToolPart): void {
    const { toolCallId, approval } = part;
    const toolName = part.type.slice("tool-".length);
    const sent = this.#calls.get(toolCallId) ?? { input: null, requested: null, responded: null, ended: null };
    this.#calls.set(toolCallId, sent);
    const input = canonicalJson(part.input);
    if (sent.input !== input) this.#emit({ type: "tool-input-available", toolCallId, toolName, input: part.input });
    sent.input = input;
    if (approval && sent.requested !== approval.id) {
      this.#emit({ type: "tool-approval-request", approvalId: approval.id, toolCallId, reason: approval.requestReason, approvalDescriptor: approval.descriptor });
      Object.assign(sent, { requested: approval.id, responded: null });
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
    if (this.#open) {
      this.#releaseHeldBack();
      this.#emit({ type: "finish-step" });
    }
    this.#emit({ type: "finish", finishReason: run?.status === "suspended" ? "tool-calls" : run?.status === "failed" ? "error" : "stop" });
    this.#write("data: [DONE]\n\n");
    this.#end();
  }

  /**
   * A call that waits for its siblings has no card, and a stock client holds every answer back while a call of
   * the step is open. It is shown as approved by itself, which it is.
   */
  #releaseHeldBack(): void {
    const rows = this.#rows();
    const row = rows.at(-1);
    if (!row) return;
    for (const call of this.journal.read.callsOfStep(row.turn, row.step)) {
      const sent = this.#calls.get(call.toolCallId);
      if (call.state !== "ready" || !sent || sent.requested) continue;
      const approvalId = `${call.toolCallId}-auto`;
      this.#emit({ type: "tool-approval-request", approvalId, toolCallId: call.toolCallId, isAutomatic: true });
      this.#emit({ type: "tool-approval-response", approvalId, approved: true, reason: "Needs no approval; waits for the calls before it." });
    }
  }

  #rows(): StepRow[] {
    return this.journal.read.message(this.start.position);
  }

  #messageId(): string {
    return `m${this.start.position}`;
  }

  #emit(chunk: Chunk): void {
    this.#write(`data: ${JSON.stringify(chunk)}\n\n`);
  }

  #write(text: string): void {
    if (this.#ended) return;
    try {
      this.#controller.enqueue(this.#encoder.encode(text));
    } catch {
      this.#end();
    }
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#ping);
    try {
      this.#controller.close();
    } catch {
      // The client went away.
    }
    this.closed(this);
  }
}

interface Sent {
  input: string | null;
  requested: string | null;
  responded: boolean | null;
  ended: string | null;
}

/** A stream that says that nothing is to come: the text waits for the live run (H9). */
export function queuedStream(messageId: string): string {
  const chunks: Chunk[] = [{ type: "data-queued", transient: true, data: { messageId } }, { type: "finish" }];
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`;
}
