import type { Random } from "./random.js";

interface Event {
  at: number;
  /** The process that it belongs to, and dies with; null for what happens outside. */
  process: number | null;
  run: () => void;
}

/** Owns the clock and the order of everything that waits: whatever is due may come next. */
export class Scheduler {
  now = Date.UTC(2026, 0, 1);
  #events: Event[] = [];

  constructor(private readonly random: Random) {}

  /** Calls back once, `ms` from now or later; returns how to call it off. */
  after(process: number | null, ms: number, run: () => void): () => void {
    const event: Event = { at: this.now + ms, process, run };
    this.#events.push(event);
    return () => {
      this.#events = this.#events.filter((one) => one !== event);
    };
  }

  wait(process: number | null, ms = 0): Promise<void> {
    return new Promise((resolve) => void this.after(process, ms, resolve));
  }

  /** What a dead process was waiting for never comes. */
  drop(process: number): void {
    this.#events = this.#events.filter((event) => event.process !== process);
  }

  get idle(): boolean {
    return this.#events.length === 0;
  }

  /** When the next event is due; null when there is none. */
  get next(): number | null {
    return this.#events.length === 0 ? null : Math.min(...this.#events.map(({ at }) => at));
  }

  /** Lets one due event happen, after moving the clock to the next one if none is. False when there is none. */
  async step(): Promise<boolean> {
    const { next } = this;
    if (next === null) return false;
    this.now = Math.max(this.now, next);
    const event = this.random.pick(this.#events.filter(({ at }) => at <= this.now));
    this.#events = this.#events.filter((one) => one !== event);
    event.run();
    await settled();
    return true;
  }
}

/** Lets every promise that can go on, go on. */
export const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
