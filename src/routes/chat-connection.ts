import { loggable } from "../protocol/loggable.js";
import * as z from "zod";
import { bearer } from "../auth/local.js";
import { closeSocket } from "../conversation/close-socket.js";
import type { DownstreamFrame, UpstreamFrame } from "../conversation/chat-sockets.js";
import { Allowance } from "../core/allowance.js";
import type { Actor } from "../core/ports.js";
import { CHAT_FRAME_BYTES, chatClientFrame, type ChatClientFrame, type ChatServerFrame } from "../protocol/chat-frames.js";
import { device } from "../protocol/entities.js";
import { CLOSE } from "../protocol/frames.js";
import { byteLength } from "../protocol/json.js";
import { parseUntrusted } from "../protocol/parse.js";
import type { Env } from "../settings.js";
import { DEFAULT_SKILL } from "../skills/index.js";
import { chatBody, conversationIdOf, readChat } from "./chat.js";
import { asActor, objectOf } from "./conversations.js";
import { problem, refused } from "./problem.js";

const along = z.record(z.string(), z.unknown()).catch({});

export interface ConnectionLimits {
  chats: number;
  requests: number;
  /** With no request in progress for so long it is closed: a browser leaves a socket open that its transport gave up on. */
  idleMs: number;
  /**
   * Bytes sent on one connection. Nothing tells what a client has read, so what may pile up for one that does not
   * is bounded by their sum: past the first it is closed once no request is in progress for `quietMs`, past the second
   * at once. A stock client opens another with its next request; right after an answer it may be sending that already.
   */
  quietBytes: number;
  quietMs: number;
  mostBytes: number;
  /** Frames that may come at once, and each second after; one more counts for each 64 KiB. */
  burst: number;
  perSecond: number;
}
const MIB = 1024 * 1024;
export const CONNECTION_LIMITS: ConnectionLimits = {
  chats: 50,
  requests: 100,
  idleMs: 600_000,
  quietBytes: 16 * MIB,
  quietMs: 5000,
  mostBytes: 32 * MIB,
  burst: 200,
  perSecond: 50,
};

/** One chat of a client, and the socket to its conversation. */
interface Chat {
  id: string;
  socket: WebSocket | null;
  requests: Set<string>;
  /** A resume that came before there was a conversation, or for one that is not this person's to see. */
  waiting: string | null;
  /** Its frames are handled one after the other. */
  tail: Promise<void>;
}

type Asking = Exclude<ChatClientFrame, { type: "abort" }>;

/**
 * One socket of an AI SDK `WebSocketChatTransport`. It carries several chats, whose ids come in the frames, so it
 * ends here in the Worker: each frame is read as the HTTP route reads a body and goes on to its conversation.
 * Nothing is kept here that a lost connection would lose.
 */
export class ChatConnection {
  readonly #chats = new Map<string, Chat>();
  /** The chat of each request in progress. */
  readonly #requests = new Map<string, Chat>();
  #closed = false;
  #sent = 0;
  #idle: ReturnType<typeof setTimeout> | null = null;
  readonly #frames: Allowance;

