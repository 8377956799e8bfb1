import type { Role } from "../protocol/entities.js";
import type { CallRow, CatalogRow, ConversationRow, Key, PausePointRow, Reads, RunRow, StepRow, Store } from "./rows.js";

// The one place where a conversation changes: wholly or not at all, and told only afterwards.

/** What a committed transaction touched. */
export interface Changes {
  seq: number;
  conversation: boolean;
  run: number | null;
  /** `position:step` of each message step to show again, its calls included. */
  steps: Set<string>;
  pausePoints: Set<number>;
  /** A row that must leave this object (H4). */
  outbox: boolean;
}

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

/** Writes of one transaction. The rows of the conversation and its runs are written once, at the end: rows written are the bill. */
export class Transaction {
  wrote = false;
  begun: number | null = null;
  readonly changes: Changes = { seq: 0, conversation: false, run: null, steps: new Set(), pausePoints: new Set(), outbox: false };
  #patch: Partial<ConversationRow> = {};
  readonly #runs = new Map<number, Partial<RunRow>>();

  constructor(
    readonly store: Store,
    readonly now: number,
  ) {}

  /** The conversation as this transaction has left it so far. */
  get conversation(): ConversationRow {
    const row = this.store.get("conversation");
    if (!row) throw new Error("This object has no conversation.");
    return { ...row, ...this.#patch };
  }

  /** A run as this transaction has left it so far. */
  run(turn: number): RunRow | null {
    const row = turn === 0 ? null : this.store.get("runs", turn);
    return row && { ...row, ...this.#runs.get(turn) };
  }

  /** The sequence number of this transaction's visible changes. */
  seq(): number {
    if (!this.changes.seq) this.changes.seq = this.conversation.seq + 1;
    return this.changes.seq;
  }

  patchConversation(patch: Partial<ConversationRow>): void {
    this.seq();
    this.changes.conversation = true;
    Object.assign(this.#patch, patch, { updatedAt: this.now });
    // These columns are in D1 too, so a change of them must leave.
    if ("state" in patch || "title" in patch || "pausePointId" in patch || "deletedAt" in patch) this.#patch.version = (this.store.get("conversation")?.version ?? 0) + 1;
  }

  /** Seen by no client: no `seq`, nothing broadcast. */
  setWord(word: string): void {
    this.store.update("conversation", [], { word });
    this.wrote = true;
  }

  insertConversation(row: ConversationRow): void {
    this.store.create();
    this.store.insert("conversation", row);
    this.wrote = true;
    this.changes.seq = row.seq;
    this.changes.outbox = true;
  }

  putMember(person: string, role: Role, removed: boolean): void {
    const old = this.store.get("members", person);
    const patch = { role, removed: removed ? 1 : 0, version: (old?.version ?? 0) + 1 } as const;
    if (old) this.store.update("members", [person], patch);
    else this.store.insert("members", { person, ...patch, mirrored: 0 });
    this.#touched();
    this.changes.conversation = true;
    this.changes.outbox = true;
  }

  insertStep(row: Omit<StepRow, "seq">): void {
    this.store.insert("steps", { ...row, seq: this.seq() });
    this.changes.steps.add(`${row.position}:${row.step}`);
    this.#touched();
  }

  updateStep(row: StepRow, patch: Partial<StepRow>): void {
    this.store.update("steps", [row.position, row.step], { ...patch, seq: this.seq() });
    this.changes.steps.add(`${row.position}:${row.step}`);
    this.#touched();
  }

  insertRun(row: Omit<RunRow, "seq">): void {
    this.store.insert("runs", { ...row, seq: this.seq() });
    this.changes.run = row.turn;
    this.#touched();
  }

  updateRun(turn: number, patch: Partial<RunRow>, when: Partial<RunRow> = {}): boolean {
    if (!this.#patchRun(turn, { ...patch, seq: this.seq() }, when)) return false;
    this.changes.run = turn;
    this.#touched();
    return true;
  }

  /** Writes that no client sees, such as counters: no `seq`, nothing broadcast. */
  countAttempt(turn: number, patch: Pick<RunRow, "attempt" | "fruitless">, when: Partial<RunRow>): boolean {
    this.wrote = true;
    return this.#patchRun(turn, patch, when);
  }

  #patchRun(turn: number, patch: Partial<RunRow>, when: Partial<RunRow>): boolean {
    const row = this.run(turn);
    if (!row) return false;
    for (const column of Object.keys(when) as (keyof RunRow)[]) if (row[column] !== when[column]) return false;
    this.#runs.set(turn, { ...this.#runs.get(turn), ...patch });
    return true;
  }

  insertCall(row: Omit<CallRow, "seq">): void {
    this.store.insert("calls", { ...row, seq: this.seq() });
    this.changes.steps.add(`${row.position}:${row.step}`);
    this.#touched();
  }

  updateCall(call: CallRow, patch: Partial<CallRow>, when: Partial<CallRow>): boolean {
    if (!this.store.update("calls", [call.turn, call.step, call.index], { ...patch, seq: this.seq() }, when)) return false;
    this.changes.steps.add(`${call.position}:${call.step}`);
    this.#touched();
    return true;
  }

  insertPausePoint(row: Omit<PausePointRow, "seq" | "mirrored" | "parked" | "version">): void {
    this.store.insert("pausePoints", { ...row, seq: this.seq(), version: 1, mirrored: 0, parked: 0 });
    this.changes.pausePoints.add(row.n);
    this.changes.outbox = true;
    this.#touched();
  }

  /** H3: the one statement that settles or changes a pause point. Anything but a pending row of this version stays as it is. */
  updatePausePoint(row: PausePointRow, patch: Partial<PausePointRow>): boolean {
    const next = { ...patch, version: row.version + 1, seq: this.seq() };
    if (!this.store.update("pausePoints", [row.n], next, { state: "pending", version: row.version })) return false;
    this.changes.pausePoints.add(row.n);
    this.changes.outbox = true;
    this.#touched();
    return true;
  }

  /** What a server offers, as it described it last. No client sees it: no `seq`, nothing broadcast. */
  putCatalog(row: CatalogRow): void {
    const { server, ...patch } = row;
    if (!this.store.update("catalog", [server], patch)) this.store.insert("catalog", row);
    this.wrote = true;
  }

  /** Advances what D1 has taken, to the version that was sent (H21). */
  mirrored(table: "pausePoints" | "members" | "conversation", key: Key, version: number): void {
    const row = this.store.get(table, ...key);
    if (row && row.mirrored < version) this.store.update(table, key, { mirrored: version });
  }

  park(n: number): void {
    this.store.update("pausePoints", [n], { parked: 1 });
  }

  close(): void {
    for (const [turn, patch] of this.#runs) this.store.update("runs", [turn], patch);
    if (Object.keys(this.#patch).length === 0 && !this.#seqUsed()) return;
    this.wrote = true;
    const patch = { ...this.#patch, ...(this.#seqUsed() ? { seq: this.changes.seq } : {}) };
    if (patch.version !== undefined) this.changes.outbox = true;
    this.store.update("conversation", [], patch);
  }

  #seqUsed(): boolean {
    return this.changes.seq > (this.store.get("conversation")?.seq ?? 0);
  }

  #touched(): void {
    this.seq();
    this.wrote = true;
  }
}
