import * as z from "zod";
import type { LiveAttempt } from "../protocol/frames.js";
import { branchUp } from "../core/branches.js";
import type { CommandOutcome } from "../core/command.js";
import { pausePointNumber, positionOf } from "../core/ids.js";
import type { Engine } from "../core/engine.js";
import type { Journal } from "../core/journal.js";
import type { RunRow } from "../core/rows.js";
import type { Actor } from "../core/ports.js";
import { agentMessage, ChatStream, emptyStream, messageAfter, type StreamStart } from "./chat-stream.js";

/** What `POST /api/chat` was read down to: a person's text, or answers to cards, and where the client stands. */
export const chatRequest = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("text"),
    messageId: z.string(),
    text: z.string(),
    /** The person's text that this one replaces, or is once more. */
    replaces: z.string().optional(),
    withdraw: z.boolean(),
  }),
  z.object({
    kind: z.literal("regenerate"),
    /** The text to answer again, as the client has it: it may never have arrived. */
    messageId: z.string(),
    text: z.string(),
    withdraw: z.boolean(),
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
    switch (request.kind) {
      case "text":
        return this.#text(actor, request);
      case "regenerate":
        return this.#regenerate(actor, request);
      case "answers":
        return this.#answers(actor, request);
    }
  }

  /** The stream of what runs, from its beginning; null when nothing does, nor did just now. */
  resume(person: string): Response | null {
    const run = this.journal.run(this.journal.conversation().turn);
    if (!run || (run.status !== "running" && !this.#justNow(this.journal.conversation().updatedAt))) return null;
    // Another branch was chosen since.
    if (!isOnBranch(this.journal, run.position)) return null;
    return this.#stream(person, { ...this.#firstRecent(run), clientSteps: null, follows: true });
  }

  #justNow = (time: number): boolean => this.journal.now() - time <= GRACE_MS;

  /** The first message that may have changed since a client read the history: of this run, or of one that just ended. */
  #firstRecent(run: RunRow): { position: number; turn: number } {
    let first = { position: run.position, turn: run.turn };
    for (const position of branchUp(this.journal.read, run.parent)) {
      const message = agentMessage(this.journal, position);
      if (!message) continue;
      if (message.turn !== run.turn && !this.#justNow(this.journal.run(message.turn)?.endedAt ?? 0)) break;
      first = message;
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

  #text(actor: Actor, { messageId, text, replaces, withdraw }: ChatRequest & { kind: "text" }): Response | ChatRefusal {
    // A text that is sent once more may never have arrived.
    const edits = replaces !== undefined && (replaces !== messageId || this.journal.read.userStep(messageId) !== null);
    const outcome = this.engine.send(actor, { opId: null, messageId, text, withdraw, ...(edits ? { replaces } : {}) });
    if (outcome.status === "rejected") return refusal(outcome);
    const step = this.journal.read.userStep(messageId);
    // What answers it is the next message of the agent; texts in a row share one.
    const answer = step?.delivery === "sent" ? (messageAfter(this.journal, step.position) ?? answerBelow(this.journal, step.position)) : null;
    if (answer) return this.#stream(actor.person, { ...answer, clientSteps: null });
    return new Response(emptyStream(messageId, step?.delivery === "unanswered" ? "unanswered" : "queued"), { headers: HEADERS });
  }

  #regenerate(actor: Actor, request: ChatRequest & { kind: "regenerate" }): Response | ChatRefusal {
    if (!this.journal.read.userStep(request.messageId)) return this.#text(actor, { ...request, kind: "text" });
    const outcome = this.engine.regenerate(actor, { opId: null, messageId: request.messageId, withdraw: request.withdraw });
    const run = this.journal.liveRun();
    if (outcome.status === "rejected" || !run) return refusal(outcome);
    return this.#stream(actor.person, { position: run.position, turn: run.turn, clientSteps: null });
  }

  /** Decides what was answered and goes on with that message: the truth is streamed, whoever decided (AI SDK, S6 and S8). */
  #answers(actor: Actor, { messageId, steps, answers }: ChatRequest & { kind: "answers" }): Response | ChatRefusal {
    const place = agentMessage(this.journal, positionOf(messageId));
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

  #stream(person: string, start: StreamStart): Response {
    const live = this.engine.live();
    const stream = new ChatStream(this.journal, start, live, (ended) => this.#streams.delete(ended));
    if (!stream.ended) this.#streams.set(stream, person);
    return new Response(stream.body, { headers: HEADERS });
  }
}

const refusal = ({ code = "rejected", message = "" }: CommandOutcome): ChatRefusal => ({ status: "rejected", code, message });

/** Whether a message is on the branch in use. */
function isOnBranch(journal: Journal, wanted: number): boolean {
  for (const position of branchUp(journal.read, journal.conversation().head)) {
    if (position <= wanted) return position === wanted;
  }
  return false;
}

/** The answer to a text of a branch that is not in use: the newest. */
function answerBelow(journal: Journal, position: number): { position: number; turn: number } | null {
  const newestChild = new Map(journal.read.places(position).map((place) => [place.parent, place.position]));
  for (let at = newestChild.get(position); at !== undefined; at = newestChild.get(at)) {
    const message = agentMessage(journal, at);
    if (message) return message;
  }
  return null;
}
