import { loggable } from "../protocol/loggable.js";
import * as z from "zod";
import { CLIENT_FRAME_BYTES, CLOSE, clientFrame, PROTOCOL, type Ack, type ClientFrame, type LiveAttempt, type ServerFrame } from "../protocol/frames.js";
import type { Device, Presence } from "../protocol/entities.js";
import { byteLength } from "../protocol/json.js";
import { parseUntrusted } from "../protocol/parse.js";
import { NOT_FOUND } from "../core/command.js";
import type { Journal } from "../core/journal.js";
import { mergeChanges, type Changes } from "../core/transaction.js";
import { positionOf } from "../core/ids.js";
import type { Actor } from "../core/ports.js";
import { closeSocket } from "./close-socket.js";
import { Flows, type Attachment } from "./flows.js";
import { changeFrames, encode, page, welcome } from "./snapshot.js";

/** Sent and not yet acknowledged by `seen`: over the first no more deltas, over the second the socket is closed (S6). */
const NO_DELTAS_BYTES = 256 * 1024;
const CLOSE_BYTES = 4 * 1024 * 1024;
const PRESENT_MS = 60_000;
const PRESENCE_EVERY_MS = 1000;

export interface Commands {
  send(actor: Actor, frame: ClientFrame & { type: "send" }): Ack;
  decide(actor: Actor, frame: ClientFrame & { type: "decide" }): Ack;
  cancel(actor: Actor, frame: ClientFrame & { type: "cancel" }): Ack;
  regenerate(actor: Actor, frame: ClientFrame & { type: "regenerate" }): Ack;
  head(actor: Actor, frame: ClientFrame & { type: "head" }): Ack;
  live(): LiveAttempt[] | null;
  /** Somebody could not be told of what has happened. */
  untold(error: unknown): void;
}

/** The devices that are connected: who they are, what they have been sent, and what they ask for. */
export class Sockets {
  readonly #flows: Flows;
  /** What has been committed in this turn and not been told yet. */
  #changes: Changes | null = null;
  #presenceAt = 0;
  /** What every device has been told of who is here; null when one may have been told otherwise. */
  #presenceTold: string | null = null;
  #presenceTimer: ReturnType<typeof setTimeout> | null = null;

