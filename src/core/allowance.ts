/** How often somebody may do something: `burst` at once, and `perSecond` each second after. */
export class Allowance {
  #left: number;

  constructor(
    private readonly burst: number,
    private readonly perSecond: number,
    private at: number,
  ) {
    this.#left = burst;
  }

  /** Takes `cost` from what is left; false when that was not enough. A clock that goes back takes nothing away. */
  take(now: number, cost = 1): boolean {
    this.#left = Math.min(this.burst, this.#left + (Math.max(0, now - this.at) / 1000) * this.perSecond) - cost;
    this.at = now;
    return this.#left >= 0;
  }
}
