import type { Clock } from "../../src/core/ports.js";

/** A clock that moves only when a test says so. */
export class FakeClock implements Clock {
  #now = Date.UTC(2026, 10, 1, 12);
  #timers: { at: number; callback: () => void }[] = [];

  now = (): number => this.#now;

  after = (ms: number, callback: () => void): (() => void) => {
    const timer = { at: this.#now + ms, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  };

  breathe = async (): Promise<void> => {};

  /** Moves time on and runs what is due on the way, in order. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#timers.filter((timer) => timer.at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
      await settled();
    }
    this.#now = end;
  }
}

/** Lets every promise that can go on, go on: timers of this length run after them. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise<void>((resolve) => void setTimeout(resolve, 0));
}
