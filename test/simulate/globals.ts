import type { Platform } from "./platform.js";
import type { Random } from "./random.js";
import type { Event, Scheduler } from "./scheduler.js";
import { ServerSocket } from "./wire.js";

// The runtime's globals as the product finds them in a simulation: the scheduler's clock and timers, the seed's
// random bits, and what workerd has and Node has not. Put in place for one life, and taken away after it.

class SocketResponse {
  readonly webSocket: unknown;
  readonly status: number;

  constructor(_body: unknown, made: { status?: number; webSocket?: unknown } = {}) {
    this.status = made.status ?? 200;
    this.webSocket = made.webSocket ?? null;
  }
}

class AutoResponse {}

const settable = globalThis as unknown as Record<string, unknown>;

/** Returns how to take them away again. */
export function installGlobals(platform: Platform, scheduler: Scheduler, random: Random, log: (line: string) => void): () => void {
  const hex = (length: number): string => Array.from({ length }, () => random.int(16).toString(16)).join("");
  class SocketPair {
    readonly 1 = new ServerSocket(platform);
    // The client's end is the device's wire, which takes hold of the server's.
    readonly 0 = this[1];
  }
  const made: [object, string, unknown][] = [
    [Date, "now", () => scheduler.now],
    [Math, "random", () => random.next()],
    [crypto, "randomUUID", () => hex(32)],
    [crypto, "getRandomValues", (bytes: Uint8Array) => bytes.map(() => random.int(256))],
    [console, "log", log],
    [console, "error", log],
    [settable, "setTimeout", (run: () => void, ms = 0) => scheduler.after(scheduler.owner, ms, run)],
    [settable, "clearTimeout", (event: Event | undefined | null) => event && scheduler.cancel(event)],
    [settable, "scheduler", { wait: (ms: number) => scheduler.wait(scheduler.owner, ms) }],
    [settable, "WebSocketPair", SocketPair],
    [settable, "WebSocketRequestResponsePair", AutoResponse],
    [settable, "Response", SocketResponse],
  ];
  const before = made.map(([on, name]) => Object.getOwnPropertyDescriptor(on, name));
  for (const [on, name, value] of made) Object.defineProperty(on, name, { value, configurable: true, writable: true });
  return () => {
    for (const [place, [on, name]] of made.entries()) {
      const descriptor = before[place];
      if (descriptor) Object.defineProperty(on, name, descriptor);
      else Reflect.deleteProperty(on, name);
    }
  };
}
