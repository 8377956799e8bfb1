import * as z from "zod";
import type { Decision } from "../protocol/commands.js";
import { json, type Json } from "../protocol/json.js";
import type { Chunk, LiveAttempt } from "../protocol/frames.js";
import { branchUp } from "../core/branches.js";
import type { CommandOutcome } from "../core/command.js";
import { pausePointId, pausePointNumber, positionOf } from "../core/ids.js";
import type { Engine } from "../core/engine.js";
import type { Journal } from "../core/journal.js";
import type { RunRow } from "../core/rows.js";
import type { Actor } from "../core/ports.js";
import { sseResponse } from "./chat-sse.js";
import { agentMessage, ChatStream, emptyStream, messageAfter, type ChatSink, type StreamStart } from "./chat-stream.js";

/** What `POST /api/chat` was read down to: a person's text, or answers to cards, and where the client stands. */
export const chatRequest = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("text"),
    messageId: z.string(),
    text: z.string(),
    /** The person's text that this one replaces, or is once more. */
    replaces: z.string().optional(),
    withdraw: z.boolean().default(false),
    /** Read by objects of the release before, which a newer Worker may meet during a deploy. */
    again: z.boolean().optional(),
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
    /** What the client says its calls returned: believed of questions to a device only (H10). */
    outputs: z.array(z.object({ toolCallId: z.string(), output: json.optional(), errorText: z.string().optional() })).default([]),
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
    switch (request.kind) {
      case "text":
        return this.#text(actor, request);
      case "regenerate":
        return this.#regenerate(actor, request);
      case "answers":
        return this.#answers(actor, request);
    }
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
    // Another branch may have been chosen since.
    if (!run || !isOnBranch(this.journal, run.position)) return null;
    const recent = this.#firstRecent(run);
    const changed = position < recent.position ? firstFrom(this.journal, position) : null;
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

  #text(actor: Actor, { messageId, text, replaces, withdraw }: ChatRequest & { kind: "text" }): ChatAnswer {
    // A text that is sent once more may never have arrived.
    const edits = replaces !== undefined && (replaces !== messageId || this.journal.read.userStep(messageId) !== null);
    const outcome = this.engine.send(actor, { opId: null, messageId, text, withdraw, ...(edits ? { replaces } : {}) });
    if (outcome.status === "rejected") return refusal(outcome);
    const step = this.journal.read.userStep(messageId);
    // What answers it is the next message of the agent; texts in a row share one.
    const answer = step?.delivery === "sent" ? (messageAfter(this.journal, step.position) ?? answerBelow(this.journal, step.position)) : null;
    if (answer) return { start: { ...answer, clientSteps: null } };
    return { chunks: emptyStream(messageId, step?.delivery === "unanswered" ? "unanswered" : "queued") };
  }

  #regenerate(actor: Actor, request: ChatRequest & { kind: "regenerate" }): ChatAnswer {
    if (!this.journal.read.userStep(request.messageId)) return this.#text(actor, { ...request, kind: "text" });
    const outcome = this.engine.regenerate(actor, { opId: null, messageId: request.messageId, withdraw: request.withdraw });
    const run = this.journal.liveRun();
    if (outcome.status === "rejected" || !run) return refusal(outcome);
    return { start: { position: run.position, turn: run.turn, clientSteps: null } };
  }

  /** Decides what was answered and goes on with that message: the truth is streamed, whoever decided (AI SDK, S6 and S8). */
  #answers(actor: Actor, { messageId, steps, answers, outputs }: ChatRequest & { kind: "answers" }): ChatAnswer {
    const place = agentMessage(this.journal, positionOf(messageId));
    if (!place) return { status: "rejected", code: "not_found", message: "There is no such message. Load the conversation again." };
    // Only what is pending: a client sends its whole history every time, and old answers are old news.
    const { id } = this.journal.conversation();
    const waiting = this.journal.pending();
    const pending = new Set(waiting.map((row) => row.n));
    const byDevice = waiting
      .filter((row) => row.forPerson !== null)
      .flatMap((row) => outputs.filter(({ toolCallId }) => toolCallId === row.toolCallId).map((said) => deviceDecision(pausePointId(id, row.n), said)));
    const decisions = answers
      .filter((answer) => pending.has(pausePointNumber(id, answer.pausePointId)))
      .map(({ pausePointId: card, approved, reason, version }): Decision => ({
        pausePointId: card,
        decision: approved ? "approve" : "reject",
        ...(reason ? { reply: reason } : {}),
        ...(version ? { version } : {}),
      }))
      .concat(byDevice);
    const outcomes = decisions.length > 0 ? this.engine.decide(actor, decisions) : [];
    const refused = outcomes.find((outcome) => outcome.code === "forbidden" || outcome.code === "not_found");
    if (refused && outcomes.every((outcome) => outcome.code === "forbidden" || outcome.code === "not_found"))
      return { status: "rejected", code: refused.code, message: refused.message };
    const notes = outcomes.flatMap(({ code, message }, at) => (code === "decided" || code === "same" ? [] : [{ pausePointId: decisions[at]?.pausePointId ?? "", code, message }]));
    return { start: { ...place, clientSteps: steps, notes } };
  }
}

/** A device's answer as a stock client gives it: an output, or an error, which declines. */
function deviceDecision(id: string, { output, errorText }: { output?: Json | undefined; errorText?: string | undefined }): Decision {
  if (errorText !== undefined) return { pausePointId: id, decision: "reject", reply: errorText };
  return { pausePointId: id, decision: "approve", ...(output === undefined ? {} : { payloadOverride: output }) };
}

const refusal = ({ code = "rejected", message = "" }: CommandOutcome): ChatRefusal => ({ status: "rejected", code, message });

/** Whether a message is on the branch in use. */
function isOnBranch(journal: Journal, wanted: number): boolean {
  for (const position of branchUp(journal.read, journal.conversation().head)) {
    if (position <= wanted) return position === wanted;
  }
  return false;
}

/** The oldest of the agent's messages on the branch in use that is not before a position. */
function firstFrom(journal: Journal, position: number): { position: number; turn: number } | null {
  let first: { position: number; turn: number } | null = null;
  for (const at of branchUp(journal.read, journal.conversation().head)) {
    const message = agentMessage(journal, at);
    if (message && at < position) break;
    first = message ?? first;
  }
  return first;
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
