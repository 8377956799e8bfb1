import { applyD1Migrations, env, SELF } from "cloudflare:test";
import { expect } from "vitest";
import type { Ack, ClientFrame, ServerFrame, Welcome } from "../../src/protocol/frames.js";
import type { MessageStep, PausePoint, Run } from "../../src/protocol/entities.js";
import type { Conversation } from "./entry.js";

export const BASE = "http://localhost";

type Answered = { status: number; body: any };

/** A request as a person; the body's JSON comes back with the status. */
export async function api(person: string, method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answered> {
  const response = await SELF.fetch(BASE + path, {
    method,
    headers: { authorization: `Bearer local:${person}`, ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text && response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text };
}

export async function migrateD1(): Promise<void> {
  await applyD1Migrations(env.DB, env.MIGRATIONS);
}

/** A new conversation of ana's, with ben as an approver and vic as a viewer. */
export async function newConversation(): Promise<string> {
  const { body } = await api("ana", "POST", "/api/conversations", {});
  for (const [person, role] of [
    ["ben", "approver"],
    ["vic", "viewer"],
  ]) {
    expect((await api("ana", "PUT", `/api/conversations/${body.id}/members/${person}`, { role })).status).toBe(204);
  }
  return body.id as string;
}

export const stubOf = (id: string): DurableObjectStub<Conversation> => env.CONVERSATION.getByName(id) as unknown as DurableObjectStub<Conversation>;

/** A device on a socket: what it was sent, and the state that follows from it. */
export class Device {
  readonly frames: ServerFrame[] = [];
  readonly messages = new Map<string, MessageStep>();
  readonly cards = new Map<string, PausePoint>();
  run: Run | null = null;
  seq = 0;
  epoch = "";
  closedWith: number | null = null;
  #waiting: (() => void)[] = [];
  #ops = 0;

  private constructor(
    readonly person: string,
    readonly name: string,
    readonly socket: WebSocket,
  ) {
    socket.accept();
    socket.addEventListener("message", ({ data }) => this.#take(JSON.parse(data as string) as ServerFrame));
    socket.addEventListener("close", ({ code }) => {
      this.closedWith = code;
      this.#woken();
    });
  }

  static async connect(conversation: string, person: string, name = `${person}'s laptop`, has: { epoch?: string; seq?: number } = {}): Promise<Device> {
    const device = await Device.open(conversation, person, name);
    device.send({ type: "hello", protocol: 1, device: { id: name, name }, ...has });
    await device.until(() => device.welcome !== undefined || device.closedWith !== null);
    return device;
  }

  /** Connected, but without a hello. */
  static async open(conversation: string, person: string, name = `${person}'s laptop`): Promise<Device> {
    const response = await SELF.fetch(`${BASE}/api/conversations/${conversation}/socket`, { headers: { upgrade: "websocket", authorization: `Bearer local:${person}` } });
    if (!response.webSocket) throw new Error(`no socket: ${response.status}`);
    return new Device(person, name, response.webSocket);
  }

  get welcome(): Welcome | undefined {
    return this.frames.findLast((frame) => frame.type === "welcome");
  }

  get acks(): Ack[] {
    return this.frames.filter((frame) => frame.type === "ack");
  }

  send(frame: ClientFrame): void {
    this.socket.send(JSON.stringify(frame));
  }

  /** Sends a command and waits for its ack. */
  async command(frame: Record<string, unknown> & { type: "send" | "decide" | "cancel" | "older" | "regenerate" | "head"; opId?: string }): Promise<Ack> {
    const opId = frame.opId ?? `${this.name}-${(this.#ops += 1)}`;
    const before = this.acks.length;
    this.socket.send(JSON.stringify({ ...frame, opId }));
    return this.until(() => this.acks.slice(before).find((ack) => ack.opId === opId));
  }

  say = (text: string, more: Record<string, unknown> = {}): Promise<Ack> => this.command({ type: "send", messageId: crypto.randomUUID(), text, ...more });

  decide = (card: PausePoint, decision: "approve" | "reject", more: Record<string, unknown> = {}): Promise<Ack> =>
    this.command({ type: "decide", pausePointId: card.id, version: card.version, decision, ...more });

  card(state: PausePoint["state"] = "pending"): Promise<PausePoint> {
    return this.until(() => [...this.cards.values()].find((card) => card.state === state));
  }

  async rest(status: Run["status"]): Promise<Run> {
    return this.until(() => (this.run?.status === status ? this.run : undefined));
  }

  /** The text of the transcript, as this device has it. */
  get text(): string {
    return [...this.messages.values()]
      .toSorted((a, b) => a.position - b.position || a.step - b.step)
      .flatMap((step) => step.parts.flatMap((part) => (part.type === "text" ? [String(part["text"])] : [])))
      .join("\n");
  }

  async until<T>(condition: () => T | undefined | false | null): Promise<T> {
    for (;;) {
      const met = condition();
      if (met) return met;
      if (this.closedWith !== null) throw new Error(`closed with ${this.closedWith} while waiting`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #take(frame: ServerFrame): void {
    this.frames.push(frame);
    if (frame.type === "welcome" || frame.type === "change" || frame.type === "page") {
      if (frame.type === "welcome" && frame.mode === "snapshot") {
        this.messages.clear();
        this.cards.clear();
      }
      for (const step of frame.messages ?? []) this.messages.set(`${step.messageId}:${step.step}`, step);
      for (const card of frame.pausePoints ?? []) this.cards.set(card.id, card);
      if (frame.type !== "page" && frame.run !== undefined) this.run = frame.run;
      if (frame.type !== "page" && !("more" in frame && frame.more)) this.seq = frame.seq;
      if (frame.type === "welcome") this.epoch = frame.epoch;
    }
    this.#woken();
  }

  #woken(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
