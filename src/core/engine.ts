import { loggable } from "../protocol/loggable.js";
import type { Decision } from "../protocol/commands.js";
import type { Role } from "../protocol/entities.js";
import type { LiveAttempt } from "../protocol/frames.js";
import { chooseHead, regenerate, type BranchCommand } from "./branches.js";
import type { CommandOutcome } from "./command.js";
import { cancel, send, type SendCommand } from "./commands.js";
import { beginTry, recordResult, runTool, type Try } from "./execute.js";
import { toolCallId } from "./ids.js";
import { remove, rename, setMember } from "./owner.js";
import type { Transaction } from "./transaction.js";
import type { CallRow, RunRow } from "./rows.js";
import { decide, expireDue, type DecisionOutcome } from "./pause-point.js";
import type { Actor, Ports } from "./ports.js";
import { finishRun, liveRun, settle } from "./run.js";
import { beginAttempt, streamStep, type Streaming } from "./stream.js";

/**
 * One conversation's agent: takes commands, and drives the live run. Commands only change the journal and
 * `kick()`; the driver alone calls the model and executes tools, and there is one driver (H17).
 */
export class Engine {
  #driving = false;
  #wake: (() => void) | null = null;
  #streaming: Streaming | null = null;
  readonly #executing = new Map<string, AbortController>();

  constructor(private readonly ports: Ports) {}

  send(actor: Actor, command: SendCommand): CommandOutcome {
    return this.#command("send", (tx, streaming) => send(this.ports, tx, actor, command, streaming));
  }

  regenerate(actor: Actor, command: BranchCommand): CommandOutcome {
    return this.#command("regenerate", (tx, streaming) => regenerate(tx, actor, command, streaming));
  }

  /** Chooses the branch in use. */
  head(actor: Actor, command: BranchCommand): CommandOutcome {
    return this.#command("head", (tx, streaming) => chooseHead(tx, actor, command, streaming));
  }

  rename(actor: Actor, title: string): CommandOutcome {
    return this.#command("rename", (tx) => rename(tx, actor, title));
  }

  setMember(actor: Actor, person: string, role: Exclude<Role, "owner"> | null): CommandOutcome {
    return this.#command("member", (tx) => setMember(this.ports, tx, actor, person, role));
  }

  remove(actor: Actor): CommandOutcome {
    return this.#command("delete", (tx, streaming) => remove(tx, actor, streaming));
  }

  cancel(actor: Actor, command: { opId: string | null; runId: string }): CommandOutcome {
    return this.#command("cancel", (tx, streaming) => cancel(tx, actor, command, streaming));
  }

  /** Decides one by one, in one transaction; the answers are in the order of the decisions. */
  decide(actor: Actor, decisions: Decision[], opId: string | null = null): DecisionOutcome[] {
    const outcomes = this.ports.journal.transaction("decide", (tx) => decisions.map((decision) => decide(this.ports, tx, actor, decision, opId)));
    this.kick();
    return outcomes;
  }

  /** Writes a command. One that has cancelled the live run signals the model and the tools then (H19). */
  #command(name: string, body: (tx: Transaction, streaming: Streaming | null) => CommandOutcome): CommandOutcome {
    const { journal, clock, limits } = this.ports;
    const live = journal.liveRun();
    const streaming = this.#streaming;
    const outcome = journal.transaction(name, (tx) => body(tx, streaming));
    if (live && journal.run(live.turn)?.status === "cancelled") {
      streaming?.abort.abort();
      for (const abort of this.#executing.values()) abort.abort(new Error("The run was cancelled."));
      clock.after(limits.cancelGraceMs, () => this.reconcile());
    }
    if (outcome.status === "applied") this.kick();
    return outcome;
  }

