import type { Decision } from "../../src/protocol/commands.js";
import { acknowledge, acknowledgeDecision } from "../../src/conversation/acks.js";
import { Outbox } from "../../src/conversation/outbox.js";
import { Timers } from "../../src/conversation/timers.js";
import { createConversation } from "../../src/core/create.js";
import { Engine } from "../../src/core/engine.js";
import { idempotencyKey, pausePointId } from "../../src/core/ids.js";
import { Journal } from "../../src/core/journal.js";
import { defaultLimits } from "../../src/core/limits.js";
import type { Actor, Ports } from "../../src/core/ports.js";
import type { Store } from "../../src/core/rows.js";
import type { Changes } from "../../src/core/transaction.js";
import type { IndexDb } from "./index-db.js";
import { agent, toolsOf } from "./outside.js";
import { HOUR, MEMBERS, QUEUE, type DecideFrame, type Sent } from "./terms.js";

export const CONVERSATION = `c_${"7".repeat(32)}`;

/** What outlives a process: the journal's rows and the index. */
export interface Disk {
  /** The rows as a new process finds them. */
  open(): Store;
  index: IndexDb;
  /** Takes everything away, for the next conversation. */
  clear(): void;
  /** Lets what is written become durable, and others have their turn. */
  settle(): Promise<void>;
}

export type Phase = "before" | "inside" | "after";

/** Thrown where a process dies: what it was about to do is not done. */
export class Death extends Error {}

interface Process {
  engine: Engine;
  journal: Journal;
  outbox: Outbox;
  timers: Timers;
  /** Deliveries that have not ended. */
  delivering: number;
}

/** The real engine, journal, outbox, acknowledgements and timers, with everything around them under a command's control. */
export class World {
  now = Date.UTC(2026, 10, 1, 12);
  alarm: number | null = null;
  /** The process dies in the transaction that comes when this many have passed. */
  death: { left: number; phase: Phase } | null = null;
  died: { transaction: string; phase: Phase } | null = null;
  /** What each call's tool was run with, in order, and what the agent was told at each step: in each process once. */
  readonly ran = new Map<string, number[]>();
  readonly told: { step: string; told: string; process: number }[] = [];
  /** What was committed since somebody looked. */
  commits: Changes[] = [];
  readonly broken: string[] = [];
  #process: Process;
  #processes = 0;
  #ops = 0;
  #timers: { at: number; run: () => void; process: number }[] = [];

  constructor(readonly disk: Disk) {
    disk.clear();
    this.#process = this.#begin();
    this.journal.transaction("create", (tx) => {
      createConversation(tx, { id: CONVERSATION, owner: "ana", title: "", skill: "assistant", epoch: "e1" });
      for (const [person, role] of Object.entries(MEMBERS)) if (role !== "owner") tx.putMember(person, role, false);
    });
  }

  get journal(): Journal {
    return this.#process.journal;
  }

  /** An opId that nobody has used. */
  nextOp = (): string => `op${(this.#ops += 1)}`;

  /** Gives a frame to the object, as its socket or the route does. Throws `Death` when it is not answered. */
  take({ person, frame }: Sent): string {
    const { engine, journal } = this.#process;
    const actor: Actor = { person, device: { id: person, name: `${person}'s device` }, via: "opId" in frame && frame.opId !== null ? "socket" : "http" };
    switch (frame.type) {
      case "decide": {
        const { opId } = frame;
        const decision = decisionOf(frame);
        if (opId === null) return engine.decide(actor, [decision])[0]?.code ?? "nothing";
        const ack = acknowledgeDecision(journal, actor, opId, decision, () =>
          engine.decide(actor, [decision], opId).map(({ row: _row, ...outcome }) => ({ ...outcome, card: null })),
        );
        return `${ack.status}/${ack.code}`;
      }
      case "batch":
        return engine
          .decide(actor, frame.decisions.map(decisionOf))
          .map(({ code }) => code)
          .join();
      case "send":
        return answerOf(acknowledge(frame.opId, engine.send(actor, frame)));
      case "cancel":
        return answerOf(acknowledge(frame.opId, engine.cancel(actor, frame)));
    }
  }

  /** The platform fires the alarm, when it is set and due. Again, when its handler died. */
  fireAlarm(early = false): void {
    if (!early && (this.alarm === null || this.alarm > this.now)) return;
    this.alarm = null;
    this.#process.timers.forget(true);
    try {
      this.#lookAfter(this.#process);
    } catch (error) {
      if (error instanceof Death) this.alarm = this.now;
      throw error;
    }
  }

  /** Whatever process there was is gone, and another begins on the same rows, for a short while or a long one. */
  wake(death: World["death"] = null): void {
    this.death = death;
    this.disk.index.hangs = false;
    this.#process = this.#begin();
    this.#lookAfter(this.#process);
  }

  /** Nothing of this is to be heard of any more: the next sequence has the disk. */
  abandon(): void {
    this.died = { transaction: "none", phase: "before" };
  }

