import { asPerson } from "./inputs.js";

type Frame = { type: string; opId?: string; requestId?: string; status?: string; code?: string };

/** Longest that an answer may be waited for, on a machine that has much else to do. */
const ANSWER_MS = 20_000;

/** A real socket of a person's: what came on it, and whether it is closed. */
export class Line {
  readonly frames: Frame[] = [];
  closed: number | null = null;
  #waiting: (() => void)[] = [];
  readonly #socket: WebSocket;

  constructor(url: string, path: string, person: string) {
    // Node's own WebSocket takes headers, which its types don't say.
    const Socket = WebSocket as unknown as new (url: string, options: { headers: Record<string, string> }) => WebSocket;
    this.#socket = new Socket(url.replace(/^http/, "ws") + path, { headers: asPerson(person) });
    this.#socket.addEventListener("message", ({ data }) => {
      this.frames.push(JSON.parse(String(data)) as Frame);
      this.#wake();
    });
    this.#socket.addEventListener("close", ({ code }) => {
      this.closed = code;
      this.#wake();
    });
    this.#socket.addEventListener("open", () => this.#wake());
  }

  /** Open; false when it was closed instead. */
  async open(): Promise<boolean> {
    await this.until(() => this.#socket.readyState === WebSocket.OPEN);
    return this.closed === null;
  }

  send(text: string): void {
    if (this.closed === null) this.#socket.send(text);
  }

  close(): void {
    this.#socket.close();
  }

  /** Waits until this holds, or the socket is closed. */
  async until(condition: () => boolean): Promise<void> {
    const late = setTimeout(() => this.#socket.close(4000, "no answer"), ANSWER_MS);
    while (!condition() && this.closed === null) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    clearTimeout(late);
    if (this.closed === 4000) throw new Error(`no answer in ${ANSWER_MS / 1000} seconds`);
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
