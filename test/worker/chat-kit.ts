import { abortAllDurableObjects, SELF } from "cloudflare:test";
import { afterEach, beforeEach, vi } from "vitest";
import type { Chunk } from "../../src/protocol/frames.js";
import { Client, newConversation, type Server, type Wire } from "../e2e/ai-sdk-kit.js";
import type { SocketClass } from "../e2e/ai-sdk-socket.js";
import { propose, ScriptedModel, type Answer } from "../kit/model.js";
import { makeTool, standardTools, type Run } from "../kit/tools.js";
import { control, resetControl } from "./entry.js";
import { BASE, migrateD1 } from "./kit.js";

/** A WebSocket to the Worker beside this test. */
const SelfSocket = class extends EventTarget {
  onopen: ((event: unknown) => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onerror: ((event: unknown) => void) | null = null;
  onclose: ((event: unknown) => void) | null = null;
  readyState = 0;
  #socket: WebSocket | null = null;

  constructor(url: string | URL, { headers }: { headers: Record<string, string> }) {
    super();
    void this.#open(String(url).replace(/^ws/, "http"), headers);
  }

  async #open(url: string, headers: Record<string, string>): Promise<void> {
    const { webSocket } = await SELF.fetch(url, { headers: { ...headers, upgrade: "websocket" } });
    if (!webSocket) return this.onerror?.({});
    this.#socket = webSocket;
    webSocket.accept();
    webSocket.addEventListener("message", ({ data }) => this.dispatchEvent(new MessageEvent("message", { data })));
    for (const type of ["close", "error"] as const)
      webSocket.addEventListener(type, (event) => {
        if (this.readyState === 3) return;
        this.readyState = 3;
        this.onclose?.(event);
      });
    this.readyState = 1;
    this.onopen?.({});
  }

  send(data: string): void {
    this.#socket?.send(data);
  }

  close(code?: number, reason?: string): void {
    this.#socket?.close(code, reason);
  }
} as unknown as SocketClass;

/** The Worker beside this test, for a stock AI SDK client. */
const serverOver = (wire: Wire): Server => ({ url: BASE, fetch: ((url: string, init?: RequestInit) => SELF.fetch(url, init)) as typeof fetch, webSocket: SelfSocket, wire });

/** What one test scripts and sees; made anew for each. */
export interface Scripted {
  model: ScriptedModel;
  /** Every run of a tool. */
  runs: Run[];
  /** Resolves when the test lets slow tools and models go on. */
  released: Promise<void>;
  release(): void;
}

/** A scripted model and small tools in place of the real ones, for every test of a file. */
export function useScript(): Scripted {
  const scripted = {} as Scripted;
  beforeEach(async () => {
    await migrateD1();
    const released = Promise.withResolvers<void>();
    Object.assign(scripted, { model: new ScriptedModel(), runs: [], released: released.promise, release: released.resolve });
    const slow = { execute: () => released.promise.then(() => "slow is done") };
    const tools = [
      ...standardTools(scripted.runs),
      makeTool(scripted.runs, { name: "crawl", policy: () => ({ verdict: "allow" }), ...slow }),
      makeTool(scripted.runs, { name: "crawl_if_asked", ...slow }),
      makeTool(scripted.runs, { name: "break", execute: () => Promise.reject(new Error("it broke")) }),
    ];
    control.tools = new Map(tools.map((tool) => [tool.name, tool]));
    control.model = scripted.model.model;
  });
  afterEach(async () => {
    scripted.release();
    vi.useRealTimers();
    resetControl();
    await abortAllDurableObjects();
  });
  return scripted;
}

export const pay = (to: string, amount = 5): Chunk[] => propose("pay", { to, amount });

/** The server for clients that speak this, and a client whose first text has been answered by the first of some answers. */
export function over(wire: Wire): { server: Server; asked: (scripted: Scripted, ...answers: Answer[]) => Promise<Client> } {
  const server = serverOver(wire);
  return {
    server,
    async asked(scripted, ...answers) {
      scripted.model.plan(...answers);
      const client = new Client(server, { id: await newConversation(server) });
      await client.say("go");
      return client;
    },
  };
}
