import type { ConversationRow, PausePointRow, Reads, RunRow, Store } from "./rows.js";
import { Transaction, type Changes } from "./transaction.js";

// The one place where a conversation changes: wholly or not at all, and told only afterwards.

export interface JournalEvents {
  /** Called inside the transaction, as its last statement: set the alarm here (H1). */
  arm(): void;
  /** The transaction, and what was armed in it, did not happen. */
  rolledBack(): void;
  /** Called after the commit: persist, then speak. */
  committed(changes: Changes): void;
  /** `committed` has thrown: somebody was not told of what has happened. */
  untold(error: unknown): void;
}

/** The only way to change rows. `seq` is taken inside the transaction, once, by the first visible change. */
export class Journal {
  #open = false;
  /** The run that this process has begun and not yet called the model for: its first attempt is written already. */
  begun: number | null = null;
  events: JournalEvents = { arm: () => {}, rolledBack: () => {}, committed: () => {}, untold: () => {} };

  constructor(
    readonly store: Store,
    readonly now: () => number,
  ) {}

  get read(): Reads {
    return this.store;
  }

  /** The conversation, or an error: for code that runs only where there is one. */
  conversation(): ConversationRow {
    const row = this.store.get("conversation");
    if (!row) throw new Error("This object has no conversation.");
    return row;
  }

  run(turn: number): RunRow | null {
    return turn === 0 ? null : this.store.get("runs", turn);
  }

  /** The run that is running or suspended. */
  liveRun(): RunRow | null {
    const run = this.run(this.store.get("conversation")?.turn ?? 0);
    return run && isLive(run) ? run : null;
  }

  /** Pending pause points. They belong to the live run, so only its own are looked at (H22). */
  pending(): PausePointRow[] {
    const run = this.liveRun();
    return run ? this.store.pausePointsFrom(run.firstPausePoint).filter((row) => row.state === "pending") : [];
  }

  /** `name` says which change this is, for logs and for tests that break it there. */
  transaction<T>(name: string, body: (tx: Transaction) => T): T {
    if (this.#open) throw new Error(`Transaction ${name} was opened inside another.`);
    this.#open = true;
    const tx = new Transaction(this.store, this.now());
    let result: T;
    try {
      result = this.store.atomically(() => {
        const made = body(tx);
        tx.close();
        if (tx.wrote) this.events.arm();
        return made;
      });
    } catch (error) {
      this.events.rolledBack();
      throw error;
    } finally {
      this.#open = false;
    }
    this.begun = tx.begun ?? this.begun;
    // What was committed has happened, whether or not it could be told: a throw here must not stop what follows of it.
    if (tx.changes.seq) {
      try {
        this.events.committed(tx.changes);
      } catch (error) {
        this.events.untold(error);
      }
    }
    return result;
  }
}

export const isLive = (run: RunRow): boolean => run.status === "running" || run.status === "suspended";
