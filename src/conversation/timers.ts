/** The object's one alarm. Due times are asked of the rows; an early alarm is harmless, a missed one is not. */
export class Timers {
  /** What is armed, as far as this life of the object knows: undefined after a wake, so the next due time is set. */
  #armed: number | null | undefined;

  constructor(
    private readonly storage: Pick<DurableObjectStorage, "setAlarm">,
    private readonly nextDue: () => number | null,
  ) {}

  /**
   * Sets the alarm to the earliest due time, when that is sooner than what is armed. To be called as the
   * last statement of a transaction: set after an `await`, a crash in between would lose it.
   */
  arm = (): void => {
    const due = this.nextDue();
    if (due === null || (this.#armed !== undefined && this.#armed !== null && this.#armed <= due)) return;
    void this.storage.setAlarm(due);
    this.#armed = due;
  };

  /** The alarm has fired, or a transaction that had armed it was rolled back. */
  forget(fired: boolean): void {
    this.#armed = fired ? null : undefined;
  }

  /** Tries again later, whatever is due. */
  retryAt(time: number): void {
    void this.storage.setAlarm(time);
    this.#armed = time;
  }
}