  /** What time has made due: cards to expire, calls to give up. Then the run goes on, if there is one. Harmless at any time. */
  reconcile(): void {
    const { journal } = this.ports;
    if (!journal.read.get("conversation")) return;
    const now = journal.now();
    const pending = journal.pending();
    if (pending.some((row) => row.expiresAt !== null && row.expiresAt <= now)) journal.transaction("expire", (tx) => expireDue(this.ports, tx, pending));
    if (journal.conversation().lingering !== null) journal.transaction("give_up", (tx) => this.#giveUp(tx));
    this.kick();
  }

  /** Starts the driver, or wakes it. */
  kick(): void {
    this.#wake?.();
    if (this.#driving || this.ports.journal.liveRun()?.status !== "running") return;
    this.#driving = true;
    this.ports.background(this.#drive());
  }

  /** The step being streamed, for a device that joins. */
  live(): LiveAttempt[] | null {
    return this.#streaming?.live.snapshot() ?? null;
  }

  /** Whether a driver, a model or a tool is at work in this process. */
  get busy(): boolean {
    return this.#driving || this.#executing.size > 0;
  }

  /** When `reconcile` is next needed, in milliseconds UTC; null when nothing is due ever. */
  nextDue(): number | null {
    const { journal, limits } = this.ports;
    const conversation = journal.read.get("conversation");
    if (!conversation) return null;
    const due = journal.pending().flatMap((row) => (row.expiresAt === null ? [] : [row.expiresAt]));
    if (conversation.lingering !== null) due.push((journal.run(conversation.lingering)?.endedAt ?? 0) + limits.cancelGraceMs);
    // A run in progress is looked after in case this process dies (H4).
    if (journal.liveRun()?.status === "running") due.push(journal.now() + 10_000);
    return due.length ? Math.min(...due) : null;
  }

  async #drive(): Promise<void> {
    try {
      while (await this.#turn());
    } catch (error) {
      this.#driving = false;
      this.ports.log("driver.failed", { error: loggable(error) });
      this.#countFailure();
    }
  }

  /** A driver that fails for a reason of its own has made no progress either: after three times the run ends (H18). */
  #countFailure(): void {
    const { journal, limits, log } = this.ports;
    try {
      journal.transaction("driver_failed", (tx) => {
        const run = liveRun(tx);
        if (run?.status !== "running") return;
        if (run.fruitless < limits.fruitless) tx.countAttempt(run.turn, { attempt: run.attempt, fruitless: run.fruitless + 1 }, { status: "running", attempt: run.attempt });
        else
          finishRun(
            tx,
            run,
            "failed",
            "error",
            "Something went wrong here several times, so the run has ended. Write again to try once more; if it stays so, the operator's log says why.",
          );
      });
    } catch (error) {
      log("driver.failed", { error: loggable(error) });
    }
  }

  /** One decision from the journal, and what follows of it. False, with the driver gone in the same turn, when the run rests. */
  async #turn(): Promise<boolean> {
    const { journal } = this.ports;
    const next = journal.transaction("settle", (tx) => settle(this.ports, tx, (call) => this.#isExecuting(call)));
    switch (next.do) {
      case "stop":
        this.#driving = false;
        return false;
      case "wait":
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = null;
        return true;
      case "execute":
        for (const call of next.calls) this.#start(call);
        return true;
      case "model":
        await this.#step(next.run);
        return true;
    }
  }

  async #step(run: RunRow): Promise<void> {
    const { journal } = this.ports;
    // Before the attempt is counted: what changes while others are asked is seen by its condition.
    if (this.ports.discover) await this.ports.discover();
    const isNew = journal.begun === run.turn;
    if (isNew) journal.begun = null;
    const begun = (isNew ? this.#firstAttempt(run) : null) ?? this.#nextAttempt(run, isNew);
    if (!begun) return;
    await this.ports.clock.breathe();
    // Cancelled, or deleted, in that breath: there was no model call yet to abort (H19).
    const current = this.ports.journal.run(begun.turn);
    if (current?.status !== "running" || current.attempt !== begun.attempt) return;
    await streamStep(
      this.ports,
      begun,
      (call) => this.#isExecuting(call),
      (now) => {
        this.#streaming = now;
      },
    );
  }

  /** The attempt with which this process has begun the run, unless there is something to write before it. */
  #firstAttempt(run: RunRow): RunRow | null {
    const { journal, resume } = this.ports;
    const current = journal.run(run.turn);
    const needsWord = resume.mode === "message" && journal.conversation().word === null;
    return current?.status === "running" && current.attempt === 1 && !needsWord && journal.read.queued(current.position).length === 0 ? current : null;
  }

  #nextAttempt(run: RunRow, counted: boolean): RunRow | null {
    return this.ports.journal.transaction("attempt", (tx) => {
      const current = liveRun(tx);
      return current && current.turn === run.turn ? beginAttempt(this.ports, tx, current, counted) : null;
    });
  }

  #start(call: CallRow): void {
    const attempt = this.ports.journal.transaction("start", (tx) => {
      const run = liveRun(tx);
      return run ? beginTry(this.ports, tx, run, call) : null;
    });
    if (attempt) this.ports.background(this.#execute(attempt));
  }

  async #execute(attempt: Try): Promise<void> {
    const { call } = attempt;
    const abort = new AbortController();
    this.#executing.set(call.toolCallId, abort);
    const result = await runTool(this.ports, attempt, abort);
    try {
      this.ports.journal.transaction("result", (tx) => {
        if (!recordResult(this.ports, tx, attempt, result)) return;
        const run = liveRun(tx);
        if (run?.turn === call.turn) settle(this.ports, tx, (other) => this.#isExecuting(other));
        else this.#giveUp(tx);
      });
    } finally {
      this.#executing.delete(call.toolCallId);
      this.#wake?.();
    }
  }

  #isExecuting(call: CallRow): boolean {
    return this.#executing.has(toolCallId(call.turn, call.step, call.index));
  }

  /** Calls of ended runs that are `started` still: unknown when their time is up, or their process is dead (H19). */
  #giveUp(tx: Transaction): void {
    const { lingering, turn } = tx.conversation;
    if (lingering === null) return;
    let oldest: number | null = null;
    for (let one = lingering; one <= turn; one += 1) {
      const run = tx.run(one);
      if (!run || run.endedAt === null) continue;
      for (const call of tx.store.calls(one)) {
        if (call.state !== "started") continue;
        const late = run.endedAt + this.ports.limits.cancelGraceMs <= tx.now || !this.#isExecuting(call);
        if (late) tx.updateCall(call, { state: "unknown", cause: "cancelled", endedAt: tx.now }, { state: "started", tries: call.tries });
        else oldest ??= one;
      }
    }
    tx.patchConversation({ lingering: oldest });
  }
}
