import type { SocketLike } from "../../src/web/sync/connection.js";
import type { Platform, Process } from "./platform.js";
import { NETWORK, type Owner } from "./scheduler.js";

const PING = '{"type":"ping"}';
const PONG = '{"type":"pong"}';

/** The object's end of a socket. It outlives the process that took it, attachment included, when that is only put to sleep. */
export class ServerSocket {
  readyState = 1;
  wire: Wire | null = null;
  #attachment: string | null = null;
  /** What left before the device's end was there. */
  readonly unsent: (string | number)[] = [];

  constructor(private readonly platform: Platform) {}

  /** Taken by the object without being kept: it is about to be closed. */
  accept(): void {}

  send(text: string): void {
    this.#say(text);
  }

  close(code: number): void {
    if (this.readyState !== 1) return;
    this.readyState = 2;
    this.#say(code);
  }

  serializeAttachment(value: unknown): void {
    this.#attachment = JSON.stringify(value);
  }

  deserializeAttachment(): unknown {
    return this.#attachment === null ? null : JSON.parse(this.#attachment);
  }

  #say(item: string | number): void {
    const process = this.platform.process?.number ?? 0;
    this.platform.out(() => {
      if (this.wire) this.wire.down(item, process);
      else this.unsent.push(item);
    });
  }
}

/** One socket between a device and the object. Frames keep their order, take their time, and are lost when it breaks. */
export class Wire implements SocketLike {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  /** The newest `seq` that left for this device on this wire; null before its welcome. */
  seq: number | null = null;
  /** The attempt whose text left on this wire last, and its newest flush. */
  live: { name: string; n: number } | null = null;
  #server: ServerSocket | null = null;
  #state: "opening" | "open" | "broken" | "closed" = "opening";
  /** What is on its way: frames, and to the device a close code. */
  #down: (string | number)[] = [];
  #up: string[] = [];
  #moving = { down: false, up: false };

  constructor(
    private readonly platform: Platform,
    readonly person: string,
    private readonly owner: Owner,
    private readonly received: () => void,
  ) {
    platform.scheduler.after(NETWORK, platform.latency(), () => this.#open());
  }

  send(text: string): void {
    if (this.#state !== "open") return;
    this.#up.push(text);
    this.#moveUp();
  }

  /** The device closes it; the object hears of that later. */
  close(): void {
    if (this.#state === "closed") return;
    this.#state = "closed";
    if (this.#server) this.platform.lost(this.#server);
  }

  /** From the object: a frame, or a code that closes. */
  down(item: string | number, process: number): void {
    if (typeof item === "string") this.platform.watch.leaves(this, item, process);
    if (this.#state !== "open") return;
    this.#down.push(item);
    this.#moveDown();
  }

  /** The network, or the object's machine, is gone. What was on its way to the device may still arrive. */
  break(keep: boolean): void {
    if (this.#state === "broken" || this.#state === "closed") return;
    this.#state = "broken";
    if (this.#server) this.#server.readyState = 3;
    this.#up = [];
    if (!keep) this.#down = [];
    this.#down.push(1006);
    this.#moveDown();
  }

  #open(): void {
    const { platform } = this;
    if (this.#state !== "opening") return;
    const process = platform.enter((object) => {
      const request = { url: "https://holdpoint.test/socket", headers: { get: () => JSON.stringify({ person: this.person }) } };
      void object.fetch(request as unknown as Request).then(
        ({ webSocket }) => this.#accepted(webSocket as unknown as ServerSocket, process),
        () => {},
      );
    });
    platform.scheduler.after(NETWORK, 1, () => {
      if (this.#state === "opening") this.break(false);
    });
  }

  #accepted(server: ServerSocket, process: Process | null): void {
    const { platform } = this;
    if (this.#state !== "opening" || server.readyState === 3) return platform.lost(server);
    // The process that took it has died since.
    if (!process?.owner.alive) return this.break(false);
    this.#state = "open";
    this.#server = server;
    server.wire = this;
    platform.scheduler.after(NETWORK, 0, () => this.#atDevice(() => this.onopen?.()));
    for (const item of server.unsent) this.down(item, 0);
  }

  #moveDown(): void {
    if (this.#moving.down) return;
    this.#moving.down = true;
    const { platform } = this;
    platform.scheduler.after(NETWORK, platform.latency(), () => {
      this.#moving.down = false;
      // What is on its way together often comes together.
      for (let most = this.#many(); most > 0 && this.#down.length > 0; most -= 1) this.#toDevice(this.#down.shift());
      if (this.#down.length > 0) this.#moveDown();
    });
  }

  #many(): number {
    return this.platform.random.chance(0.7) ? Infinity : 1;
  }

  #toDevice(item: string | number | undefined): void {
    if (item === undefined || this.#state === "closed") return;
    if (typeof item === "number") {
      this.#state = "closed";
      if (this.#server) this.platform.lost(this.#server);
    }
    this.#atDevice(() => {
      if (typeof item === "number") return this.onclose?.({ code: item });
      this.onmessage?.({ data: item });
      this.received();
    });
  }

  /** In the device's life: the timers it sets are its own. */
  #atDevice(run: () => void): void {
    if (!this.owner.alive) return;
    const { scheduler } = this.platform;
    const before = scheduler.owner;
    scheduler.owner = this.owner;
    run();
    scheduler.owner = before;
  }

  #moveUp(): void {
    if (this.#moving.up) return;
    this.#moving.up = true;
    const { platform } = this;
    platform.scheduler.after(NETWORK, platform.latency(), () => {
      this.#moving.up = false;
      const text = this.#up.shift();
      const server = this.#server;
      if (text === undefined || server?.readyState !== 1) return;
      if (text === PING) this.down(PONG, 0);
      else platform.watch.arrives(this, text, () => void platform.enter((object) => object.webSocketMessage(server as unknown as WebSocket, text)));
      if (this.#up.length > 0) this.#moveUp();
    });
  }
}
