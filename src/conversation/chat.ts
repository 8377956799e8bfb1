import * as z from "zod";
import type { LiveAttempt } from "../protocol/frames.js";
import { pausePointNumber } from "../core/ids.js";
import type { Engine } from "../core/engine.js";
import type { Journal } from "../core/journal.js";
import type { RunRow } from "../core/rows.js";
import type { Actor } from "../core/ports.js";
import { ChatStream, emptyStream, messageAfter, type StreamStart } from "./chat-stream.js";

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
const HEADERS = { "content-type": "text/event-stream", "cache-control": "no-cache", "x-vercel-ai-ui-message-stream": "v1", "x-accel-buffering": "no" };

export type ChatRefusal = { status: "rejected"; code: string; message: string };

/** The AI SDK's chat over HTTP, on the same engine as the sockets. */
export class Chat {
  readonly #streams = new Map<ChatStream, string>();

  constructor(
    private readonly journal: Journal,
    private readonly engine: Engine,
  ) {}

  post(actor: Actor, request: ChatRequest): Response | ChatRefusal {
    return request.kind === "text" ? this.#text(actor, request) : this.#answers(actor, request);
  }

  /** The stream of what runs, from its beginning; null when nothing does, nor did just now. */
  resume(person: string): Response | null {
    const run = this.journal.run(this.journal.conversation().turn);
    if (!run || (run.status !== "running" && !this.#justNow(this.journal.conversation().updatedAt))) return null;
    return this.#stream(person, { ...this.#firstRecent(run), clientSteps: null, follows: true });
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

  #text(actor: Actor, { messageId, text, again }: ChatRequest & { kind: "text" }): Response | ChatRefusal {
    const outcome = this.engine.send(actor, { opId: null, messageId, text });
    if (outcome.status === "rejected") {
      if (again && outcome.code === "message_id_taken")
        return { status: "rejected", code: "edit_not_supported", message: "A text can't be changed after it was sent, in this version. Send a new one." };
      return { status: "rejected", code: outcome.code ?? "rejected", message: outcome.message ?? "" };
    }
    const step = this.journal.read.userStep(messageId);
    // What answers it is the next message of the agent; texts in a row share one.
    const answer = step?.delivery === "sent" ? messageAfter(this.journal, step.position) : null;
    if (answer) return this.#stream(actor.person, { ...answer, clientSteps: null });
    return new Response(emptyStream(messageId, step?.delivery === "unanswered" ? "unanswered" : "queued"), { headers: HEADERS });
  }

  /** Decides what was answered and goes on with that message: the truth is streamed, whoever decided (AI SDK, S6 and S8). */
  #answers(actor: Actor, { messageId, steps, answers }: ChatRequest & { kind: "answers" }): Response | ChatRefusal {
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
    return this.#stream(actor.person, { ...place, clientSteps: steps, notes });
  }

  /** An agent's message, the one being written included. */
  #place(messageId: string): { position: number; turn: number } | null {
    const position = Number(/^m([1-9]\d{0,9})$/.exec(messageId)?.[1] ?? 0);
    const run = this.journal.run(this.journal.conversation().turn);
    if (run && run.position === position) return { position, turn: run.turn };
    const row = this.journal.read.message(position)[0];
    return row?.role === "assistant" ? { position, turn: row.turn } : null;
  }

  #stream(person: string, start: StreamStart): Response {
    const live = this.engine.live();
    const stream = new ChatStream(this.journal, start, live, (ended) => this.#streams.delete(ended));
    if (!stream.ended) this.#streams.set(stream, person);
    return new Response(stream.body, { headers: HEADERS });
  }
}
