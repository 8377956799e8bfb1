import { loggable } from "../protocol/loggable.js";
import * as z from "zod";
import { chatRequestId, type ChatServerFrame } from "../protocol/chat-frames.js";
import { device } from "../protocol/entities.js";
import { parseUntrusted } from "../protocol/parse.js";
import { NOT_FOUND } from "../core/command.js";
import type { Journal } from "../core/journal.js";
import type { Changes } from "../core/transaction.js";
import { chatRequest, type Chat, type ChatAnswer, type ChatRefusal } from "./chat.js";
import { closeSocket } from "./close-socket.js";
import type { ChatSink, ChatStream, StreamStart } from "./chat-stream.js";

// Chat clients of the AI SDK that speak WebSocket. The Worker holds the client's socket, which may carry many
// chats, and for each of them one socket to its conversation: these. They hibernate, so a resume that is held
// until something happens costs nothing.

/** Tells these sockets from those of devices. */
export const CHAT_TAG = "chat";

/** What the Worker sends: a client's frame, read down to what is believed of it. */
const upstreamFrame = z.discriminatedUnion("type", [
  z.object({ type: z.literal("send"), requestId: chatRequestId, device, request: chatRequest }),
  z.object({ type: z.literal("resume"), requestId: chatRequestId }),
  z.object({ type: z.literal("abort"), requestId: chatRequestId }),
]);
export type UpstreamFrame = z.infer<typeof upstreamFrame>;

/** What the Worker gets. A refusal has no status here: the edge knows those. */
export type DownstreamFrame = Exclude<ChatServerFrame, { type: "error" }> | { type: "refused"; requestId: string; code: string; message: string };

/** Survives hibernation and deploys with the socket; read defensively, for an older release may have written it. */
const attachment = z.object({
  chatOf: z.string(),
  /** The resume that waits for something to happen. */
  held: chatRequestId.nullable().catch(null),
  /** The conversation's `seq` when a resume on this socket last ended. */
  shown: z.number().nullable().catch(null),
  /** Requests were being answered: their streams are in memory only, and die with it. */
  streaming: z.boolean().catch(true),
});
type Attachment = z.infer<typeof attachment>;

export class ChatSockets {
  readonly #streams = new WeakMap<WebSocket, Map<string, ChatStream>>();
  /** The `seq` at which an answer to this client last ended. */
  readonly #told = new WeakMap<WebSocket, number>();
  /** Whose request is being done right now. */
  #asking: WebSocket | null = null;

  constructor(
    private readonly ctx: DurableObjectState,
    private readonly journal: Journal,
    private readonly chat: Chat,
    private readonly mayRead: (person: string) => boolean,
  ) {
    // This object has lost its memory, and with it what came after the last frame: as after a lost connection, the client resumes.
    for (const socket of ctx.getWebSockets(CHAT_TAG)) if (this.#known(socket)?.streaming !== false) closeSocket(socket, 1012, "Connect again.");
  }

  /** Takes the socket of a person who may read the conversation. */
  accept(person: string): Response {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server, [CHAT_TAG]);
    server.serializeAttachment({ chatOf: person, held: null, shown: null, streaming: false } satisfies Attachment);
    return new Response(null, { status: 101, webSocket: client });
  }

  message(socket: WebSocket, data: string | ArrayBuffer): void {
    const known = this.#known(socket);
    const frame = upstreamFrame.safeParse(typeof data === "string" ? parseUntrusted(data)?.value : null);
    if (!known || !frame.success) return this.#fail(socket, "a frame of the Worker's could not be read");
    try {
      this.#handle(socket, known, frame.data);
    } catch (error) {
      this.#fail(socket, loggable(error));
    }
  }

