import { canonicalJson } from "../../src/protocol/json.js";
import { branchUp } from "../../src/core/branches.js";
import { isLive } from "../../src/core/journal.js";
import { storedJson } from "../../src/core/outcome.js";
import type { CallRow, PausePointRow, Reads } from "../../src/core/rows.js";
import type { Owner } from "./scheduler.js";
import { TOOLS, type Begun, type Effect, type ToolName } from "./outside.js";

export class Violation extends Error {
  override name = "Violation";
}

export function hold(rule: string, holds: boolean, told: () => string): asserts holds {
  if (!holds) throw new Violation(`${rule}: ${told()}`);
}

const ENDED = new Set(["succeeded", "failed", "denied", "unknown"]);

/** What must be true of one conversation at every moment, whatever happens to it. */
export class Invariants {
  readonly #settled = new Map<number, string>();
  readonly #ended = new Map<number, string>();
  readonly #endedCalls = new Map<string, string>();
  readonly #effects = new Map<string, number>();
  readonly #modelCalls = new Set<string>();
  #begun: Begun[] = [];
  #seq = 0;

  constructor(private readonly reads: Reads) {}

  /** H5, H6: a tool's effect was allowed, with just this input, and is not there more often than people asked for it. */
  effect({ tool, key, input }: Effect): void {
    const count = (this.#effects.get(key) ?? 0) + 1;
    this.#effects.set(key, count);
    // Of a deleted conversation nothing is kept by which to judge.
    if (this.reads.get("conversation")?.deletedAt !== null) return;
    const call = this.#callOf(key);
    hold("H5", call !== null && call.tries > 0, () => `${key} took effect, and no try of it is written`);
    const cards = this.#cardsOf(call);
    const known = TOOLS[tool as ToolName] as { asks: boolean; idempotent: boolean } | undefined;
    if (known?.asks) {
      const approved = cards.find(({ kind, state }) => kind === "approval" && state === "approved");
      hold("H2", approved !== undefined, () => `${key} took effect without an approval`);
      const shown = storedJson(approved.payloadOverride ?? approved.payload);
      hold("H6", canonicalJson(shown) === canonicalJson(input), () => `${key} ran with ${canonicalJson(input)}, approved was ${canonicalJson(shown)}`);
    }
    if (known && !known.idempotent) {
      const retries = cards.filter(({ kind, choice }) => kind === "recovery" && storedJson(choice) === "retry").length;
      hold("H5", count <= 1 + retries, () => `${key} took effect ${count} times, and people asked for ${retries} retries`);
    }
  }

  began(attempt: Begun): void {
    hold("H6", attempt.fits, () => `${attempt.key} was begun with an input that its tool does not take any more`);
    // An earlier try of the call has ended, and needs no telling.
    this.#begun = [...this.#begun.filter(({ key }) => key !== attempt.key), attempt];
  }

  /** H7, H14, H17: one model call an attempt, when every call of the run has ended, and with a history that providers take. */
  modelCall(check: () => void): void {
    const run = this.reads.get("runs", this.reads.get("conversation")?.turn ?? 0);
    if (!run) return;
    const name = `run ${run.turn} attempt ${run.attempt}`;
    hold("H17", !this.#modelCalls.has(name), () => `${name} has called the model twice`);
    this.#modelCalls.add(name);
    const open = this.reads.calls(run.turn).find(({ state }) => state === "awaiting" || state === "ready" || state === "started");
    hold("H7", open === undefined, () => `${name} calls the model while ${open?.toolCallId} is ${open?.state}`);
    try {
      check();
    } catch (error) {
      throw new Violation(error instanceof Error ? error.message : String(error));
    }
  }

  /** H1: each transaction takes the next `seq`, or none. */
  committed(): void {
    const { seq } = this.reads.get("conversation") ?? { seq: 0 };
    hold("H1", seq === this.#seq || seq === this.#seq + 1, () => `seq went from ${this.#seq} to ${seq} in one transaction`);
    this.#seq = seq;
  }

  /** The newest commits never happened. */
  lost(): void {
    this.#seq = this.reads.get("conversation")?.seq ?? 0;
  }

  check(): void {
    const { reads } = this;
    const conversation = reads.get("conversation");
    if (!conversation || conversation.deletedAt !== null) return;
    const run = reads.get("runs", conversation.turn);
    const live = run !== null && isLive(run) ? run : null;
    const cards = reads.pausePointsFrom(1);
    const pending = cards.filter(({ state }) => state === "pending");
    for (const card of cards) this.#cardStaysDecided(card);
    for (const card of pending) {
      hold("H22", live?.turn === card.turn, () => `card ${card.n} is pending, and its run ${card.turn} is not the live one`);
      const call = reads.get("calls", card.turn, card.step, card.index);
      hold("H13", !call || !this.#wasRefused(call, live?.sinceStep ?? 0), () => `card ${card.n} asks again what was rejected in this run`);
      hold("H3", call?.state === "awaiting" && call.pausePoint === card.n, () => `card ${card.n} is pending, and its call is ${call?.state} with card ${call?.pausePoint}`);
    }
    if (live?.status === "suspended") hold("H4", pending.length > 0, () => "the run is suspended, and nobody is asked");
    const state = live === null ? "idle" : live.status === "suspended" ? "paused" : "running";
    hold("H4", conversation.state === state, () => `the conversation is ${conversation.state}, its run ${live?.status ?? "none"}`);
    for (let turn = 1; turn <= conversation.turn; turn += 1) this.#runStaysEnded(turn);
    if (live) hold("H22", conversation.head === live.position, () => `the head is ${conversation.head}, the live run writes ${live.position}`);
    this.#branchReachesRoot(conversation.head);
  }

  /** H19: what a cancelled run had begun in the process that is alive was told to stop. */
  checkSignals(alive: Owner | null): void {
    this.#begun = this.#begun.filter(({ owner }) => owner === alive);
    for (const { key, signal } of this.#begun) {
      const call = this.#callOf(key);
      const run = call && this.reads.get("runs", call.turn);
      if (call?.state === "started" && run?.status === "cancelled") hold("H19", signal.aborted, () => `${key} runs on after its run was cancelled, and was not told`);
    }
  }

  #wasRefused(call: CallRow, since: number): boolean {
    return this.reads
      .calls(call.turn)
      .some((other) => other.step >= since && other.step < call.step && other.cause === "rejected" && other.tool === call.tool && other.input === call.input);
  }

  /** After everything has come to rest. */
  atRest(): void {
    this.check();
    const conversation = this.reads.get("conversation");
    if (conversation?.deletedAt !== null) return;
    const run = this.reads.get("runs", conversation?.turn ?? 0);
    hold("H4", run?.status !== "running", () => "the run is running, and nothing goes on");
    hold("H9", this.reads.queued(0).length === 0 || run?.status === "suspended", () => "a text waits, and no run is live");
    const answered = new Set(this.reads.places(0).map(({ parent }) => parent));
    for (let turn = 1; turn <= (conversation?.turn ?? 0); turn += 1) answered.add(this.reads.get("runs", turn)?.parent ?? 0);
    for (const { position } of this.reads.places(0)) {
      const [row] = this.reads.message(position);
      if (row?.role === "user" && row.person !== null && row.delivery === "sent")
        hold("H9", answered.has(position), () => `the text ${row.messageId} was taken, and given to no run`);
    }
    for (let turn = 1; turn <= (conversation?.turn ?? 0); turn += 1)
      for (const call of this.reads.calls(turn))
        hold("H19", call.state !== "started" && (call.state !== "ready" || run?.status === "suspended"), () => `call ${call.toolCallId} is ${call.state} for ever`);
  }

  #cardStaysDecided(card: PausePointRow): void {
    if (card.state === "pending") {
      hold("H3", !this.#settled.has(card.n), () => `card ${card.n} is pending again`);
      return;
    }
    const outcome = canonicalJson([card.state, card.decidedBy, card.decidedDevice, card.choice, card.reply, card.payloadOverride, card.decidedAt]);
    const before = this.#settled.get(card.n) ?? outcome;
    if (card.decidedBy !== null) {
      hold("H11", card.expiresAt === null || (card.decidedAt ?? 0) < card.expiresAt, () => `card ${card.n} was decided after its deadline`);
      const { amount = 0 } = (storedJson(card.payloadOverride ?? card.payload) ?? {}) as { amount?: number };
      hold("H12", card.kind !== "approval" || card.state !== "approved" || amount <= 50 || card.risk === "high", () => `card ${card.n} of ${card.risk} risk approved ${amount}`);
    }
    hold("H3", before === outcome, () => `card ${card.n} was ${before} and is ${outcome}`);
    this.#settled.set(card.n, outcome);
  }

  #runStaysEnded(turn: number): void {
    const run = this.reads.get("runs", turn);
    if (!run) return;
    for (const call of this.reads.calls(turn)) this.#callStaysEnded(call);
    if (isLive(run)) return;
    const end = canonicalJson([run.status, run.stopReason, run.endedAt]);
    const before = this.#ended.get(turn) ?? end;
    hold("H17", before === end, () => `run ${turn} ended as ${before} and then as ${end}`);
    this.#ended.set(turn, end);
  }

  /** H17: how a call has ended stays so. Only of one that was given up after a cancellation the true end may still come (H19). */
  #callStaysEnded(call: CallRow): void {
    if (!ENDED.has(call.state) || (call.state === "unknown" && call.cause === "cancelled")) return;
    const end = canonicalJson([call.state, call.cause, call.output, call.error]);
    const before = this.#endedCalls.get(call.toolCallId) ?? end;
    hold("H17", before === end, () => `call ${call.toolCallId} ended as ${before} and then as ${end}`);
    this.#endedCalls.set(call.toolCallId, end);
  }

  #branchReachesRoot(head: number): void {
    let last = Number.MAX_SAFE_INTEGER;
    for (const position of branchUp(this.reads, head)) {
      const rows = this.reads.message(position);
      hold("H22", rows.length > 0 || position === head, () => `message ${position} is on the branch, and is not there`);
      hold("H22", position !== last, () => `message ${position} is its own parent`);
      last = position;
    }
  }

  #callOf(key: string): CallRow | null {
    const [, turn, step, index] = /\.r(\d+)\.(\d+)\.(\d+)$/.exec(key) ?? [];
    return this.reads.get("calls", Number(turn), Number(step), Number(index));
  }

  #cardsOf(call: CallRow): PausePointRow[] {
    return this.reads.pausePointsFrom(1).filter(({ turn, step, index }) => turn === call.turn && step === call.step && index === call.index);
  }
}
