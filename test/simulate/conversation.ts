import type { ClientFrame } from "../../src/protocol/frames.js";
import { defaultLimits } from "../../src/core/limits.js";
import { runId } from "../../src/core/ids.js";
import { isLive } from "../../src/core/journal.js";
import type { Actor, ResumeMode } from "../../src/core/ports.js";
import type { RunRow } from "../../src/core/rows.js";
import type { Settings } from "../../src/settings.js";
import { SimulatedD1 } from "./d1.js";
import { SimulatedDevice } from "./device.js";
import { enterWorld } from "./globals.js";
import { DEVICES, OverHttp } from "./http.js";
import { hold, Invariants, Violation } from "./invariants.js";
import { Outside } from "./outside.js";
import { ID, Platform, type Process } from "./platform.js";
import { Random } from "./random.js";
import { OUTSIDE, Scheduler } from "./scheduler.js";
import { Told } from "./told.js";

const MODES: ResumeMode[] = [{ mode: "continue" }, { mode: "continue" }, { mode: "message", auto: true }, { mode: "message", auto: false }];
/** Most conversations are one person's with one device. */
const HOW_MANY = [1, 1, 1, 1, 1, 1, 2, 2, 2, 4];
/** Far more than a life needs to come to rest. */
const MOST_EVENTS = 3000;

/** What happened, for people: counted in every simulation, told only when one is replayed. */
export interface Report {
  commands: number;
  crashes: number;
  effects: number;
  decided: number;
  batches: number;
}

/**
 * One conversation, lived through by a seed: its Durable Object on a platform that lets processes die, a D1, people
 * with devices, a model and tools that do as they please, and a clock that jumps. The same seed lives the same life.
 */
export class SimulatedConversation {
  readonly report: Report = { commands: 0, crashes: 0, effects: 0, decided: 0, batches: 0 };
  readonly #random: Random;
  readonly #scheduler: Scheduler;
  readonly #outside: Outside;
  readonly #platform: Platform;
  readonly #d1: SimulatedD1;
  readonly #invariants: Invariants;
  readonly #told: Told;
  readonly #mode: ResumeMode;
  readonly #http: OverHttp;
  #devices: SimulatedDevice[] = [];
  #broken: Error | null = null;
  #checked = -1;

