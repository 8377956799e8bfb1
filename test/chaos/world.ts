import { cpSync } from "node:fs";
import { start, type Group } from "../../src/cli/processes.ts";
import type { Conversation, ConversationState, PausePoint, PausePointState } from "../../src/protocol/entities.js";
import { memoryStorage } from "../../src/web/sync/outbox.js";
import { ConversationStore, type Snapshot } from "../../src/web/sync/store.js";
import type { SocketLike } from "../../src/web/sync/connection.js";

// One server that is killed again and again, and the devices of the people who use it: the web app's own code for
// sockets, unanswered commands and state, on Node's WebSocket.

export class Violation extends Error {
  override name = "Violation";
}

export interface Paths {
  worker: string;
  serve: string;
  tables: string;
}

export interface Device {
  person: string;
  name: string;
  store: ConversationStore;
  /** Whether it is connected; one that has left joins again later. */
  joined: boolean;
  /** Texts that it was given to send: by opId, the message that each becomes. */
  texts: Map<string, string>;
}

export interface Talk {
  id: string;
  devices: Device[];
  /** Turns that were begun in it. */
  turns: number;
  deleted: boolean;
  /** Whether anybody has gone to another branch or made one. */
  branched: boolean;
}

const SERVING_MS = 20_000;

export class World {
  readonly talks: Talk[] = [];
  readonly timeline: string[] = [];
  /** Final states that any device was ever shown. They are final. */
  readonly finals = new Map<string, PausePointState>();
  readonly broken: string[] = [];
  #server: Group | null = null;
  #read = 0;
  readonly #began = Date.now();

  constructor(
    private readonly paths: Paths,
    readonly folder: string,
    readonly port: number,
  ) {
    cpSync(paths.tables, folder, { recursive: true });
  }

  tell(line: string): void {
    this.timeline.push(`${String(Date.now() - this.#began).padStart(7)} ms  ${line}`);
  }

  break(what: string): void {
    this.broken.push(what);
    this.tell(`VIOLATION ${what}`);
  }

  async serve(): Promise<void> {
    const server = start([this.paths.serve, this.paths.worker, this.folder, String(this.port)]);
    this.#server = server;
    this.#read = 0;
    await until("the server serves", SERVING_MS, () => {
      if (server.child.exitCode !== null) throw new Violation(`the server ended: ${server.said()}`);
      return server.said().includes("CHAOS serving");
    });
    for (const device of this.devices()) if (device.joined) device.store.reconnectNow();
  }

  async kill(): Promise<void> {
    this.readLog();
    await this.#server?.stop("SIGKILL");
    this.#server = null;
  }

  /** The armed point that was reached, if one was. Whatever else the log must not say is a violation. */
  readLog(): string | null {
    const said = this.#server?.said() ?? "";
    const lines = said.slice(this.#read).split("\n");
    this.#read = said.length - (lines.at(-1)?.length ?? 0);
    for (const line of lines) {
      if (line.includes("CHAOS violation") || /"event":"(driver\.failed|tell\.failed|reconcile\.failed|request\.failed)"/.test(line)) this.break(line.trim());
    }
    return /CHAOS reached (\S+)/.exec(said)?.[1] ?? null;
  }

  devices(): Device[] {
    return this.talks.filter(({ deleted }) => !deleted).flatMap(({ devices }) => devices);
  }

  async api(person: string, method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers: { authorization: `Bearer local:${person}` },
      signal: AbortSignal.timeout(8000),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: text.startsWith("{") ? (JSON.parse(text) as unknown) : text };
  }

  /** A new conversation of ana's, in which ben may decide too; she has a laptop and a phone. */
  async converse(): Promise<Talk> {
    const { body } = await this.api("ana", "POST", "/api/conversations", {});
    const { id } = body as Conversation;
    await this.api("ana", "PUT", `/api/conversations/${id}/members/ben`, { role: "approver" });
    const talk: Talk = { id, turns: 0, deleted: false, branched: false, devices: [] };
    talk.devices = [this.device(id, "ana", "laptop"), this.device(id, "ana", "phone"), this.device(id, "ben", "tablet")];
    this.talks.push(talk);
    for (const device of talk.devices) device.store.start();
    return talk;
  }

  device(id: string, person: string, name: string): Device {
    const url = `ws://127.0.0.1:${this.port}/api/conversations/${id}/socket`;
    const store = new ConversationStore({
      conversationId: id,
      person: () => person,
      device: () => ({ id: `${person}-${name}`, name }),
      storage: memoryStorage(),
      environment: { online: () => true, visible: () => true, onChange: () => () => {} },
      open: () => socketTo(url, person),
    });
    const final = new Set<string>();
    const texts = new Map<string, string>();
    store.subscribe(() => {
      const snapshot = store.getSnapshot();
      for (const { command } of snapshot.unacknowledged) if (command.type === "send") texts.set(command.opId, command.messageId);
      this.#shown(name, snapshot, final);
    });
    return { person, name, store, joined: true, texts };
  }

  /** What a device was shown as decided stays so, on this device and on every other. */
  #shown(name: string, { sync }: Snapshot, final: Set<string>): void {
    for (const { id, state } of sync.pausePoints.values()) {
      if (state === "pending") {
        if (final.has(id)) this.break(`H9: ${id} was ${this.finals.get(id)} on ${name}, which is shown it as pending again`);
        continue;
      }
      const known = this.finals.get(id);
      if (known !== undefined && known !== state) this.break(`H9: ${id} was ${known}, and ${name} is shown ${state}`);
      this.finals.set(id, state);
      final.add(id);
    }
  }

  end(): Promise<void> {
    for (const { store } of this.devices()) store.stop();
    return this.kill();
  }
}

// Node's WebSocket takes headers, which a browser's does not.
const socketTo = (url: string, person: string): SocketLike =>
  new (WebSocket as unknown as new (url: string, options: object) => SocketLike)(url, { headers: { authorization: `Bearer local:${person}` } });

/** Looks again and again until something holds. Throws a violation when it takes too long. */
export async function until(what: string, withinMs: number, holds: () => boolean | Promise<boolean>): Promise<void> {
  const giveUp = Date.now() + withinMs;
  while (!(await holds())) {
    if (Date.now() > giveUp) throw new Violation(`not within ${withinMs / 1000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export const pendingOf = (device: Device): PausePoint[] => [...device.store.getSnapshot().sync.pausePoints.values()].filter(({ state }) => state === "pending");

/** Where the ledger, or D1's index, stands. Read by a route that only this Worker has, because the public list is short. */
export interface Ledger {
  transfers: { key: string; amount: number }[];
  entries: { key: string; sum: number; entries: number }[];
  conversations: { id: string; state: ConversationState }[];
  cards: { id: string; state: PausePointState; version: number }[];
}
