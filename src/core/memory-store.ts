import {
  KEYS,
  type Backlog,
  type CallRow,
  type ChangedRows,
  type Key,
  type MemberRow,
  type Operation,
  type PausePointRow,
  type Place,
  type StepRow,
  type Store,
  type Table,
  type Tables,
} from "./rows.js";

type Rows = { [T in Table]: Map<string, Tables[T]> };

/** A journal's rows in maps, for tests and simulation. Rows are replaced, never changed in place, so undo is a list. */
export class MemoryStore implements Store {
  #rows: Rows = { conversation: new Map(), members: new Map(), steps: new Map(), runs: new Map(), calls: new Map(), pausePoints: new Map(), catalog: new Map() };
  #undo: (() => void)[] | null = null;

  atomically<T>(body: () => T): T {
    const undo: (() => void)[] = [];
    this.#undo = undo;
    let result: T;
    try {
      result = body();
    } catch (error) {
      for (const step of undo.reverse()) step();
      throw error;
    } finally {
      this.#undo = null;
    }
    this.committed(undo);
    return result;
  }

  /** Takes how a commit could be taken back, step by step. A simulated disk may lose its newest ones. */
  protected committed(_undo: (() => void)[]): void {}

  /** Adds what else is to be taken back when the transaction is that is open; false when none is. */
  protected alsoUndo(step: () => void): boolean {
    this.#undo?.push(step);
    return this.#undo !== null;
  }

  create(): void {}

  purge(): void {
    const before = this.#rows;
    this.#rows = { conversation: before.conversation, members: new Map(), steps: new Map(), runs: new Map(), calls: new Map(), pausePoints: new Map(), catalog: new Map() };
    this.#undo?.push(() => void (this.#rows = before));
  }

  raise(floor: number): void {
    const lifted = (row: { version: number }): { version: number; mirrored: number; parked: 0 } => ({ version: Math.max(row.version, floor) + 1, mirrored: 0, parked: 0 });
    for (const row of this.members()) this.update("members", [row.person], lifted(row));
    for (const row of this.pausePointsFrom(0)) this.update("pausePoints", [row.n], { ...lifted(row), raised: row.raised + Math.max(row.version, floor) + 1 - row.version });
  }

  insert<T extends Table>(table: T, row: Tables[T]): void {
    const rows = this.#rows[table] as Map<string, Tables[T]>;
    const id = KEYS[table].map((column) => (row as unknown as Record<string, unknown>)[column]).join(":");
    if (rows.has(id)) throw new Error(`UNIQUE constraint failed: ${table} ${id}`);
    rows.set(id, { ...row });
    this.#undo?.push(() => rows.delete(id));
  }

  update<T extends Table>(table: T, key: Key, patch: Partial<Tables[T]>, when: Partial<Tables[T]> = {}): boolean {
    const rows = this.#rows[table] as Map<string, Tables[T]>;
    const id = key.join(":");
    const old = rows.get(id);
    if (!old) return false;
    for (const column of Object.keys(when) as (keyof Tables[T])[]) if (old[column] !== when[column]) return false;
    rows.set(id, { ...old, ...patch });
    this.#undo?.push(() => rows.set(id, old));
    return true;
  }

  get<T extends Table>(table: T, ...key: Key): Tables[T] | null {
    return ((this.#rows[table] as Map<string, Tables[T]>).get(key.join(":")) as Tables[T] | undefined) ?? null;
  }

  members(): MemberRow[] {
    return [...this.#rows.members.values()];
  }

  message(position: number): StepRow[] {
    return this.#steps((row) => row.position === position);
  }

  places(after: number): Place[] {
    const messages = new Map(this.#steps((row) => row.position > after).map((row) => [row.position, row]));
    return [...messages.values()].map(({ position, messageId, parent }) => ({ position, messageId, parent }));
  }

  stepsBefore(position: number, limit: number): StepRow[] {
    return this.#steps((row) => row.position < position)
      .toReversed()
      .slice(0, limit);
  }

  userStep(messageId: string): StepRow | null {
    return this.#steps((row) => row.role === "user" && row.messageId === messageId)[0] ?? null;
  }

  queued(after: number): StepRow[] {
    return this.#steps((row) => row.position > after && row.delivery === "queued");
  }

  calls(turn: number): CallRow[] {
    return [...this.#rows.calls.values()].filter((row) => row.turn === turn).toSorted((a, b) => a.step - b.step || a.index - b.index);
  }

  callsOfStep(turn: number, step: number): CallRow[] {
    return this.calls(turn).filter((row) => row.step === step);
  }

  pausePointsFrom(n: number): PausePointRow[] {
    return [...this.#rows.pausePoints.values()].filter((row) => row.n >= n).toSorted((a, b) => a.n - b.n);
  }

  operation(person: string, opId: string): Operation | null {
    const step = this.#steps((row) => row.person === person && row.opId === opId)[0];
    if (step) return { kind: "send", step };
    const pausePoints = [...this.#rows.pausePoints.values()];
    const decided = pausePoints.find((row) => row.decidedBy === person && row.opId === opId);
    if (decided) return { kind: "decide", pausePoint: decided };
    const replaced = pausePoints.find((row) => row.replacedBy === person && row.replacedOp === opId);
    if (replaced) return { kind: "replace", pausePoint: replaced };
    const runs = [...this.#rows.runs.values()];
    const cancelled = runs.find((row) => row.cancelledBy === person && row.opId === opId);
    if (cancelled) return { kind: "cancel", run: cancelled };
    const begun = runs.find((row) => row.person === person && row.begunOp === opId);
    if (begun) return { kind: "regenerate", run: begun };
    const conversation = this.get("conversation");
    return conversation?.headBy === person && conversation.headOp === opId ? { kind: "head" } : null;
  }

  changedSince(seq: number, limit: number): ChangedRows {
    const newer = (row: { seq: number }): boolean => row.seq > seq;
    return {
      steps: this.#steps(newer).slice(0, limit),
      calls: [...this.#rows.calls.values()].filter(newer).slice(0, limit),
      pausePoints: this.pausePointsFrom(0).filter(newer).slice(0, limit),
    };
  }

  undelivered(limit: number): PausePointRow[] {
    return this.pausePointsFrom(0)
      .filter((row) => row.version > row.mirrored && !row.parked)
      .slice(0, limit);
  }

  backlog(): Backlog {
    const conversation = this.get("conversation");
    const at = conversation?.updatedAt ?? 0;
    const rows = [
      ...(conversation ? [{ ...conversation, at }] : []),
      ...this.members().map((row) => ({ ...row, at })),
      ...this.pausePointsFrom(0).map((row) => ({ ...row, at: row.decidedAt ?? row.createdAt })),
    ].filter((row) => row.version > row.mirrored);
    const waiting = rows.filter((row) => !row.parked);
    return { undelivered: waiting.length, parked: rows.length - waiting.length, oldest: waiting.length ? Math.min(...waiting.map((row) => row.at)) : null };
  }

  #steps(where: (row: StepRow) => boolean): StepRow[] {
    return [...this.#rows.steps.values()].filter(where).toSorted((a, b) => a.position - b.position || a.step - b.step);
  }
}