  constructor(
    seed: number,
    private readonly tell: (line: string) => void = () => {},
  ) {
    const random = new Random(seed);
    this.#random = random;
    this.#scheduler = new Scheduler(random);
    this.#mode = random.pick(MODES);
    this.#outside = new Outside(random, this.#scheduler, {
      effect: (effect) => {
        this.report.effects += 1;
        this.tell(`effect ${JSON.stringify(effect)}`);
        this.#watched(() => this.#invariants.effect(effect));
      },
      began: (attempt) => this.#watched(() => this.#invariants.began(attempt)),
      modelCall: (check) => this.#watched(() => this.#invariants.modelCall(check)),
      twoAtOnce: (process) => this.#watched(() => hold("H17", false, () => `process ${process} calls the model while it is being answered by it`)),
    });
    this.#d1 = new SimulatedD1(this.#scheduler, random, (table, row, before) => this.#watched(() => this.#told.mirrored(table, row, before)));
    this.#platform = new Platform(this.#scheduler, random, (process) => this.#settings(process), this.#d1, {
      tell: (line) => this.tell(line),
      committed: () => this.#watched(() => this.#invariants.committed()),
      lost: () => this.#invariants.lost(),
      leaves: (wire, text, process) => this.#watched(() => this.#told.left(wire, text, process)),
      arrives: (wire, text, handle) => this.#arrives(wire.person, text, handle),
    });
    this.#outside.platform = this.#platform;
    this.#invariants = new Invariants(this.#platform.rows);
    this.#told = new Told(this.#platform.rows, this.#d1);
    this.#http = new OverHttp(this.#platform, random, {
      tell: (line) => this.tell(line),
      watched: (check) => this.#watched(check),
      leavingRun: (withdraw, move) => this.#leavingRun(withdraw, move),
    });
  }

  /** Throws a `Violation` when a rule was broken. Needs `installGlobals`. */
  async live(): Promise<void> {
    enterWorld({ platform: this.#platform, scheduler: this.#scheduler, random: this.#random, log: (line) => this.#logged(line) });
    try {
      await this.#begin();
      for (let turn = 20 + this.#random.int(55); turn > 0; turn -= 1) {
        await this.#next();
        this.#verify();
      }
      await this.#rest();
    } finally {
      enterWorld(null);
      this.report.crashes = this.#platform.crashes;
      this.report.batches = this.#d1.batches;
    }
  }

  async #begin(): Promise<void> {
    this.tell(`mode ${JSON.stringify(this.#mode)}`);
    const { rows } = this.#platform;
    const owner: Actor = { person: "ana", device: { id: "laptop", name: "laptop" }, via: "http" };
    const people = [
      ["ben", "approver"],
      ["vic", "viewer"],
    ] as const;
    while (people.some(([person]) => !rows.get("members", person)))
      await this.#platform.turn(OUTSIDE, () => {
        this.#platform.enter((object) => {
          object.create("ana", { id: ID, title: "", skill: "assistant" });
          for (const [person, role] of people) object.setMember(owner, person, role);
        });
      });
    const there = DEVICES.slice(0, this.#random.pick(HOW_MANY));
    this.#devices = there.map(([person, name]) => this.#device(person, name));
    this.#devices[0]?.store.send("a first text");
  }

  #device(person: string, name: string): SimulatedDevice {
    return new SimulatedDevice(person, name, this.#platform, this.#random, (check) => this.#watched(check));
  }

  /** Somebody does something, or the next thing happens by itself. */
  async #next(): Promise<void> {
    const random = this.#random;
    // People answer what they are asked more often than they say something of their own.
    const waiting = this.#platform.rows.get("conversation")?.state === "paused";
    if (!random.chance(waiting ? 0.35 : 0.12)) {
      if (random.chance(0.02)) this.#platform.evict();
      await this.#happen();
      return;
    }
    this.report.commands += 1;
    const mood = random.next();
    if (mood < 0.04) return this.#jump();
    if (mood < 0.12) return await this.#platform.turn(OUTSIDE, () => this.#http.act());
    if (mood < 0.14) return this.#platform.die("of itself");
    const device = random.pick(this.#devices);
    await this.#platform.turn(device.owner, () => (device.away ? device.load() : this.tell(`${device.person} on ${device.name} ${device.act()}`)));
    const other = random.pick(this.#devices);
    const [card] = other.pending;
    // Two answer the same card in the same moment.
    if (card && other !== device && !other.away && random.chance(0.2))
      await this.#platform.turn(other.owner, () => this.tell(`at once ${other.person} on ${other.name} ${other.decide(card)}`));
  }

  #jump(): void {
    this.#scheduler.now += this.#random.int(10) ** 2 * 600_000;
    this.tell(`the clock jumps to ${new Date(this.#scheduler.now).toISOString()}`);
  }

  /** A device's frame arrives at the object. */
  #arrives(person: string, text: string, handle: () => void): void {
    if (!text.includes('"opId"')) return handle();
    const frame = JSON.parse(text) as ClientFrame;
    this.#told.asked(person, frame);
    this.tell(`from ${person}: ${text}`);
    if (frame.type === "send" || frame.type === "regenerate" || frame.type === "head") this.#leavingRun(frame.withdraw === true, handle);
    else handle();
    if (frame.type === "decide") this.report.decided += 1;
  }

  /** H22: nobody ends a run by moving away from it without saying so. */
  #leavingRun(withdraw: boolean, move: () => void): void {
    const live = this.#liveRun();
    const { crashes } = this.#platform;
    move();
    if (withdraw || !live || crashes !== this.#platform.crashes) return;
    const now = this.#platform.rows.get("runs", live.turn);
    this.#watched(() => hold("H22", now?.status !== "cancelled", () => `${runId(live.turn)} was cancelled by a command that did not ask for it`));
  }

  #liveRun(): RunRow | null {
    const { rows } = this.#platform;
    const run = rows.get("runs", rows.get("conversation")?.turn ?? 0);
    return run && isLive(run) ? run : null;
  }

  /** People and crashes come to an end; what was begun must come to rest by itself, where nobody is or with everyone there. */
  async #rest(): Promise<void> {
    const alone = this.#random.chance(0.5);
    if (alone) for (const device of this.#devices) device.leave();
    if (alone && this.#random.chance(0.3)) this.#platform.die("when everyone has left");
    this.#platform.calm = this.#outside.calm = this.#d1.calm = true;
    this.tell(alone ? "everyone has left; it comes to rest" : "it comes to rest");
    if (!alone) this.#assemble();
    await this.#settle();
    // An alarm that never came is made up for by the object's next life, whatever that begins with.
    if (this.#platform.alarmLost) {
      this.#platform.die("for its alarm has never come");
      await this.#platform.turn(OUTSIDE, () => void this.#platform.enter(() => {}));
      await this.#settle();
    }
    this.#watched(() => this.#invariants.atRest());
    this.#watched(() => this.#told.atRest());
    this.#verify();
    if (this.#platform.rows.get("conversation")?.deletedAt !== null) return;
    if (alone && this.#random.chance(0.75)) return;
    this.#assemble();
    const fresh = this.#device("ana", "fresh");
    fresh.setVisible(false);
    await this.#settle();
    for (const device of [...this.#devices, fresh])
      this.#watched(() =>
        hold("S7", device.settled, () => `${device.name} is ${device.store.getSnapshot().status}, with ${device.store.getSnapshot().unacknowledged.length} commands unanswered`),
      );
    for (const device of this.#devices) this.#watched(() => device.showsAs(fresh));
    this.#verify();
  }

  /** Every device is there, and online; nobody looks at any, for that makes them speak for ever. */
  #assemble(): void {
    for (const device of this.#devices) {
      if (device.away) device.load();
      device.setVisible(false);
      device.setOnline(true);
    }
  }

  async #settle(): Promise<void> {
    for (let events = 0; await this.#happen(); events += 1) {
      if (events > MOST_EVENTS) throw new Violation(`H18: after ${MOST_EVENTS} events it has not come to rest`);
      this.#verify();
    }
  }

  /** Lets the next thing happen: a timer, a frame, an answer, or the alarm. False when nothing is to come. */
  async #happen(): Promise<boolean> {
    const scheduler = this.#scheduler;
    const { alarmAt } = this.#platform;
    const { next } = scheduler;
    if (alarmAt !== null && (next === null || alarmAt <= Math.max(next, scheduler.now))) {
      scheduler.now = Math.max(scheduler.now, alarmAt);
      await this.#platform.fire();
      return true;
    }
    const event = scheduler.take();
    if (event) await this.#platform.turn(event.owner, event.run);
    return event !== null;
  }

  #verify(): void {
    const { rows, process } = this.#platform;
    if (rows.changes !== this.#checked) {
      this.#checked = rows.changes;
      this.#watched(() => this.#invariants.check());
      this.#watched(() => this.#invariants.checkSignals(process?.owner ?? null));
    }
    if (this.#broken) throw this.#broken;
  }

  // A violation inside a promise of the product would be swallowed there as any error is.
  #watched(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#broken ??= error instanceof Error ? error : new Error(String(error));
    }
  }

  /** The operator's log. What fails for a reason that is not the simulation's is a defect. */
  #logged(line: string): void {
    this.tell(`  ${line}`);
    if (/"event":"[a-z_]+\.failed".*"error":/.test(line) && !/simulated: |D1/.test(line)) this.#broken ??= new Violation(`H16: ${line}`);
  }

  #settings(process: Process): Settings {
    const tools = this.#outside.tools(process.owner);
    return {
      auth: { mode: "local" },
      modelName: "simulated",
      demo: true,
      model: this.#outside.model(process),
      limits: { ...defaultLimits, stepsPerRun: 6 },
      resume: this.#mode,
      mcpServers: [],
      shipped: new Map(),
      agent: () => ({ system: "", tools }),
    };
  }
}