  /** `client` is the server's end of the pair. `actor` was verified at the handshake, and is whom all its frames come from. */
  constructor(
    private readonly client: WebSocket,
    private readonly env: Env,
    private readonly actor: Actor,
    private readonly limits: ConnectionLimits = CONNECTION_LIMITS,
  ) {
    this.#frames = new Allowance(limits.burst, limits.perSecond, Date.now());
    client.accept();
    client.addEventListener("message", ({ data }) => this.#take(data));
    for (const event of ["close", "error"] as const) client.addEventListener(event, () => this.#close(1000, ""));
    this.#rest();
  }

  #take(data: unknown): void {
    if (this.#closed) return;
    if (typeof data !== "string") return this.#close(CLOSE.malformed, "Frames are JSON text.");
    const bytes = byteLength(data);
    if (!this.#frames.take(Date.now(), 1 + Math.floor(bytes / 65_536))) return this.#close(CLOSE.tooMuch, "Too many frames. Wait, then connect again.");
    if (bytes > CHAT_FRAME_BYTES) return this.#close(CLOSE.malformed, `A frame has at most ${CHAT_FRAME_BYTES} bytes.`);
    const frame = chatClientFrame.safeParse(parseUntrusted(data)?.value);
    // No request is named that could be answered with an error.
    if (!frame.success) return this.#close(CLOSE.malformed, "The frame is not one of WebSocketChatTransport's.");
    if (frame.data.type === "abort") return this.#abort(frame.data.requestId);
    this.#ask(frame.data);
  }

  #ask(frame: Asking): void {
    const { requestId } = frame;
    if (this.#requests.has(requestId)) return this.#close(CLOSE.malformed, "A request's id is used for one request.");
    const chat = this.#requests.size < this.limits.requests ? this.#chat(frame.id) : null;
    if (!chat) return this.#refuse(requestId, problem(429, "too_many_requests", "Too many chats or requests on one socket. Wait until some have ended."));
    this.#requests.set(requestId, chat);
    chat.requests.add(requestId);
    if (this.#idle) clearTimeout(this.#idle);
    const read = this.#read(frame);
    if ("refusal" in read) return this.#refuse(requestId, read.refusal);
    this.#queue(chat, requestId, () => this.#forward(chat, read.message));
  }

  /** What is believed of a frame. Its history is not, and is let go of here, before anything is waited for. */
  #read(frame: Asking): { message: Exclude<UpstreamFrame, { type: "abort" }> } | { refusal: Response } {
    const { requestId, headers } = frame;
    const stranger = this.#notTheCaller(headers);
    if (stranger) return { refusal: stranger };
    if (frame.type === "resume") return { message: { type: "resume", requestId } };
    // What an app sends along is merged into the body over HTTP, and stands apart here.
    const body = chatBody.safeParse({ ...along.parse(frame["body"]), ...frame });
    if (!body.success) return { refusal: problem(400, "malformed", z.prettifyError(body.error).slice(0, 1000)) };
    const read = readChat(body.data);
    return "refusal" in read ? read : { message: { type: "send", requestId, device: this.#device(headers), request: read.request } };
  }

  /** Ends the frames of one request. It cancels nothing: a page that goes away sends it too. */
  #abort(requestId: string): void {
    const chat = this.#requests.get(requestId);
    if (!chat) return;
    this.#done(requestId);
    this.#queue(chat, requestId, () => Promise.resolve(chat.socket && send(chat.socket, { type: "abort", requestId })));
  }

  async #forward(chat: Chat, message: Exclude<UpstreamFrame, { type: "abort" }>): Promise<void> {
    const { requestId } = message;
    const id = await conversationIdOf(this.actor.person, chat.id);
    // An id of the caller's own choosing makes its conversation on first use; one of ours must exist.
    if (id !== chat.id && message.type === "send" && message.request.kind !== "answers") await objectOf(this.env, id).create(this.actor.person, { id, skill: DEFAULT_SKILL });
    const refusal = chat.socket ? null : await this.#connect(chat, id);
    if (refusal === null && chat.socket) {
      if (chat.waiting !== null && this.#requests.has(chat.waiting)) send(chat.socket, { type: "resume", requestId: chat.waiting });
      chat.waiting = null;
      return send(chat.socket, message);
    }
    if (message.type === "send") return this.#refuse(requestId, refused(refusal ?? {}));
    // An error would turn a new chat red, and a client that listens whenever it is at rest would ask again at once: it waits here.
    if (chat.waiting !== null && this.#requests.has(chat.waiting)) this.#answer({ type: "no-active", requestId: chat.waiting });
    chat.waiting = requestId;
  }

  async #connect(chat: Chat, id: string): Promise<{ code?: string; message?: string } | null> {
    const response = await objectOf(this.env, id).fetch(new Request("https://object/chat-socket", { headers: { upgrade: "websocket", ...asActor(this.actor) } }));
    const socket = response.webSocket;
    if (!socket) return response.json();
    socket.accept();
    if (this.#closed) {
      closeSocket(socket, 1000, "");
      return null;
    }
    chat.socket = socket;
    socket.addEventListener("message", ({ data }) => this.#pass(String(data)));
    for (const event of ["close", "error"] as const) socket.addEventListener(event, () => this.#lost(chat, socket));
    return null;
  }

  /** A frame of a conversation's. Chunks are the many, and go on unread. */
  #pass(text: string): void {
    if (text.startsWith('{"type":"chunk"')) return this.#send(text);
    const frame = JSON.parse(text) as DownstreamFrame;
    if (!this.#requests.has(frame.requestId)) return;
    if (frame.type === "refused") return this.#refuse(frame.requestId, refused(frame));
    if (frame.type === "end" || frame.type === "no-active") return this.#answer(frame);
    this.#send(text);
  }

  /** An object that was reset or deployed anew: whoever waits for it sees a lost connection, not silence. */
  #lost(chat: Chat, socket: WebSocket): void {
    if (chat.socket !== socket) return;
    chat.socket = null;
    closeSocket(socket, 1000, "");
    if (chat.requests.size > 0) this.#close(1012, "A conversation's connection was lost. Connect again.");
  }

  #chat(id: string): Chat | null {
    const known = this.#chats.get(id);
    if (known) return known;
    if (this.#chats.size >= this.limits.chats) {
      const unused = [...this.#chats.values()].find((chat) => chat.requests.size === 0);
      if (!unused) return null;
      this.#chats.delete(unused.id);
      this.#queue(unused, null, () => Promise.resolve(unused.socket && this.#leave(unused)));
    }
    const chat: Chat = { id, socket: null, requests: new Set(), waiting: null, tail: Promise.resolve() };
    this.#chats.set(id, chat);
    return chat;
  }

  #leave(chat: Chat): void {
    const { socket } = chat;
    chat.socket = null;
    if (socket) closeSocket(socket, 1000, "");
  }

  #queue(chat: Chat, requestId: string | null, work: () => Promise<unknown>): void {
    chat.tail = chat.tail
      .then(() => (this.#closed ? undefined : work()))
      .then(
        () => {},
        (error: unknown) => {
          console.error(JSON.stringify({ event: "chat_socket.failed", error: loggable(error) }));
          if (requestId !== null)
            this.#refuse(requestId, problem(500, "internal", "Something went wrong here, and it has been logged. What you sent may not have been done: look, then try again."));
        },
      );
  }

  #refuse(requestId: string, refusal: Response): void {
    // Not waited for: the text of a response made here is there at once.
    void refusal.text().then((errorText) => this.#answer({ type: "error", requestId, errorText }));
  }

  /** The last frame of a request. */
  #answer(frame: ChatServerFrame): void {
    this.#send(JSON.stringify(frame));
    this.#done(frame.requestId);
  }

  #done(requestId: string): void {
    this.#requests.get(requestId)?.requests.delete(requestId);
    this.#requests.delete(requestId);
    this.#rest();
  }

  #rest(): void {
    if (this.#idle) clearTimeout(this.#idle);
    if (this.#requests.size > 0 || this.#closed) return;
    const wait = this.#sent > this.limits.quietBytes ? this.limits.quietMs : this.limits.idleMs;
    this.#idle = setTimeout(() => this.#close(1000, "Nothing was asked for a while."), wait);
  }

  #send(text: string): void {
    if (this.#closed) return;
    this.#sent += byteLength(text);
    if (this.#sent > this.limits.mostBytes) return this.#close(CLOSE.tooMuch, "Much was sent on this connection. Connect again.");
    try {
      this.client.send(text);
    } catch {
      this.#close(1000, "");
    }
  }

  #close(code: number, reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#idle) clearTimeout(this.#idle);
    for (const chat of this.#chats.values()) this.#leave(chat);
    closeSocket(this.client, code, reason);
  }

  /** Headers of a frame are words of the client's. They may not name another person than the handshake did. */
  #notTheCaller({ authorization }: Record<string, string>): Response | null {
    if (authorization === undefined || authorization === bearer(this.actor.person)) return null;
    return problem(403, "other_person", `This socket was opened as "${this.actor.person}". Sign in first, with the cookie or in the handshake's own headers.`);
  }

  #device(headers: Record<string, string>): Actor["device"] {
    const id = headers["x-device-id"];
    return device.safeParse({ id, name: headers["x-device-name"] ?? id }).data ?? this.actor.device;
  }
}

const send = (socket: WebSocket, frame: UpstreamFrame): void => socket.send(JSON.stringify(frame));
