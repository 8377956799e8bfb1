import type { Platform } from "./platform.js";
import type { Random } from "./random.js";
import type { Event, Scheduler } from "./scheduler.js";
import { ServerSocket } from "./wire.js";

// The runtime's globals as the product finds them in a simulation: the scheduler's clock and timers, the seed's
// random bits, and what workerd has and Node has not. They are put in place once, for an engine that sees a global
// change forgets what it had compiled; between lives they do what they always did.

interface World {
  platform: Platform;
  scheduler: Scheduler;
  random: Random;
  log(line: string): void;
}

let world: World | null = null;

/** Whose life it is from now on; null: nobody's. */
export function enterWorld(entered: World | null): void {
  world = entered;
}

class SocketPair {
  readonly 1: ServerSocket;
  readonly 0: ServerSocket;

  constructor() {
    if (!world) throw new Error("There is no life to take a socket in.");
    // The client's end is the device's wire, which takes hold of the server's.
    this[0] = this[1] = new ServerSocket(world.platform);
  }
}

class SocketResponse {
  readonly webSocket: unknown;
  readonly status: number;

  constructor(_body: unknown, made: { status?: number; webSocket?: unknown } = {}) {
    this.status = made.status ?? 200;
    this.webSocket = made.webSocket ?? null;
  }
}

class AutoResponse {}

const HEX = "0123456789abcdef";

function hex(random: Random): string {
  let digits = "";
  while (digits.length < 32) digits += HEX.charAt(random.int(16));
  return digits;
}

/** Returns how to take them away again. */
export function installGlobals(): () => void {
  const real = {
    now: Date.now,
    random: Math.random,
    uuid: crypto.randomUUID.bind(crypto),
    bytes: crypto.getRandomValues.bind(crypto),
    log: console.log,
    error: console.error,
    setTimeout,
    clearTimeout,
  };
  const global = globalThis as unknown as Record<string, unknown>;
  const made: [object, string, unknown][] = [
    [Date, "now", () => (world ? world.scheduler.now : real.now())],
    [Math, "random", () => (world ? world.random.next() : real.random())],
    [crypto, "randomUUID", () => (world ? hex(world.random) : real.uuid())],
    [crypto, "getRandomValues", (bytes: Uint8Array<ArrayBuffer>) => (world ? bytes.map(() => world?.random.int(256) ?? 0) : real.bytes(bytes))],
    [console, "log", (...said: unknown[]) => (world ? world.log(String(said[0])) : real.log(...said))],
    [console, "error", (...said: unknown[]) => (world ? world.log(String(said[0])) : real.error(...said))],
    [global, "setTimeout", (run: () => void, ms = 0) => (world ? world.scheduler.after(world.scheduler.owner, ms, run) : real.setTimeout(run, ms))],
    [
      global,
      "clearTimeout",
      (timer: unknown) => {
        if (!world) real.clearTimeout(timer as number);
        else if (timer) world.scheduler.cancel(timer as Event);
      },
    ],
    [global, "scheduler", { wait: (ms: number) => world?.scheduler.wait(world.scheduler.owner, ms) }],
    [global, "WebSocketPair", SocketPair],
    [global, "WebSocketRequestResponsePair", AutoResponse],
    [global, "Response", SocketResponse],
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
