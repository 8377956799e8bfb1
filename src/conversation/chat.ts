import * as z from "zod";
import type { LiveAttempt } from "../protocol/frames.js";
import { conversationOf } from "../core/ids.js";
import type { Engine } from "../core/engine.js";
import type { Journal, StepRow } from "../core/journal.js";
import type { Actor } from "../core/ports.js";
import { ChatStream, queuedStream, type StreamStart } from "./chat-stream.js";

/** What `POST /api/chat` was read down to: a person's text, or answers to cards, and where the client stands. */
export const chatRequest = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("text"), messageId: z.string(), text: z.string() }),
  z.object({
    kind: z.literal("answers"),
    messageId: z.string(),
    /** Steps of that message that the client holds. */
    steps: z.number(),
    answers: z.array(z.object({ pausePointId: z.string(), approved: z.boolean(), reason: z.string().optional() })),
  }),
]);
export type ChatRequest = z.infer<typeof chatRequest>;

/** After a run has come to rest its stream can still be resumed this long: a client may have read the history before. */
const GRACE_MS = 15_000;
const HEADERS = { "content-type": "text/event-stream", "cache-control": "no-cache", "x-vercel-ai-ui-message-stream": "v1", "x-accel-buffering": "no" };

export type ChatRefusal = { status: "rejected"; code: string; message: string };

/** The AI SDK's chat over HTTP, on the same engine as the sockets. */
export class Chat {
  readonly #streams = new Set<ChatStream>();

  constructor(
    private readonly journal: Journal,
    private readonly engine: Engine,
  ) {}

  post(actor: Actor, request: ChatRequest): Response | ChatRefusal {
    return request.kind === "text" ? this.#text(actor, request) : this.#answers(actor, request);
  }

  /** The stream of what runs, from its beginning; null when nothing does, nor did just now. */
  resume(): Response | null {
    const run = this.journal.run(this.journal.conversation().turn);
    if (!run) return null;
    const rested = run.status === "suspended" ? Math.max(0, ...this.journal.pending().map((row) => row.createdAt)) : (run.endedAt ?? 0);
    if (run.status !== "running" && this.journal.now() - rested > GRACE_MS) return null;
    return this.#stream({ position: run.position, turn: run.turn, clientSteps: 0 });
  }

  live(flush: LiveAttempt): void {
    for (const stream of this.#streams) stream.live(flush);
  }

  changed(): void {
    for (const stream of this.#streams) stream.changed();
  }

  #text(actor: Actor, { messageId, text }: ChatRequest & { kind: "text" }): Response | ChatRefusal {
    const outcome = this.engine.send(actor, { opId: null, messageId, text });
    if (outcome.status === "rejected") return { status: "rejected", code: outcome.code ?? "rejected", message: outcome.message ?? "" };
    const step = this.journal.read.userStep(messageId);
    const answer = step && outcome.queued !== true ? this.#answerTo(step) : null;
    return answer ? this.#stream(answer) : new Response(queuedStream(messageId), { headers: HEADERS });
  }

  /** Where the answer to a text is written: the run that it started or joined, or a message written since. */
  #answerTo(step: StepRow): StreamStart | null {
    const run = this.journal.run(step.turn);
    if (run?.parent === step.position) return { position: run.position, turn: run.turn, clientSteps: 0 };
    const next = this.journal.read.message(step.position + 1)[0];
    return next?.parent === step.position && next.role === "assistant" ? { position: next.position, turn: next.turn, clientSteps: 0 } : null;
  }

  /** Decides what was answered and goes on with that message: the truth is streamed, whoever decided (AI SDK, S6 and S8). */
  #answers(actor: Actor, { messageId, steps, answers }: ChatRequest & { kind: "answers" }): Response | ChatRefusal {
    const known = answers.filter((answer) => conversationOf(answer.pausePointId) === this.journal.conversation().id);
    // Only what is pending: a client sends its whole history every time, and old answers are old news.
    const pending = known.filter((answer) => this.journal.pending().some((row) => answer.pausePointId.endsWith(`.${row.n}`)));
    if (pending.length > 0) {
      const outcomes = this.engine.decide(actor, pending.map(({ pausePointId, approved, reason }) => ({ pausePointId, decision: approved ? ("approve" as const) : ("reject" as const), ...(reason ? { reply: reason } : {}) })));
      const refused = outcomes.find((outcome) => outcome.code === "forbidden" || outcome.code === "not_found");
      if (refused) return { status: "rejected", code: refused.code, message: refused.message };
    }
    const position = Number(/^m([1-9]\d{0,9})$/.exec(messageId)?.[1] ?? 0);
    const run = this.journal.run(this.journal.conversation().turn);
    const turn = this.journal.read.message(position)[0]?.turn ?? (run && run.position === position ? run.turn : 0);
    if (!position || !turn) return { status: "rejected", code: "not_found", message: "There is no such message. Load the conversation again." };
    return this.#stream({ position, turn, clientSteps: Math.max(1, steps) });
  }

  #stream(start: StreamStart): Response {
    const live = this.engine.live();
    const stream = new ChatStream(this.journal, start, live, (ended) => this.#streams.delete(ended));
    if (!stream.ended) this.#streams.add(stream);
    return new Response(stream.body, { headers: HEADERS });
  }
}
