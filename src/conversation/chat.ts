import * as z from "zod";
import type { Chunk, LiveAttempt } from "../protocol/frames.js";
import { pausePointNumber } from "../core/ids.js";
import type { Engine } from "../core/engine.js";
import type { Journal } from "../core/journal.js";
import type { RunRow } from "../core/rows.js";
import type { Actor } from "../core/ports.js";
import { sseResponse } from "./chat-sse.js";
import { ChatStream, emptyStream, messageAfter, type ChatSink, type StreamStart } from "./chat-stream.js";

/** What `POST /api/chat` was read down to: a person's text, or answers to cards, and where the client stands. */
export const chatRequest = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("text"),
    messageId: z.string(),
    text: z.string(),
    /** The client replaces a message with this one, or sends it once more. */
    again: z.boolean(),
  }),
  z.object({
    kind: z.literal("answers"),
    messageId: z.string(),
    /** Steps of that message that the client holds. */
    steps: z.number(),
    answers: z.array(z.object({ pausePointId: z.string(), approved: z.boolean(), reason: z.string().optional(), version: z.number().optional() })),
  }),
]);
export type ChatRequest = z.infer<typeof chatRequest>;

/** After a run has come to rest its stream can still be resumed this long: a client may have read the history before. */
const GRACE_MS = 15_000;

export type ChatRefusal = { status: "rejected"; code: string; message: string };

/** What a request is answered with: a message's stream, a few chunks that say that nothing is to come, or a refusal. */
export type ChatAnswer = { start: StreamStart } | { chunks: Chunk[] } | ChatRefusal;

/** The AI SDK's chat, over HTTP and over WebSocket, on the same engine as the devices' sockets. */
export class Chat {
  readonly #streams = new Map<ChatStream, string>();

  constructor(
    private readonly journal: Journal,
    private readonly engine: Engine,
  ) {}

  /** Does what was asked, and says what to answer. */
  take(actor: Actor, request: ChatRequest): ChatAnswer {
    return request.kind === "text" ? this.#text(actor, request) : this.#answers(actor, request);
  }

  post(actor: Actor, request: ChatRequest): Response | ChatRefusal {
    const answer = this.take(actor, request);
    return "status" in answer ? answer : this.#respond(actor.person, answer);
  }

  /** The stream of what runs, from its beginning; null when nothing does, nor did just now. */
  resume(person: string): Response | null {
    const start = this.resumable(null);
    return start && this.#respond(person, { start });
  }