  constructor(
    private readonly ctx: DurableObjectState,
    private readonly journal: Journal,
    private readonly commands: Commands,
  ) {
    this.#flows = new Flows(() => journal.now());
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('{"type":"ping"}', '{"type":"pong"}'));
  }

  /** Takes a person's socket; one that may not see the conversation is told why and closed. */
  accept(person: string): Response {
    if (!this.#role(person)) return this.refuse();
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    this.#flows.attach(server, { person, device: null, at: this.journal.now() });
    return new Response(null, { status: 101, webSocket: client });
  }

  /** For a conversation that there isn't: nothing is kept, the reason is in the close code. */
  refuse(): Response {
    const { 0: client, 1: server } = new WebSocketPair();
    server.accept();
    server.close(CLOSE.notFound, NOT_FOUND.message);
    return new Response(null, { status: 101, webSocket: client });
  }

  message(socket: WebSocket, data: string | ArrayBuffer): void {
    const flow = this.#flows.of(socket);
    flow.heardAt = this.journal.now();
    if (!flow.frames.take(flow.heardAt)) return closeSocket(socket, CLOSE.tooMuch, "Too many frames. Wait, then connect again.");
    if (typeof data !== "string") return closeSocket(socket, CLOSE.malformed, "Frames are JSON text.");
    if (byteLength(data) > CLIENT_FRAME_BYTES) return closeSocket(socket, CLOSE.malformed, `A frame has at most ${CLIENT_FRAME_BYTES} bytes.`);
    const json = parseUntrusted(data);
    const frame = json ? clientFrame.safeParse(json.value) : null;
    if (!frame) return this.#send(socket, { type: "error", code: "malformed", message: "The frame is not JSON, or nests too deep." });
    if (!frame.success) return this.#refuse(socket, json?.value, z.prettifyError(frame.error));
    try {
      this.#handle(socket, frame.data);
    } catch (error) {
      // The runtime leaves the socket open, and the device would wait for its answer for ever. Closed, it comes back and asks again (S5).
      console.error(JSON.stringify({ event: "socket.failed", conversation: this.ctx.id.name ?? null, error: loggable(error) }));
      closeSocket(socket, 1011, "Something went wrong here. Connect again.");
    }
  }

  closed(socket: WebSocket): void {
    closeSocket(socket, 1000, "");
    this.presence();
  }

  /** After a commit: what changed, to everyone (H1). Commits of one turn, as a decision and the start of its call, are told in one frame. */
  changed(changes: Changes): void {
    if (this.#changes) return mergeChanges(this.#changes, changes);
    this.#changes = changes;
    queueMicrotask(() => this.#tell());
  }

  /** Tells what has been committed; to be called before anything else is sent, for that comes after it. */
  #tell(): void {
    const changes = this.#changes;
    this.#changes = null;
    if (!changes) return;
    try {
      this.#tellOf(changes);
    } catch (error) {
      // A device would miss what it was not told for ever: it says hello again.
      this.drop();
      this.commands.untold(error);
    }
  }

  #tellOf(changes: Changes): void {
    const sockets = this.#live();
    if (sockets.length === 0) return;
    for (const frame of changeFrames(this.journal, changes)) this.#broadcast(sockets, encode(frame));
    if (this.journal.conversation().deletedAt !== null) return this.#closeAll(CLOSE.notFound, "The conversation was deleted.");
    const gone = new Set([...new Set(sockets.map((socket) => this.#flows.of(socket).known?.person))].filter((person) => !this.#role(person)));
    for (const socket of sockets) if (gone.has(this.#flows.of(socket).known?.person)) closeSocket(socket, CLOSE.notAllowed, "You are no longer a member of this conversation.");
    if (this.journal.liveRun()) this.presence();
  }

  /** Closes every socket, so that each device comes back and says what it has. */
  drop(): void {
    this.#closeAll(1011, "Something went wrong here. Connect again.");
  }

  /** A flush of the step being streamed, to those who keep up (S4, S6). */
  delta(flush: LiveAttempt): void {
    this.#tell();
    const sockets = this.#live();
    if (sockets.length === 0) return;
    const text = encode({ type: "delta", ...flush });
    for (const socket of sockets) {
      const flow = this.#flows.of(socket);
      if (flow.unseen > NO_DELTAS_BYTES) flow.lagging = true;
      if (!flow.lagging) this.#sendText(socket, text);
    }
  }

  /** Who is here, to everyone, when it is not what they know; at most once a second (S9). */
  presence(): void {
    const wait = this.#presenceAt + PRESENCE_EVERY_MS - this.journal.now();
    if (wait > 0) {
      this.#presenceTimer ??= setTimeout(() => this.#sendPresence(), Math.min(wait, PRESENCE_EVERY_MS));
      return;
    }
    this.#sendPresence();
  }

  #closeAll(code: number, reason: string): void {
    // Those of chat clients have a tag, and their own part looks after them.
    for (const socket of this.ctx.getWebSockets()) if (this.ctx.getTags(socket).length === 0) closeSocket(socket, code, reason);
  }

  #sendPresence(): void {
    this.#tell();
    if (this.#presenceTimer) clearTimeout(this.#presenceTimer);
    this.#presenceTimer = null;
    this.#presenceAt = this.journal.now();
    const text = encode({ type: "presence", devices: this.#devices() });
    if (text === this.#presenceTold) return;
    this.#presenceTold = text;
    this.#broadcast(this.#live(), text);
  }

  #handle(socket: WebSocket, frame: ClientFrame): void {
    const { known } = this.#flows.of(socket);
    if (!known) return closeSocket(socket, CLOSE.malformed, "This connection is not known any more. Connect again.");
    if (frame.type === "hello") return this.#hello(socket, known, frame);
    if (frame.type === "ping") return this.#send(socket, { type: "pong" });
    if (!known.device) return this.#send(socket, { type: "error", code: "hello_first", message: "Say hello before anything else." });
    const actor: Actor = { person: known.person, device: known.device, via: "socket" };
    switch (frame.type) {
      case "seen":
        return this.#seen(socket, frame);
      case "older":
        return this.#older(socket, frame);
      case "send":
        return this.#send(socket, this.commands.send(actor, frame));
      case "decide":
        return this.#send(socket, this.commands.decide(actor, frame));
      case "cancel":
        return this.#send(socket, this.commands.cancel(actor, frame));
      case "regenerate":
        return this.#send(socket, this.commands.regenerate(actor, frame));
      case "head":
        return this.#send(socket, this.commands.head(actor, frame));
    }
  }

  /** S1: built and sent in one turn, so nothing falls between the welcome and what follows it. */
  #hello(socket: WebSocket, known: Attachment, frame: ClientFrame & { type: "hello" }): void {
    if (frame.protocol !== PROTOCOL) return closeSocket(socket, CLOSE.unknownProtocol, `This server speaks protocol ${PROTOCOL}. Reload the page.`);
    const role = this.#role(known.person);
    if (!role) return closeSocket(socket, CLOSE.notFound, NOT_FOUND.message);
    const joined = known.device === null;
    this.#tell();
    // Flushes what is pending to the others. This device must not get it before the welcome that contains it.
    const pieces = this.commands.live();
    this.#flows.attach(socket, { ...known, device: frame.device, at: this.journal.now() });
    const flow = this.#flows.of(socket);
    flow.unseen = 0;
    flow.lagging = false;
    // A chunk that can't be split (a whole tool input) may be too large to share a frame with the welcome: it follows then.
    const first = pieces?.[0] ?? null;
    const apart = first !== null && byteLength(JSON.stringify(first)) > 192 * 1024;
    const live = apart ? { ...first, n: first.n - 1, chunks: [] } : first;
    const devices = this.#devices();
    // This device is told another list than the others were: whatever comes next is sent to all.
    if (encode({ type: "presence", devices }) !== this.#presenceTold) this.#presenceTold = null;
    this.#send(socket, welcome(this.journal, frame, { person: known.person, role }, devices, live));
    for (const piece of pieces?.slice(apart ? 0 : 1) ?? []) this.#send(socket, { type: "delta", ...piece });
    if (joined) this.presence();
  }

  #seen(socket: WebSocket, frame: ClientFrame & { type: "seen" }): void {
    // It has read what was sent. If it missed deltas, the next one shows it the gap and it says hello (S3).
    if (frame.seq > this.journal.conversation().seq) return;
    const flow = this.#flows.of(socket);
    flow.lagging = false;
    flow.unseen = 0;
  }

  #older(socket: WebSocket, frame: ClientFrame & { type: "older" }): void {
    const position = this.#positionOf(frame.before);
    if (position === null) return this.#send(socket, { type: "ack", opId: frame.opId, status: "rejected", code: "not_found", message: "There is no such message." });
    this.#send(socket, { type: "page", opId: frame.opId, ...page(this.journal, position) });
  }

  #positionOf(messageId: string): number | null {
    return positionOf(messageId) || (this.journal.read.userStep(messageId)?.position ?? null);
  }

  /** A frame that can't be read: refused by its opId if it has one, so that a client's command never waits for ever. */
  #refuse(socket: WebSocket, value: unknown, message: string): void {
    const named = z.object({ opId: z.string().min(1).max(128) }).safeParse(value);
    const detail = message.slice(0, 500);
    this.#send(
      socket,
      named.success ? { type: "ack", opId: named.data.opId, status: "rejected", code: "malformed", message: detail } : { type: "error", code: "malformed", message: detail },
    );
  }

  #role(person: string | undefined) {
    const open = this.journal.read.get("conversation")?.deletedAt === null;
    const row = open && person !== undefined ? this.journal.read.get("members", person) : null;
    return row && !row.removed ? row.role : null;
  }

  #devices(): Presence[] {
    const now = this.journal.now();
    const present = new Map<string, Presence>();
    for (const socket of this.ctx.getWebSockets()) {
      const { known, heardAt } = this.#flows.of(socket);
      if (!known?.device || socket.readyState !== WebSocket.OPEN) continue;
      const heard = Math.max(known.at, heardAt, this.ctx.getWebSocketAutoResponseTimestamp(socket)?.getTime() ?? 0);
      if (now - heard <= PRESENT_MS) present.set(`${known.person} ${known.device.id}`, { person: known.person, device: known.device satisfies Device });
    }
    return [...present.values()];
  }

  /** Sockets that have said hello and are open. */
  #live(): WebSocket[] {
    return this.ctx.getWebSockets().filter((socket) => socket.readyState === WebSocket.OPEN && this.#flows.of(socket).known?.device);
  }

  #broadcast(sockets: WebSocket[], text: string): void {
    const bytes = byteLength(text);
    for (const socket of sockets) this.#sendText(socket, text, bytes);
  }

  #send(socket: WebSocket, frame: ServerFrame): void {
    this.#tell();
    this.#sendText(socket, encode(frame));
  }

  #sendText(socket: WebSocket, text: string, bytes = byteLength(text)): void {
    if (socket.readyState !== WebSocket.OPEN) return;
    const flow = this.#flows.of(socket);
    flow.unseen += bytes;
    if (flow.unseen > CLOSE_BYTES) return closeSocket(socket, CLOSE.tooMuch, "This device does not keep up. Connect again.");
    try {
      socket.send(text);
    } catch {
      // It went away in this very turn; its close event follows.
    }
  }
}
