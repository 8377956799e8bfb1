import { MemoryStore } from "../../src/core/memory-store.js";

/** What may happen around a commit. Each may throw, which ends the transaction it is called in. */
export interface Fate {
  before(): void;
  /** As the last statement of the transaction. */
  within(): void;
  /** Nothing of the transaction is there any more. */
  rolledBack(error: unknown): void;
  after(): void;
}

/** The object's SQLite, in maps. What was committed is durable at the end of its turn: until then a death may lose it, newest first. */
export class Disk extends MemoryStore {
  /** Counts whatever could have changed a row. */
  changes = 0;
  #open = false;
  /** How to take back each commit that is not durable yet, oldest first. */
  #young: (() => void)[][] = [];

  constructor(private readonly fate: Fate) {
    super();
  }

  /** Commits that what is said now depends on, the one under way included: it may leave when they are durable. */
  get gate(): number {
    return this.#young.length + (this.#open ? 1 : 0);
  }

  get young(): number {
    return this.#young.length;
  }

  override atomically<T>(body: () => T): T {
    this.fate.before();
    this.#open = true;
    let result: T;
    try {
      result = super.atomically(() => {
        const made = body();
        this.fate.within();
        return made;
      });
    } catch (error) {
      this.#open = false;
      this.fate.rolledBack(error);
      throw error;
    }
    this.#open = false;
    this.fate.after();
    return result;
  }

  protected override committed(undo: (() => void)[]): void {
    if (undo.length === 0) return;
    this.#young.push(undo);
    this.changes += 1;
  }

  /** Something that is stored beside the rows, such as the alarm: it is lost with the transaction that set it, or by itself. */
  stored(undo: () => void): void {
    if (!this.alsoUndo(undo)) this.#young.push([undo]);
  }

  /** The oldest `count` young commits are durable. The others never happened. */
  keep(count: number): void {
    const lost = this.#young.splice(count);
    for (const undo of lost.toReversed()) for (const step of undo.toReversed()) step();
    if (lost.length > 0) this.changes += 1;
    this.#young = [];
  }
}
