import type { Random } from "./random.js";

/** Who waits for something. What a dead one waited for never comes. */
export interface Owner {
  kind: "process" | "device" | "network" | "outside";
  alive: boolean;
}

/** What belongs to nobody's life: D1, the effect of a tool. */
export const OUTSIDE: Owner = { kind: "outside", alive: true };

/** What only moves between a device and the object. */
export const NETWORK: Owner = { kind: "network", alive: true };

export interface Event {
  at: number;
  owner: Owner;
  run: () => void;
}

/** Owns the clock and the order of everything that waits: whatever is due may come next. */
export class Scheduler {
  now = Date.UTC(2026, 0, 1);
  /** In whose life the code that runs now runs: its timers are this one's. */
  owner: Owner = OUTSIDE;
  #events: Event[] = [];

  constructor(private readonly random: Random) {}

  /** Calls back once, `ms` from now or later. */
  after(owner: Owner, ms: number, run: () => void): Event {
    const event: Event = { at: this.now + Math.max(0, ms), owner, run };
    if (owner.alive) this.#events.push(event);
    return event;
  }

  wait(owner: Owner, ms = 0): Promise<void> {
    return new Promise((resolve) => void this.after(owner, ms, resolve));
  }

  cancel(event: Event): void {
    const place = this.#events.indexOf(event);
    if (place !== -1) this.#remove(place);
  }

  /** It is dead: its events never come. */
  kill(owner: Owner): void {
    owner.alive = false;
    this.#events = this.#events.filter((event) => event.owner !== owner);
  }

  waitsFor(owner: Owner): boolean {
    return this.#events.some((event) => event.owner === owner);
  }

  /** When the next event is due; null when there is none. */
  get next(): number | null {
    let next = Infinity;
    for (const { at } of this.#events) if (at < next) next = at;
    return next === Infinity ? null : next;
  }

  /** Takes one of the events that are due, after moving the clock to the next one if none is. Null when there is none. */
  take(): Event | null {
    const { next } = this;
    if (next === null) return null;
    if (next > this.now) this.now = next;
    let due = 0;
    for (const { at } of this.#events) if (at <= this.now) due += 1;
    let left = this.random.int(due);
    for (let place = 0; place < this.#events.length; place += 1) {
      const event = this.#events[place];
      if (event && event.at <= this.now && left-- === 0) {
        this.#remove(place);
        return event;
      }
    }
    return null;
  }

  /** Runs something in the life of its owner, and lets every promise that can go on, go on. Devices and wires have none. */
  async turn(owner: Owner, run: () => void): Promise<void> {
    this.owner = owner;
    run();
    if (this.owner.kind === "process" || this.owner.kind === "outside") await settled();
    this.owner = OUTSIDE;
  }

  #remove(place: number): void {
    const last = this.#events.pop();
    if (last && place < this.#events.length) this.#events[place] = last;
  }
}

/** Lets every promise that can go on, go on. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
