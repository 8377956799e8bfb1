import type { Decision } from "../../src/protocol/commands.js";
import type { CommandOutcome } from "../../src/core/command.js";
import { createConversation } from "../../src/core/create.js";
import { Engine } from "../../src/core/engine.js";
import { pausePointId, runId } from "../../src/core/ids.js";
import { Journal } from "../../src/core/journal.js";
import { defaultLimits } from "../../src/core/limits.js";
import { MemoryStore } from "../../src/core/memory-store.js";
import type { Actor, ResumeMode } from "../../src/core/ports.js";
import type { PausePointRow, RunRow } from "../../src/core/rows.js";
import { Invariants, Violation } from "./invariants.js";
import { Outside } from "./outside.js";
import { Random } from "./random.js";
import { Scheduler, settled } from "./scheduler.js";

const ID = `c_${"5".repeat(32)}`;
const MODES: ResumeMode[] = [{ mode: "continue" }, { mode: "continue" }, { mode: "message", auto: true }, { mode: "message", auto: false }];
const person = (name: string, device: string): Actor => ({ person: name, device: { id: device, name: device }, via: "socket" });
const PEOPLE = [person("ana", "laptop"), person("ana", "phone"), person("ben", "tablet"), person("vic", "desk")];

class Crash extends Error {}

interface Process {
  id: number;
  engine: Engine;
  journal: Journal;
}

/** What happened, for people: counted in every simulation, told only when one is replayed. */
export interface Report {
  commands: number;
  crashes: number;
  effects: number;
  decided: number;
}

/**
 * One conversation, lived through by a seed: people who send, decide, edit and cancel, a model and tools that do as
 * they please, processes that die at any transaction, and a clock that jumps. The same seed lives the same life.
 */
export class SimulatedConversation {
  readonly report: Report = { commands: 0, crashes: 0, effects: 0, decided: 0 };
  readonly #random: Random;
  readonly #scheduler: Scheduler;
  readonly #outside: Outside;
  readonly #store = new MemoryStore();
  readonly #invariants: Invariants;
  readonly #mode: ResumeMode;
  /** Texts that were acknowledged: they may not be missing. */
  readonly #acknowledged = new Set<string>();
  /** Commands without an answer are sent again with the same opId, as a client does. */
  #unanswered: ((process: Process) => void)[] = [];
  #process: Process | null = null;
  #processes = 0;
  #alarm: number | null = null;
  #broken: Violation | null = null;
  #calm = false;