  closed(socket: WebSocket): void {
    for (const stream of this.#streamsOf(socket).values()) stream.end();
    closeSocket(socket, 1000, "");
  }

  /** After a commit, and after the streams were told of it: resumes that were held get what happened. */
  changed(changes: Changes): void {
    for (const socket of this.ctx.getWebSockets(CHAT_TAG)) {
      const known = this.#known(socket);
      if (!known || known.held === null || socket.readyState !== WebSocket.OPEN) continue;
      try {
        // Who may not see the conversation any more hears nothing, as if there were nothing to hear.
        if (this.mayRead(known.chatOf) && this.#isSeen(changes) && !this.#hasIt(socket, changes)) this.#push(socket, known.chatOf, known.held, changes);
      } catch (error) {
        // It would wait for ever for what it was not told.
        this.#fail(socket, loggable(error));
      }
    }
  }

  #handle(socket: WebSocket, known: Attachment, frame: UpstreamFrame): void {
    if (frame.type === "abort") {
      if (known.held === frame.requestId) this.#update(socket, { held: null });
      return this.#streamsOf(socket).get(frame.requestId)?.end();
    }
    if (frame.type === "resume") {
      this.#free(socket, known);
      const start = this.mayRead(known.chatOf) ? this.chat.resumable(known.shown) : null;
      return start ? this.#replay(socket, known.chatOf, frame.requestId, start) : this.#update(socket, { held: frame.requestId });
    }
    const { requestId, request } = frame;
    this.#asking = socket;
    try {
      const answer: ChatAnswer = this.mayRead(known.chatOf) ? this.chat.take({ person: known.chatOf, device: frame.device, via: "socket" }, request) : NOT_FOUND;
      if ("status" in answer) return this.#send(socket, { type: "refused", requestId, code: answer.code, message: answer.message });
      this.#open(socket, known.chatOf, requestId, answer, false);
    } finally {
      this.#asking = null;
    }
  }

  /**
   * Whether a change is told by the answer to another request of this client. Its held resume is then kept: to end it
   * would show the client as ready in the middle of that answer, and to push would show everything twice.
   */
  #hasIt(socket: WebSocket, { seq }: Changes): boolean {
    if (this.#asking === socket || this.#streamsOf(socket).size > 0) return true;
    return (this.#told.get(socket) ?? 0) >= seq && this.journal.liveRun()?.status !== "running";
  }

  /** Whether a client that shows assistant messages can see it: not a new title, nor a text that only waits. */
  #isSeen({ run, pausePoints, steps }: Changes): boolean {
    return run !== null || pausePoints.size > 0 || positionsOf(steps).some((position) => this.journal.read.message(position)[0]?.role === "assistant");
  }

  #push(socket: WebSocket, person: string, requestId: string, changes: Changes): void {
    const start = this.chat.replay(Math.min(...positionsOf(changes.steps)));
    if (!start) return;
    this.#update(socket, { held: null });
    this.#replay(socket, person, requestId, start);
  }

  #replay(socket: WebSocket, person: string, requestId: string, start: StreamStart): void {
    this.#send(socket, { type: "start", requestId });
    this.#open(socket, person, requestId, { start }, true);
  }

  #open(socket: WebSocket, person: string, requestId: string, answer: Exclude<ChatAnswer, ChatRefusal>, resumed: boolean): void {
    const streams = this.#streamsOf(socket);
    let sequence = 0;
    const sink: ChatSink = {
      chunk: (chunk) => {
        this.#send(socket, { type: "chunk", requestId, sequence, chunk });
        sequence += 1;
      },
      end: (whole) => {
        streams.delete(requestId);
        const { seq } = this.journal.conversation();
        this.#told.set(socket, seq);
        this.#send(socket, { type: "end", requestId });
        // Another page on this socket may be further behind than the one that sent, so only a resume counts.
        this.#update(socket, { streaming: streams.size > 0, ...(whole && resumed ? { shown: seq } : {}) });
      },
    };
    const stream = this.chat.open(person, answer, sink);
    if (!stream) return;
    streams.set(requestId, stream);
    this.#update(socket, { streaming: true });
  }

  /** A resume without news ends as one that found nothing. */
  #free(socket: WebSocket, { held }: Attachment): void {
    if (held === null) return;
    this.#update(socket, { held: null });
    this.#send(socket, { type: "no-active", requestId: held });
  }

  #fail(socket: WebSocket, error: string): void {
    console.error(JSON.stringify({ event: "chat_socket.failed", conversation: this.ctx.id.name ?? null, error }));
    closeSocket(socket, 1011, "Something went wrong here. Connect again.");
    for (const stream of this.#streamsOf(socket).values()) stream.end();
  }

  #known(socket: WebSocket): Attachment | null {
    return attachment.safeParse(socket.deserializeAttachment()).data ?? null;
  }

  #update(socket: WebSocket, patch: Partial<Attachment>): void {
    const known = this.#known(socket);
    if (known) socket.serializeAttachment({ ...known, ...patch } satisfies Attachment);
  }

  #streamsOf(socket: WebSocket): Map<string, ChatStream> {
    let streams = this.#streams.get(socket);
    if (!streams) this.#streams.set(socket, (streams = new Map()));
    return streams;
  }

  #send(socket: WebSocket, frame: DownstreamFrame): void {
    if (socket.readyState !== WebSocket.OPEN) return;
    try {
      socket.send(JSON.stringify(frame));
    } catch {
      // It went away in this very turn; its close event follows.
    }
  }
}

const positionsOf = (steps: Set<string>): number[] => [...steps].map((key) => Number(key.split(":")[0]));
