import { SELF } from "cloudflare:test";
import { BASE } from "./kit.js";

// The frames of WebSocketChatTransport, sent and read one by one, for what a stock client can't be made to do.

export interface Frame {
  type: "start" | "chunk" | "end" | "no-active" | "error";
  requestId: string;
  sequence?: number;
  chunk?: { type: string; [field: string]: unknown };
  errorText?: string;
}

export class Frames {
  readonly frames: Frame[] = [];
  closedWith: number | null = null;
  #waiting: (() => void)[] = [];

  constructor(readonly socket: WebSocket) {
    socket.accept();
    socket.addEventListener("message", ({ data }) => {
      this.frames.push(JSON.parse(data as string));
      this.#woken();
    });
    socket.addEventListener("close", ({ code }) => {
      this.closedWith = code;
      this.#woken();
    });
  }

  static async open(person: string, headers: Record<string, string> = {}): Promise<Frames> {
    const response = await SELF.fetch(`${BASE}/api/chat/socket`, { headers: { upgrade: "websocket", authorization: `Bearer local:${person}`, ...headers } });
    if (!response.webSocket) throw new Error(`no socket: ${response.status}`);
    return new Frames(response.webSocket);
  }

  send(frame: object | string): void {
    this.socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  /** A person's text; its request has the message's id. */
  say(id: string, messageId: string, text: string, more: object = {}): void {
    this.send({
      type: "send",
      requestId: messageId,
      id,
      trigger: "submit-message",
      headers: {},
      body: {},
      messages: [{ id: messageId, role: "user", parts: [{ type: "text", text }] }],
      ...more,
    });
  }

  resume(id: string, requestId: string): void {
    this.send({ type: "resume", requestId, id, headers: {}, body: {} });
  }

  of = (requestId: string): Frame[] => this.frames.filter((frame) => frame.requestId === requestId);

  /** All frames of a request, once it has ended. */
  ended = (requestId: string): Promise<Frame[]> =>
    this.until(() => this.of(requestId).some(({ type }) => type === "end" || type === "error" || type === "no-active") && this.of(requestId));

  /** The problem that a request was refused with. */
  async refusal(requestId: string): Promise<{ status: number; code: string; detail: string }> {
    const frames = await this.ended(requestId);
    return JSON.parse(frames.at(-1)?.errorText ?? "null");
  }

  async closed(): Promise<number> {
    await this.until(() => this.closedWith !== null).catch(() => {});
    return this.closedWith ?? 0;
  }

  async until<T>(condition: () => T | undefined | false | null): Promise<T> {
    for (;;) {
      const met = condition();
      if (met) return met;
      if (this.closedWith !== null) throw new Error(`closed with ${this.closedWith} while waiting`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #woken(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