  constructor(
    seed: number,
    private readonly tell: (line: string) => void = () => {},
  ) {
    this.#random = new Random(seed);
    this.#scheduler = new Scheduler(this.#random);
    this.#invariants = new Invariants(this.#store);
    this.#mode = this.#random.pick(MODES);
    this.#outside = new Outside(this.#random, this.#scheduler, {
      effect: (effect) => {
        this.report.effects += 1;
        this.tell(`effect ${JSON.stringify(effect)}`);
        this.#watched(() => this.#invariants.effect(effect));
      },
      began: (attempt) => this.#watched(() => this.#invariants.began(attempt)),
      modelCall: (check) => this.#watched(() => this.#invariants.modelCall(check)),
    });
  }

  /** Throws a `Violation` when a rule was broken. */
  async live(): Promise<void> {
    this.tell(`mode ${JSON.stringify(this.#mode)}`);
    const first = this.#wake();
    first.journal.transaction("create", (tx) => {
      createConversation(tx, { id: ID, owner: "ana", title: "", skill: "assistant", epoch: "e1" });
      tx.putMember("ben", "approver", false);
      tx.putMember("vic", "viewer", false);
    });
    for (let turn = 40 + this.#random.int(80); turn > 0; turn -= 1) {
      // People answer what they are asked more often than they say something of their own.
      const waiting = this.#store.get("conversation")?.state === "paused";
      if (this.#random.chance(waiting ? 0.5 : 0.1)) {
        this.#command(waiting);
        await settled();
      } else await this.#happen();
      this.#verify();
    }
    await this.#rest();
  }

  /** People and crashes come to an end; what was begun must come to rest by itself. */
  async #rest(): Promise<void> {
    this.#calm = true;
    this.#outside.calm = true;
    for (let events = 0; events < 2000; events += 1) {
      this.#sendAgain();
      if (!(await this.#happen())) break;
      this.#verify();
    }
    this.#verify();
    this.#watched(() => this.#invariants.atRest());
    for (const id of this.#acknowledged) if (!this.#store.userStep(id)) this.#broken = new Violation(`S5: the text ${id} was acknowledged and is not there`);
    if (this.#broken) throw this.#broken;
  }

  /** Lets the next thing happen: a timer, a chunk, the end of a tool, or the alarm. False when nothing is to come. */
  async #happen(): Promise<boolean> {
    const { next } = this.#scheduler;
    const alarm = this.#alarm;
    if (!this.#process && !this.#calm && this.#random.chance(0.3)) this.#wake();
    if (alarm !== null && (next === null || alarm <= Math.max(next, this.#scheduler.now))) {
      this.#scheduler.now = Math.max(this.#scheduler.now, alarm);
      this.#alarm = null;
      this.tell("alarm");
      const handler = this.#process ?? this.#wake();
      this.#lookAfter(handler);
      // The platform takes an alarm for done when its handler has ended, and fires it again when that died.
      if (this.#process !== handler) this.#alarm = this.#scheduler.now + 2000;
      await settled();
      return true;
    }
    return this.#scheduler.step();
  }

  #verify(): void {
    this.#watched(() => this.#invariants.check());
    this.#watched(() => this.#invariants.checkSignals(this.#process?.id ?? null));
    if (this.#broken) throw this.#broken;
  }

  // A violation inside a promise of the product would be swallowed there as any error is.
  #watched(check: () => void): void {
    try {
      check();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.#broken ??= error;
    }
  }

  #wake(): Process {
    const id = (this.#processes += 1);
    this.tell(`process ${id} begins`);
    const journal = new Journal(this.#store, () => this.#scheduler.now);
    const tools = this.#outside.tools(id);
    const engine: Engine = new Engine({
      journal,
      clock: { now: () => this.#scheduler.now, after: (ms, callback) => this.#scheduler.after(id, ms, () => this.#survives(callback)), breathe: () => this.#scheduler.wait(id) },
      model: this.#outside.model(id),
      agent: () => ({ system: "", tools }),
      env: {},
      limits: { ...defaultLimits, stepsPerRun: 6 },
      resume: this.#mode,
      randomWord: () => "w0rd",
      background: (work) => void work.catch(() => {}),
      live: (flush, last) => {
        if (!last) this.#watched(() => this.#invariants.flush(id, flush));
      },
      log: (event, fields) => this.tell(`${event} ${JSON.stringify(fields)}`),
    });
    const process: Process = { id, engine, journal };
    journal.events = {
      ...journal.events,
      arm: () => this.#arm(process),
      committed: (changes) => changes.lines.forEach(({ event, fields }) => this.tell(`  ${event} ${JSON.stringify(fields)}`)),
    };
    this.#mortal(process);
    this.#process = process;
    this.#lookAfter(process);
    return process;
  }

  /** A timer whose process dies over it has nobody to tell. */
  #survives(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
    }
  }

  /** As the object does with the first event of its life, and with its alarm. */
  #lookAfter(process: Process): void {
    this.#survives(() => {
      process.engine.reconcile();
      this.#arm(process);
    });
  }

  #arm(process: Process): void {
    const due = process.engine.nextDue();
    if (due !== null && (this.#alarm === null || due < this.#alarm)) this.#alarm = due;
  }

  /** Any transaction may be the last of its process, before it or after it. An alarm set in one that did not happen is not set. */
  #mortal(process: Process): void {
    const { journal } = process;
    const real = journal.transaction.bind(journal);
    const die = (name: string, when: string): never => {
      this.tell(`process ${process.id} dies ${when} ${name}`);
      this.report.crashes += 1;
      this.#scheduler.drop(process.id);
      if (this.#process === process) this.#process = null;
      throw new Crash(name);
    };
    journal.transaction = (name, body) => {
      if (this.#process !== process) throw new Crash("this process is dead");
      const mayDie = !this.#calm && this.#store.get("conversation") !== null;
      if (mayDie && this.#random.chance(0.015)) die(name, "before");
      const alarm = this.#alarm;
      let result;
      try {
        result = real(name, (tx) => {
          const made = body(tx);
          if (mayDie && this.#random.chance(0.01)) die(name, "inside");
          return made;
        });
      } catch (error) {
        this.#alarm = alarm;
        throw error;
      }
      if (mayDie && this.#random.chance(0.015)) die(name, "after");
      return result;
    };
  }

  #sendAgain(): void {
    const again = this.#unanswered;
    this.#unanswered = [];
    for (const send of again) this.#give(send);
  }

  /** Gives a command to whatever process there is. One that dies over it has answered nothing. */
  #give(send: (process: Process) => void): void {
    try {
      send(this.#process ?? this.#wake());
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      this.#unanswered.push(send);
    }
  }

  #command(waiting: boolean): void {
    const random = this.#random;
    this.report.commands += 1;
    const actor = random.pick(PEOPLE);
    const opId = `op-${this.report.commands}`;
    if (waiting && random.chance(0.6)) return this.#decide(actor, opId);
    const withdraw = random.chance(0.3);
    const positions = this.#store.places(0);
    const message = positions.length === 0 ? null : random.pick(positions).messageId;
    switch (random.int(12)) {
      case 0:
      case 1:
      case 2:
        return this.#text(actor, opId, withdraw, undefined);
      case 3:
        return this.#text(actor, opId, withdraw, random.chance(0.3) ? null : (message ?? null));
      case 4:
        if (message) this.#plain("regenerate", actor, withdraw, ({ engine }) => engine.regenerate(actor, { opId, messageId: message, withdraw }));
        return;
      case 5:
        if (message) this.#plain("head", actor, withdraw, ({ engine }) => engine.head(actor, { opId, messageId: message, withdraw }));
        return;
      case 6:
        if (random.chance(0.4)) this.#plain("cancel", actor, false, ({ engine, journal }) => engine.cancel(actor, { opId, runId: runId(journal.conversation().turn) }));
        return;
      case 7:
        this.#scheduler.now += random.int(10) ** 2 * 600_000;
        return this.tell(`the clock jumps to ${new Date(this.#scheduler.now).toISOString()}`);
      default:
        return this.#decide(actor, opId);
    }
  }

  #plain(name: string, actor: Actor, withdraw: boolean, send: (process: Process) => CommandOutcome): void {
    this.#give((process) => {
      const live = process.journal.liveRun();
      const outcome = send(process);
      this.tell(`${actor.person} ${name}: ${outcome.code ?? outcome.status}`);
      this.#refusesViewers(actor, outcome);
      if (name !== "cancel" && !withdraw) this.#leavesRun(process, live);
    });
  }

  #refusesViewers(actor: Actor, { status }: CommandOutcome): void {
    if (actor.person === "vic" && status !== "rejected") this.#broken ??= new Violation("C42: a viewer has changed something");
  }

  /** H22: nobody ends a run by moving away from it without saying so. */
  #leavesRun({ journal }: Process, live: RunRow | null): void {
    if (live && journal.run(live.turn)?.status === "cancelled") this.#broken ??= new Violation("H22: a run was cancelled by a command that did not ask for it");
  }

  #text(actor: Actor, opId: string, withdraw: boolean, parentId: string | null | undefined): void {
    const messageId = `u-${opId}`;
    this.#give((process) => {
      const { engine, journal } = process;
      const live = journal.liveRun();
      const asked = journal.pending().map(({ n }) => n);
      const outcome = engine.send(actor, { opId, messageId, text: opId, withdraw, ...(parentId === undefined ? {} : { parentId }) });
      this.tell(`${actor.person} says ${messageId}${parentId === undefined ? "" : ` under ${parentId}`}${withdraw ? ", withdrawing" : ""}: ${outcome.code ?? outcome.status}`);
      this.#refusesViewers(actor, outcome);
      if (outcome.status !== "rejected") this.#acknowledged.add(messageId);
      if (!withdraw) this.#leavesRun(process, live);
      else if (outcome.status === "applied" && journal.pending().some(({ n }) => asked.includes(n))) this.#broken ??= new Violation("H22: a card is pending that was withdrawn");
    });
  }

  #decide(actor: Actor, opId: string): void {
    const cards = this.#store.pausePointsFrom(1);
    if (cards.length === 0) return;
    const waiting = cards.filter(({ state }) => state === "pending");
    const card = this.#random.pick(waiting.length > 0 && this.#random.chance(0.9) ? waiting : cards);
    const decision = this.#answer(card);
    const by = card.forPerson !== null && this.#random.chance(0.8) ? (PEOPLE.find(({ person: name }) => name === card.forPerson) ?? actor) : actor;
    this.#give(({ engine }) => {
      const [outcome] = engine.decide(by, [decision], opId);
      this.tell(`${by.person} decides ${JSON.stringify(decision)}: ${outcome?.code}`);
      if (outcome?.code === "decided") this.report.decided += 1;
      if (by.person === "vic" && outcome?.code !== "forbidden") this.#broken ??= new Violation("C42: a viewer's decision was not refused");
      const { latitude = 0 } = (decision.payloadOverride ?? {}) as { latitude?: number };
      if (latitude > 90 && outcome?.code === "decided") this.#broken ??= new Violation("H10: an answer that its tool does not take was taken");
      if (card.forPerson !== null && by.person !== card.forPerson && outcome?.code === "decided") this.#broken ??= new Violation("H10: another person's device answered");
    });
  }

  #answer(card: PausePointRow): Decision {
    const random = this.#random;
    const base = { pausePointId: pausePointId(ID, card.n), version: random.chance(0.9) ? card.version : 1, reply: "because" };
    if (random.chance(0.25)) return { ...base, decision: "reject" };
    if (card.forPerson !== null) return { ...base, decision: "approve", payloadOverride: { latitude: random.chance(0.2) ? 1000 : 1, longitude: 2, accuracyMeters: 3 } };
    if (card.kind === "recovery") return { ...base, decision: "approve", choice: random.pick(["retry", "happened", "did_not_happen"]) };
    if (card.kind === "choice") return { ...base, decision: "approve", choice: random.pick(["a", "b", "c"]) };
    return { ...base, decision: "approve", ...(random.chance(0.3) ? { payloadOverride: { amount: random.pick([1, 2, 60, 500]) } } : {}) };
  }
}