  /**
   * Where a client that resumes is to be brought up to date from, or null when it has nothing to catch up with.
   * `shown` is the conversation's `seq` when this client was last brought up to date, if that is known: the same is not replayed again.
   */
  resumable(shown: number | null): StreamStart | null {
    const { turn, updatedAt, seq } = this.journal.conversation();
    const run = this.journal.run(turn);
    if (!run) return null;
    if (run.status !== "running" && (shown === null ? !this.#justNow(updatedAt) : shown === seq)) return null;
    return this.replay(Infinity);
  }

  /** The newest messages whole: from one that may have changed since a client read the history, at `position` or before. */
  replay(position: number): StreamStart | null {
    const run = this.journal.run(this.journal.conversation().turn);
    if (!run) return null;
    const recent = this.#firstRecent(run);
    const changed = position < recent.position ? messageAfter(this.journal, position - 1) : null;
    return { ...(changed ?? recent), clientSteps: null, follows: true };
  }

  /** Writes an answer to a sink, now and as the run goes on. */
  open(person: string, answer: Exclude<ChatAnswer, ChatRefusal>, sink: ChatSink): ChatStream | null {
    if ("chunks" in answer) {
      for (const chunk of answer.chunks) sink.chunk(chunk);
      sink.end(true);
      return null;
    }
    const stream = new ChatStream(this.journal, answer.start, this.engine.live(), sink, (ended) => this.#streams.delete(ended));
    if (stream.ended) return null;
    this.#streams.set(stream, person);
    return stream;
  }

  #respond(person: string, answer: Exclude<ChatAnswer, ChatRefusal>): Response {
    let stream: ChatStream | null = null;
    const { sink, response } = sseResponse(() => stream?.end());
    stream = this.open(person, answer, sink);
    return response;
  }

  #justNow = (time: number): boolean => this.journal.now() - time <= GRACE_MS;

  /** The first message that may have changed since a client read the history: of this run, or of one that just ended. */
  #firstRecent(run: RunRow): { position: number; turn: number } {
    let first = { position: run.position, turn: run.turn };
    for (let position = run.position - 1; position > 0; position -= 1) {
      const row = this.journal.read.message(position)[0];
      if (row?.role !== "assistant") continue;
      if (row.turn !== run.turn && !this.#justNow(this.journal.run(row.turn)?.endedAt ?? 0)) break;
      first = { position, turn: row.turn };
    }
    return first;
  }

  live(flush: LiveAttempt): void {
    for (const stream of this.#streams.keys()) stream.live(flush);
  }

  changed(): void {
    for (const [stream, person] of this.#streams) {
      const member = this.journal.read.get("members", person);
      if (!member || member.removed) stream.end();
      else stream.changed();
    }
  }

  #text(actor: Actor, { messageId, text, again }: ChatRequest & { kind: "text" }): ChatAnswer {
    const outcome = this.engine.send(actor, { opId: null, messageId, text });
    if (outcome.status === "rejected") {
      if (again && outcome.code === "message_id_taken")
        return { status: "rejected", code: "edit_not_supported", message: "A text can't be changed after it was sent, in this version. Send a new one." };
      return { status: "rejected", code: outcome.code ?? "rejected", message: outcome.message ?? "" };
    }
    const step = this.journal.read.userStep(messageId);
    // What answers it is the next message of the agent; texts in a row share one.
    const answer = step?.delivery === "sent" ? messageAfter(this.journal, step.position) : null;
    if (answer) return { start: { ...answer, clientSteps: null } };
    return { chunks: emptyStream(messageId, step?.delivery === "unanswered" ? "unanswered" : "queued") };
  }

  /** Decides what was answered and goes on with that message: the truth is streamed, whoever decided (AI SDK, S6 and S8). */
  #answers(actor: Actor, { messageId, steps, answers }: ChatRequest & { kind: "answers" }): ChatAnswer {
    const place = this.#place(messageId);
    if (!place) return { status: "rejected", code: "not_found", message: "There is no such message. Load the conversation again." };
    // Only what is pending: a client sends its whole history every time, and old answers are old news.
    const pending = new Set(this.journal.pending().map((row) => row.n));
    const decisions = answers
      .filter((answer) => pending.has(pausePointNumber(this.journal.conversation().id, answer.pausePointId)))
      .map(({ pausePointId, approved, reason, version }) => ({
        pausePointId,
        decision: approved ? ("approve" as const) : ("reject" as const),
        ...(reason ? { reply: reason } : {}),
        ...(version ? { version } : {}),
      }));
    const outcomes = decisions.length > 0 ? this.engine.decide(actor, decisions) : [];
    const refused = outcomes.find((outcome) => outcome.code === "forbidden" || outcome.code === "not_found");
    if (refused) return { status: "rejected", code: refused.code, message: refused.message };
    const notes = outcomes.flatMap(({ code, message }, at) => (code === "decided" || code === "same" ? [] : [{ pausePointId: decisions[at]?.pausePointId ?? "", code, message }]));
    return { start: { ...place, clientSteps: steps, notes } };
  }

  /** An agent's message, the one being written included. */
  #place(messageId: string): { position: number; turn: number } | null {
    const position = Number(/^m([1-9]\d{0,9})$/.exec(messageId)?.[1] ?? 0);
    const run = this.journal.run(this.journal.conversation().turn);
    if (run && run.position === position) return { position, turn: run.turn };
    const row = this.journal.read.message(position)[0];
    return row?.role === "assistant" ? { position, turn: row.turn } : null;
  }
}
