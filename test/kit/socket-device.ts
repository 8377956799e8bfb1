import { randomUUID } from "node:crypto";

const SEEN_MS = 1_000;
const SEEN_CHARS = 32 * 1024;
/** What is not seen in this time will not be seen. */
const PATIENCE_MS = 60_000;

type Look = (frame: string) => boolean;

/**
 * A device on a real socket, for hundreds of them in one process: it speaks the protocol, and looks at frames as text,
 * so that what is measured is the server and not this side's JSON.
 */
export class SocketDevice {
  /** Bytes received. */
  bytes = 0;
  closedWith: number | null = null;
  #seq = 0;
  #unseen = 0;
  #seen: ReturnType<typeof setTimeout> | null = null;
  readonly #watched = new Set<{ look: Look; found: (at: number) => void; lost: (error: Error) => void }>();
  readonly #socket: WebSocket;

  private constructor(address: string) {
    this.#socket = new WebSocket(address);
    this.#socket.addEventListener("message", ({ data }) => this.#take(String(data)));
    this.#socket.addEventListener("close", ({ code }) => this.#closed(code));
  }

  /** Connected, without a hello; at any address that speaks WebSocket. */
  static async open(address: string): Promise<SocketDevice> {
    const device = new SocketDevice(address.replace(/^http/, "ws"));
    await new Promise((resolve, reject) => {
      device.#socket.addEventListener("open", resolve);
      device.#socket.addEventListener("error", () => reject(new Error(`There is no socket at ${address}.`)));
    });
    return device;
  }

  /** A device of the person `you` on a conversation, after its welcome. */
  static async join(url: string, conversation: string, name: string): Promise<SocketDevice> {
    const device = await SocketDevice.open(`${url}/api/conversations/${conversation}/socket`);
    const welcome = device.see((frame) => frame.startsWith('{"type":"welcome"'));
    device.send({ type: "hello", protocol: 1, device: { id: name, name } });
    await welcome;
    return device;
  }

  send(frame: object): void {
    this.#socket.send(JSON.stringify(frame));
  }

  say(text: string): void {
    this.send({ type: "send", opId: randomUUID(), messageId: randomUUID(), text });
  }

  approve(pausePointId: string): void {
    this.send({ type: "decide", opId: randomUUID(), pausePointId, version: 1, decision: "approve" });
  }

  /** When a frame first looks so, from now on, by `performance.now()`. */
  see(look: Look): Promise<number> {
    return new Promise((resolve, reject) => {
      const watch = {
        look,
        found: (at: number): void => {
          clearTimeout(giveUp);
          this.#watched.delete(watch);
          resolve(at);
        },
        lost: (error: Error): void => {
          clearTimeout(giveUp);
          this.#watched.delete(watch);
          reject(error);
        },
      };
      const giveUp = setTimeout(() => watch.lost(new Error(`Nothing looked so in ${PATIENCE_MS / 1000} seconds: ${look}`)), PATIENCE_MS);
      this.#watched.add(watch);
      if (this.closedWith !== null) watch.lost(new Error(`The socket was closed with ${this.closedWith}.`));
    });
  }

  close(): void {
    if (this.#seen) clearTimeout(this.#seen);
    this.#socket.close();
  }

  #take(frame: string): void {
    const at = performance.now();
    this.bytes += Buffer.byteLength(frame);
    for (const watch of this.#watched) if (watch.look(frame)) watch.found(at);
    const seq = /^\{"type":"(?:change|welcome)".{0,100}?"seq":(\d+)/.exec(frame)?.[1];
    if (seq !== undefined) this.#seq = Number(seq);
    // The server counts what it has sent since the last one (S6); as in the web app, little is not spoken of.
    this.#unseen += frame.length;
    if (this.#seq > 0 && this.#unseen >= SEEN_CHARS) this.#seen ??= setTimeout(() => this.#acknowledge(), SEEN_MS);
  }

  #acknowledge(): void {
    this.#seen = null;
    this.#unseen = 0;
    if (this.closedWith === null) this.send({ type: "seen", n: 0, seq: this.#seq });
  }

  #closed(code: number): void {
    this.closedWith = code;
    if (this.#seen) clearTimeout(this.#seen);
    for (const watch of this.#watched) watch.lost(new Error(`The socket was closed with ${code}.`));
  }
}

/** When the last of them has seen it. */
export const allSee = async (devices: SocketDevice[], look: Look): Promise<number> => Math.max(...(await Promise.all(devices.map((device) => device.see(look)))));

export const isCard =
  (state: "pending" | "approved"): Look =>
  (frame) =>
    frame.startsWith('{"type":"change"') && frame.includes('"pausePoints":[') && frame.includes(`"state":"${state}"`);
export const isRun =
  (status: "suspended" | "completed"): Look =>
  (frame) =>
    frame.startsWith('{"type":"change"') && frame.includes(`"status":"${status}"`);
export const isAnswerTo =
  (turn: number): Look =>
  (frame) =>
    isRun("completed")(frame) && frame.includes(`"runId":"r${turn}"`);