  /** Lets time pass without an alarm, as for an object that is awake. */
  pass(ms: number): void {
    this.now += ms;
    const due = this.#timers.filter(({ at }) => at <= this.now).toSorted((a, b) => a.at - b.at);
    this.#timers = this.#timers.filter(({ at }) => at > this.now);
    for (const { run, process } of due) if (process === this.#processes) run();
  }

  /** When everything that goes on by itself has come to rest, or to its death. */
  async rest(): Promise<void> {
    for (let turns = 0; this.#process.engine.busy || (this.#process.delivering > 0 && !this.disk.index.hangs); turns += 1) {
      if (this.died) return;
      if (turns > 20_000) throw new Error("It never comes to rest.");
      await Promise.resolve();
    }
  }

  /** Calls that have begun and not ended, as far as this process goes. */
  begun(): { key: string; ran: number[] }[] {
    const { store } = this.journal;
    const calls = store.calls(store.get("conversation")?.turn ?? 0).filter(({ state }) => state === "started");
    return calls.map((call) => idempotencyKey("", call).slice(1)).map((key) => ({ key, ran: [...(this.ran.get(key) ?? [])] }));
  }

  #lookAfter({ engine, outbox, timers }: Process): void {
    engine.reconcile();
    outbox.deliver();
    timers.arm();
  }

  #begin(): Process {
    const id = (this.#processes += 1);
    this.died = null;
    this.#timers = [];
    const journal = new Journal(this.disk.open(), () => this.now);
    const tools = toolsOf((key, amount) => this.#toolRan(key.slice(CONVERSATION.length + 1), amount));
    const ports: Ports = {
      journal,
      clock: { now: () => this.now, after: (ms, run) => this.#after(id, ms, run), breathe: async () => {} },
      model: agent((told) => {
        const run = journal.liveRun();
        if (id === this.#processes && !this.died) this.told.push({ step: `r${run?.turn}.${run?.step}`, told: run?.step === 0 ? "" : told, process: id });
      }),
      agent: () => ({ system: "", tools }),
      env: {},
      // A run may have any number of steps here; the history is cut where a person spoke, to save time.
      limits: { ...defaultLimits, expiresInMs: HOUR, queuedTexts: QUEUE, stepsPerRun: 1000, contextTokens: 2000 },
      resume: { mode: "continue" },
      randomWord: () => "w0rd",
      background: (work) => void work.catch(() => {}),
      live: () => {},
      log: (event, fields) => {
        if (event === "driver.failed" && !this.died && id === this.#processes) this.broken.push(`the driver failed: ${String(fields["error"])}`);
      },
    };
    const engine = new Engine(ports);
    const process: Process = {
      engine,
      journal,
      outbox: new Outbox({ ...ports, background: (work) => this.#delivery(process, work) }, journal, this.disk.index.binding),
      timers: this.#alarmOf(() => process),
      delivering: 0,
    };
    journal.events = {
      arm: process.timers.arm,
      rolledBack: () => process.timers.forget(false),
      committed: (changes) => {
        this.commits.push(changes);
        this.#resumed(journal, changes);
        process.outbox.changed(changes);
      },
      untold: (error) => void (error instanceof Death || this.broken.push(`somebody was not told: ${String(error)}`)),
    };
    this.#mortal(id, journal);
    return process;
  }

  #alarmOf(process: () => Process): Timers {
    return new Timers({ setAlarm: async (time) => void (this.alarm = Number(time)) }, () => {
      const due = [process().engine.nextDue(), process().outbox.nextDue()].filter((time) => time !== null);
      return due.length ? Math.min(...due) : null;
    });
  }

  #delivery(process: Process, work: Promise<void>): void {
    process.delivering += 1;
    work.catch(() => {}).finally(() => (process.delivering -= 1));
  }

  #after(process: number, ms: number, run: () => void): () => void {
    const timer = { at: this.now + ms, run, process };
    this.#timers.push(timer);
    return () => {
      const place = this.#timers.indexOf(timer);
      if (place >= 0) this.#timers.splice(place, 1);
    };
  }

  #toolRan(key: string, amount: number): void {
    this.ran.set(key, [...(this.ran.get(key) ?? []), amount]);
  }

  /** H4: what settles a card of a live run has that run running, in the same commit, and resumes it once. */
  #resumed(journal: Journal, { lines }: Changes): void {
    const count = (event: string): number => lines.filter((line) => line.event === event).length;
    if (count("pause_point.settled") === 0 || count("run.ended") > 0) return;
    const run = journal.liveRun();
    const resumed = count("run.resumed");
    if (run?.status !== "running" || resumed > 1) this.broken.push(`a card was settled, its run is ${run?.status}, and was resumed ${resumed} times`);
  }

  /** Any transaction may be the last of its process. An alarm set in one that did not happen is not set. */
  #mortal(id: number, journal: Journal): void {
    const real = journal.transaction.bind(journal);
    journal.transaction = (name, body) => {
      if (this.died || id !== this.#processes) throw new Death("this process is dead");
      const dies = this.death !== null && (this.death.left -= 1) < 0 ? this.death.phase : null;
      const die = (phase: Phase): never => {
        this.died = { transaction: name, phase };
        throw new Death(`${phase} ${name}`);
      };
      if (dies === "before") die(dies);
      const { alarm } = this;
      let made;
      try {
        made = real(name, (tx) => {
          const result = body(tx);
          if (dies === "inside") die(dies);
          return result;
        });
      } catch (error) {
        this.alarm = alarm;
        throw error;
      }
      if (dies === "after") die(dies);
      return made;
    };
  }
}

const decisionOf = ({ type: _, opId: _op, n, ...rest }: DecideFrame): Decision => ({ pausePointId: pausePointId(CONVERSATION, n), ...rest });

const answerOf = ({ status, code }: { status: string; code?: string | undefined }): string => (code === undefined ? status : `${status}/${code}`);
