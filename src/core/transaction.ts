import type { Role } from "../protocol/entities.js";
import { pausePointId, runId } from "./ids.js";
import type { CallRow, CatalogRow, ConversationRow, Key, PausePointRow, RunRow, StepRow, Store } from "./rows.js";

// What one transaction writes, and what it has touched.

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
  /** One line for each change of state, for the operator: ids, states and numbers, never texts (H16). */
  lines: LogLine[];
}

export interface LogLine {
  event: string;
  fields: Record<string, string | number | null>;
}

/** Adds what devices must be told of a later commit. Its lines and its outbox are its own. */
export function mergeChanges(into: Changes, later: Changes): void {
  into.seq = later.seq;
  into.conversation ||= later.conversation;
  into.run = later.run ?? into.run;
  for (const step of later.steps) into.steps.add(step);
  for (const n of later.pausePoints) into.pausePoints.add(n);
}

const RUN_EVENTS = { running: "run.resumed", suspended: "run.suspended", completed: "run.ended", failed: "run.ended", cancelled: "run.ended" } as const;

/** Writes of one transaction. The rows of the conversation and its runs are written once, at the end: rows written are the bill. */
export class Transaction {
  wrote = false;
  begun: number | null = null;
  readonly changes: Changes = { seq: 0, conversation: false, run: null, steps: new Set(), pausePoints: new Set(), outbox: false, lines: [] };
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
    if (patch.deletedAt) this.#line("conversation.deleted", {});
    // These columns are in D1 too, so a change of them must leave.
    if ("state" in patch || "title" in patch || "pausePointId" in patch || "deletedAt" in patch)
      Object.assign(this.#patch, { version: (this.store.get("conversation")?.version ?? 0) + 1, parked: 0 });
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
    this.#line("conversation.created", {});
  }

  putMember(person: string, role: Role, removed: boolean): void {
    const old = this.store.get("members", person);
    const patch = { role, removed: removed ? 1 : 0, version: (old?.version ?? 0) + 1, parked: 0 } as const;
    if (old) this.store.update("members", [person], patch);
    else this.store.insert("members", { person, ...patch, mirrored: 0 });
    this.#touched();
    this.changes.conversation = true;
    this.changes.outbox = true;
    this.#line("member.set", { role: removed ? null : role });
  }

  insertStep(row: Omit<StepRow, "seq">): void {
    this.store.insert("steps", { ...row, seq: this.seq() });
    this.changes.steps.add(`${row.position}:${row.step}`);
    this.#line(row.role === "user" ? "text.taken" : "step.committed", { run: runId(row.turn), position: row.position, step: row.step });
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
    this.#line("run.started", { run: runId(row.turn) });
    this.#touched();
  }

  updateRun(turn: number, patch: Partial<RunRow>, when: Partial<RunRow> = {}): boolean {
    if (!this.#patchRun(turn, { ...patch, seq: this.seq() }, when)) return false;
    this.changes.run = turn;
    if (patch.status) this.#line(RUN_EVENTS[patch.status], { run: runId(turn), status: patch.status, reason: patch.stopReason ?? null });
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
    this.#callLine(row, row);
    this.#touched();
  }

  updateCall(call: CallRow, patch: Partial<CallRow>, when: Partial<CallRow>): boolean {
    if (!this.store.update("calls", [call.turn, call.step, call.index], { ...patch, seq: this.seq() }, when)) return false;
    this.changes.steps.add(`${call.position}:${call.step}`);
    if (patch.state) this.#callLine(call, patch);
    this.#touched();
    return true;
  }

  insertPausePoint(row: Omit<PausePointRow, "seq" | "mirrored" | "parked" | "version" | "raised">): void {
    this.store.insert("pausePoints", { ...row, seq: this.seq(), version: 1, mirrored: 0, parked: 0, raised: 0 });
    this.changes.pausePoints.add(row.n);
    this.#line("pause_point.opened", { run: runId(row.turn), pausePoint: this.#pausePointId(row.n), call: row.toolCallId, kind: row.kind });
    this.changes.outbox = true;
    this.#touched();
  }

  /** H3: the one statement that settles or changes a pause point. Anything but a pending row of this version stays as it is. */
  updatePausePoint(row: PausePointRow, patch: Partial<PausePointRow>): boolean {
    // Another version is judged anew by D1, so it is not parked (H21).
    const next = { ...patch, version: row.version + 1, parked: 0, seq: this.seq() } as const;
    if (!this.store.update("pausePoints", [row.n], next, { state: "pending", version: row.version })) return false;
    this.changes.pausePoints.add(row.n);
    this.changes.outbox = true;
    const event = patch.state ? "pause_point.settled" : "pause_point.replaced";
    this.#line(event, { run: runId(row.turn), pausePoint: this.#pausePointId(row.n), call: row.toolCallId, state: patch.state ?? row.state });
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

  /** Puts aside a version that D1 has refused for good; one that has come since stays (H21). */
  park(table: "pausePoints" | "members" | "conversation", key: Key, version: number): void {
    this.store.update<typeof table>(table, key, { parked: 1 }, { version });
  }

  /** Lifts every row's version above what D1 may hold, and begins a new epoch: all is sent and shown again (H21, S2). */
  reindex(floor: number, epoch: string): void {
    this.seq();
    this.store.raise(floor);
    Object.assign(this.#patch, { version: Math.max(this.conversation.version, floor) + 1, mirrored: 0, parked: 0, epoch });
    this.#line("conversation.reindexed", { floor });
  }

  close(): void {
    for (const [turn, patch] of this.#runs) this.store.update("runs", [turn], patch);
    if (Object.keys(this.#patch).length === 0 && !this.#seqUsed()) return;
    this.wrote = true;
    const patch = { ...this.#patch, ...(this.#seqUsed() ? { seq: this.changes.seq } : {}) };
    if (patch.version !== undefined) this.changes.outbox = true;
    this.store.update("conversation", [], patch);
  }

  #line(event: string, fields: LogLine["fields"]): void {
    this.changes.lines.push({ event, fields });
  }

  #callLine(call: Pick<CallRow, "turn" | "toolCallId">, now: Partial<CallRow>): void {
    this.#line(`call.${now.state ?? ""}`, { run: runId(call.turn), call: call.toolCallId, cause: now.cause ?? null, tries: now.tries ?? null });
  }

  #pausePointId = (n: number): string => pausePointId(this.conversation.id, n);

  #seqUsed(): boolean {
    return this.changes.seq > (this.store.get("conversation")?.seq ?? 0);
  }

  #touched(): void {
    this.seq();
    this.wrote = true;
  }
}
