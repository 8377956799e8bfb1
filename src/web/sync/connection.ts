import type { ClientFrame, ServerFrame } from "../../protocol/frames.js";
import { mayRetry, retryDelay, type RetryCause } from "./backoff.js";

const PING_MS = 25_000;
const SEEN_MS = 1_000;
/** Nothing is said of less: each `seen` wakes the object, and it counts to 256 KiB (S6). A character has at most three bytes. */
const SEEN_CHARS = 32 * 1024;
/** Silence after a hello or a ping that means the socket is dead, though it looks open. */
const SILENCE_MS = 15_000;

export type ConnectionStatus = "connecting" | "live" | "reconnecting" | "offline" | "refused";

/** What is used of a `WebSocket`. */
export interface SocketLike {
  send(data: string): void;
  close(code?: number): void;
  onopen: (() => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number }) => void) | null;
}

/** The page around the socket: whether it has a network and is looked at, and when that changes. */
export interface Environment {
  online(): boolean;
  visible(): boolean;
  onChange(listener: (what: "online" | "offline" | "shown" | "hidden") => void): () => void;
}

export interface ConnectionOptions {
  open(): SocketLike;
  environment: Environment;
  hello(): ClientFrame;
  seen(): { n: number; seq: number };
  /** Every server frame, in order. */
  onFrame(frame: ServerFrame): void;
  /** After the welcome of a new socket: the moment to send again what was not acknowledged. */
  onLive(): void;
  onStatus(status: ConnectionStatus, closeCode: number): void;
  random?: () => number;
}

/** One socket at a time, opened again by the rules of S7 for as long as that can help. */
export class Connection {
  #socket: SocketLike | null = null;
  #live = false;
  #helloSent = false;
  #failures = 0;
  #stopped = true;
  #refused = false;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #pingTimer: ReturnType<typeof setTimeout> | undefined;
  #silenceTimer: ReturnType<typeof setTimeout> | undefined;
  #seenTimer: ReturnType<typeof setTimeout> | undefined;
  /** Characters that came since the last `seen`. */
  #unseen = 0;
  #stopListening: (() => void) | undefined;

  constructor(private readonly options: ConnectionOptions) {}

  start(): void {
    if (!this.#stopped) return;
    this.#stopped = false;
    this.#stopListening = this.options.environment.onChange((what) => this.#environmentChanged(what));
    this.#open("connecting");
  }

  stop(): void {
    this.#stopped = true;
    this.#stopListening?.();
    clearTimeout(this.#retryTimer);
    this.#drop(1000);
  }

  /** Sends a frame if the socket is live; false when it is not. */
  send(frame: ClientFrame): boolean {
    if (!this.#live) return false;
    this.#transmit(frame);
    return true;
  }

  /** Says hello again on the same socket; once, until the welcome to it. */
  resync(): void {
    if (this.#socket && !this.#helloSent) this.#hello();
  }

  /** Tries at once, because a person asked for it. */
  reconnectNow(): void {
    if (this.#stopped || this.#socket) return;
    clearTimeout(this.#retryTimer);
    this.#open("reconnecting");
  }

  #open(status: ConnectionStatus): void {
    this.options.onStatus(this.options.environment.online() ? status : "offline", 0);
    const socket = this.options.open();
    this.#socket = socket;
    socket.onopen = () => this.#hello();
    socket.onmessage = ({ data }) => this.#received(data);
    socket.onclose = ({ code }) => this.#closed(socket, code);
    this.#expectFrame();
  }

  #hello(): void {
    this.#helloSent = true;
    this.#transmit(this.options.hello());
    this.#expectFrame();
  }

  #received(data: unknown): void {
    if (typeof data !== "string") return;
    clearTimeout(this.#silenceTimer);
    const frame = JSON.parse(data) as ServerFrame;
    if (frame.type === "welcome") this.#helloSent = false;
    this.options.onFrame(frame);
    if (frame.type === "welcome" && !this.#live) {
      this.#live = true;
      this.#failures = 0;
      this.options.onStatus("live", 0);
      this.options.onLive();
      this.#schedulePing();
    }
    this.#unseen += data.length;
    if (this.#unseen >= SEEN_CHARS) this.#scheduleSeen();
  }

  #closed(socket: SocketLike, code: number): void {
    if (this.#socket !== socket) return;
    this.#forget();
    if (this.#stopped) return;
    this.#retry("closed", code);
  }

  #retry(cause: RetryCause, code: number): void {
    clearTimeout(this.#retryTimer);
    const { environment, onStatus } = this.options;
    if (!mayRetry(code)) {
      this.#refused = true;
      onStatus("refused", code);
      return;
    }
    const delay = retryDelay(cause, this.#failures, code, (this.options.random ?? Math.random)()) ?? 0;
    if (cause === "closed") this.#failures += 1;
    onStatus(environment.online() ? "reconnecting" : "offline", code);
    this.#retryTimer = setTimeout(() => this.#open("reconnecting"), environment.online() ? delay : 30_000);
  }

  #environmentChanged(what: "online" | "offline" | "shown" | "hidden"): void {
    if (this.#refused) return;
    switch (what) {
      case "offline":
        this.#drop(1000);
        this.#retry("closed", 1006);
        return;
      case "online":
        this.#drop(1000);
        this.#retry("own", 1006);
        return;
      case "shown":
        if (this.#live) this.#ping();
        else if (!this.#socket) this.#retry("own", 1006);
        return;
      case "hidden":
        clearTimeout(this.#pingTimer);
    }
  }

  #schedulePing(): void {
    clearTimeout(this.#pingTimer);
    if (this.options.environment.visible()) this.#pingTimer = setTimeout(() => this.#ping(), PING_MS);
  }

  #ping(): void {
    if (!this.#live) return;
    this.#transmit({ type: "ping" });
    this.#expectFrame();
    this.#schedulePing();
  }

  // A laptop that slept, a network that changed: the socket looks open and will never speak again.
  #expectFrame(): void {
    clearTimeout(this.#silenceTimer);
    this.#silenceTimer = setTimeout(() => {
      this.#drop(1000);
      if (!this.#stopped) this.#retry("closed", 1006);
    }, SILENCE_MS);
  }

  // The object counts what it sent to each socket since its last `seen` (S6).
  #scheduleSeen(): void {
    this.#seenTimer ??= setTimeout(() => {
      this.#seenTimer = undefined;
      this.#unseen = 0;
      this.send({ type: "seen", ...this.options.seen() });
    }, SEEN_MS);
  }

  #transmit(frame: ClientFrame): void {
    this.#socket?.send(JSON.stringify(frame));
  }

  #drop(code: number): void {
    const socket = this.#socket;
    this.#forget();
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close(code);
  }

  #forget(): void {
    this.#socket = null;
    this.#live = false;
    this.#helloSent = false;
    clearTimeout(this.#pingTimer);
    clearTimeout(this.#silenceTimer);
    clearTimeout(this.#seenTimer);
    this.#seenTimer = undefined;
    this.#unseen = 0;
  }
}
