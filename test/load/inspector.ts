import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";

// What the runtime's inspector tells of one isolate of workerd: its heap, and where its time goes.

/** The bundle's name in the runtime (test/chaos/serve.ts). */
const SERVED_AS = "worker.js";

/** Isolates of the process that do work for a request: the product's, and the local stand-ins for D1 and for the edge. */
export const ISOLATES = { holdpoint: "core:user:holdpoint", D1: "d1:db", "D1's door": "d1:db:entry", edge: "core:entry" } as const;

interface Frame {
  functionName: string;
  url: string;
  lineNumber: number;
  columnNumber: number;
}

interface Profile {
  nodes: { id: number; callFrame: Frame }[];
  samples: number[];
  timeDeltas: number[];
}

export class Inspector {
  #next = 0;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (answer: { result?: unknown; error?: { message: string } }) => void>();

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const answer = JSON.parse(String(data)) as { id?: number; result?: unknown };
      if (answer.id !== undefined) this.#waiting.get(answer.id)?.(answer);
    });
  }

  static async of(port: number, isolate: string): Promise<Inspector> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/${isolate}`);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", () => reject(new Error(`The inspector has no isolate ${isolate}.`)));
    });
    return new Inspector(socket);
  }

  async ask<Result>(method: string, params: object = {}): Promise<Result> {
    const id = (this.#next += 1);
    const answered = new Promise<{ result?: unknown; error?: { message: string } }>((resolve) => this.#waiting.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await answered;
    this.#waiting.delete(id);
    if (error) throw new Error(`${method}: ${error.message}`);
    return result as Result;
  }

  close(): void {
    this.#socket.close();
  }
}

/** Bytes of JavaScript that an isolate holds. */
export async function heapOf(port: number, isolate: string): Promise<number> {
  const inspector = await Inspector.of(port, isolate);
  const { usedSize } = await inspector.ask<{ usedSize: number }>("Runtime.getHeapUsage");
  inspector.close();
  return usedSize;
}

/** Where an isolate's time went: the share of the sampled time by function, without its callees, the largest first. */
export interface Shares {
  isolate: string;
  idle: number;
  functions: { name: string; share: number }[];
}

/** Profiles isolates of one process while something else is going on. The product's functions have the names of its sources. */
export async function profile(port: number, worker: string, isolates: Record<string, string>, during: () => Promise<unknown>): Promise<Shares[]> {
  const inspectors = await Promise.all(Object.entries(isolates).map(async ([name, isolate]) => ({ name, inspector: await Inspector.of(port, isolate) })));
  for (const { inspector } of inspectors) {
    await inspector.ask("Profiler.enable");
    await inspector.ask("Profiler.start");
  }
  await during();
  const shares: Shares[] = [];
  const sources = namesFrom(worker);
  for (const { name, inspector } of inspectors) {
    const { profile: taken } = await inspector.ask<{ profile: Profile }>("Profiler.stop");
    shares.push(sharesOf(name, taken, sources));
    inspector.close();
  }
  return shares;
}

function sharesOf(isolate: string, { nodes, samples, timeDeltas }: Profile, sources: (frame: Frame) => string): Shares {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, sources(callFrame)]));
  const times = new Map<string, number>();
  let whole = 0;
  for (const [place, node] of samples.entries()) {
    // The time up to the next sample was spent here.
    const time = Math.max(0, timeDeltas[place + 1] ?? 0);
    const name = names.get(node) ?? "";
    whole += time;
    times.set(name, (times.get(name) ?? 0) + time);
  }
  const functions = [...times].filter(([name]) => name !== "(idle)").map(([name, time]) => ({ name, share: time / whole }));
  return { isolate, idle: (times.get("(idle)") ?? 0) / whole, functions: functions.toSorted((a, b) => b.share - a.share) };
}

/** Names functions of the bundle by its source map: what stands there in the sources, and where. */
function namesFrom(worker: string): (frame: Frame) => string {
  const map = new SourceMap(JSON.parse(readFileSync(`${worker}.map`, "utf8")) as ConstructorParameters<typeof SourceMap>[0]);
  const texts = new Map(map.payload.sources.map((file, place) => [file, map.payload.sourcesContent[place]?.split("\n") ?? []]));
  return ({ functionName, url, lineNumber, columnNumber }) => {
    const plain = functionName || "(anonymous)";
    if (!url.endsWith(SERVED_AS)) return url === "" ? plain : `${plain} ${url.split("/").at(-1)}:${lineNumber + 1}`;
    const entry = map.findEntry(lineNumber, columnNumber);
    if (!("originalSource" in entry)) return plain;
    const line = texts.get(entry.originalSource)?.[entry.originalLine] ?? "";
    const name = /(#?[\w$]+)(?:\s*=.*)?\s*[(<]/.exec(line.slice(entry.originalColumn))?.[1] ?? /#?[\w$]+/.exec(line)?.[0] ?? plain;
    return `${name} ${entry.originalSource.replace(/^(\.\.\/)+/, "")}:${entry.originalLine + 1}`;
  };
}
