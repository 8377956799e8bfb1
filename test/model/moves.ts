import fc from "fast-check";
import { ACTS, anyAct, cardOf, framed, repeated, untilAlarm, type Act } from "./acts.js";
import { Broken, compare, compareAll, same } from "./compare.js";
import type { Fault } from "./index-db.js";
import { isOverdue, type Card } from "./cards.js";
import type { Promised } from "./promise.js";
import type { State, Tally } from "./tally.js";
import { MINUTE, type Sent } from "./terms.js";
import { Death, type Phase, type World } from "./world.js";

// The commands of a sequence: each is done to the promise and to the product, and then the two are compared.

export type Move =
  | { name: "ask" | "decide" | "edit" | "reject" | "cancel" | "withdraw" | "expire"; act: Act }
  /** The process that begins again dies as well, or not. */
  | { name: "crash"; act: Act; left: number; phase: Phase; twice: boolean }
  | { name: "evict" }
  | { name: "duplicate"; other: boolean }
  /** Formed at one time, they arrive in the other order. */
  | { name: "reorder"; act: Act; later: Act }
  | { name: "outbox retry"; act: Act; fault: Fault; times: number; arrives: boolean }
  | { name: "clock jump"; ms: number };

const simple = (name: keyof typeof ACTS): fc.Arbitrary<Move> => ACTS[name].map((act) => ({ name, act }));
const constant = <T extends string>(name: T): fc.Arbitrary<T> => fc.constant(name);

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 7, arbitrary: simple("ask") },
  { weight: 6, arbitrary: simple("decide") },
  { weight: 5, arbitrary: simple("edit") },
  { weight: 3, arbitrary: simple("reject") },
  { weight: 3, arbitrary: simple("expire") },
  { weight: 2, arbitrary: simple("cancel") },
  { weight: 2, arbitrary: simple("withdraw") },
  { weight: 6, arbitrary: fc.record({ name: constant("crash"), act: anyAct, left: fc.nat(5), phase: fc.constantFrom<Phase>("before", "inside", "after"), twice: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ name: constant("evict") }) },
  { weight: 4, arbitrary: fc.record({ name: constant("duplicate"), other: fc.boolean() }) },
  { weight: 5, arbitrary: fc.record({ name: constant("reorder"), act: anyAct, later: anyAct }) },
  {
    weight: 4,
    arbitrary: fc.record({
      name: constant("outbox retry"),
      act: anyAct,
      fault: fc.constantFrom<Fault>("down", "lost", "late"),
      times: fc.integer({ min: 1, max: 3 }),
      arrives: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ name: constant("clock jump"), ms: fc.constantFrom(1000, 10 * MINUTE, 31 * MINUTE, 61 * MINUTE, 200 * MINUTE, -5 * MINUTE, -40 * MINUTE) }) },
);

/** A command for fast-check. */
export class Step implements fc.AsyncCommand<Promised, World> {
  constructor(
    private readonly move: Move,
    private readonly tally: Tally,
  ) {}

  check = ({ last }: Readonly<Promised>): boolean => this.move.name !== "duplicate" || last !== null;

  async run(promised: Promised, world: World): Promise<void> {
    const { move } = this;
    this.tally.count(stateOf(subject(move, promised), world.now), move.name);
    try {
      await new Play(promised, world, this.tally).move(move);
      compare(promised, world);
    } catch (error) {
      if (error instanceof Error) error.message = `${this.toString()}: ${error.message}`;
      throw error;
    }
  }

  toString = (): string => `\n  ${JSON.stringify(this.move)}`;
}

export const steps = (tally: Tally): fc.Arbitrary<Step> => move.map((one) => new Step(one, tally));

/** The card that a command is about; null when it names one that there is not. */
function subject(move: Move, promised: Promised): Card | "none yet" | null {
  if (promised.cards.length === 0) return "none yet";
  const { last } = promised;
  if (move.name === "duplicate" && last !== null && last !== "alarm" && last.frame.type === "decide") return promised.cards[last.frame.n - 1] ?? null;
  return cardOf("act" in move ? move.act : null, promised);
}

/** Its state, as the table has it. */
function stateOf(card: Card | "none yet" | null, now: number): State {
  if (card === "none yet") return "no card yet";
  if (card === null) return "no such card";
  if (card.state !== "pending") return card.state;
  if (isOverdue(card, now)) return "overdue";
  return card.kind === "recovery" ? "recovery" : card.replaced ? "replaced" : "pending";
}

/** One command, done to both. */
class Play {
  constructor(
    private readonly promised: Promised,
    private readonly world: World,
    private readonly tally: Tally,
  ) {}

  async move(move: Move): Promise<void> {
    const { world } = this;
    switch (move.name) {
      case "crash":
        return this.#crash(move);
      case "evict":
        return this.#wake();
      case "duplicate":
        return this.#again(move.other);
      case "reorder": {
        const first = this.#prepared(move.act);
        const second = this.#prepared(move.later);
        second();
        await this.#rest();
        first();
        return this.#rest();
      }
      case "outbox retry":
        return this.#retry(move);
      case "clock jump":
        world.now += move.ms;
        return;
      default:
        this.#prepared(move.act)();
        return this.#rest();
    }
  }

  /** An act as it leaves its client: what it says follows from what was shown then, whenever it arrives. */
  #prepared(act: Act): () => void {
    const { promised, world } = this;
    if (act.do === "alarm") {
      const wait = untilAlarm(act.when, promised, world.now);
      return () => this.#alarm(wait, act.when === "now" || act.when === "early");
    }
    const sent = framed(act, promised, world.nextOp());
    return () => this.#take(sent);
  }

  #take(sent: Sent): void {
    const { promised, world } = this;
    promised.last = sent;
    const promisedAnswer = promised.take(sent, world.now);
    const answer = world.take(sent);
    this.tally.answered(answer);
    same(`the answer to ${JSON.stringify(sent)}`, answer, promisedAnswer);
  }

  #alarm(wait: number, early: boolean): void {
    this.promised.last = "alarm";
    this.world.now += wait;
    this.promised.expire(this.world.now);
    this.world.fireAlarm(early);
  }

  async #rest(): Promise<void> {
    this.promised.drive(this.world.now);
    await this.world.rest();
  }

  async #wake(): Promise<void> {
    this.promised.expire(this.world.now);
    this.world.wake();
    await this.#rest();
  }

  async #again(other: boolean): Promise<void> {
    const { last } = this.promised;
    if (last === "alarm") this.#alarm(0, true);
    else if (last) this.#take(repeated(last, other, this.promised));
    await this.#rest();
  }

  /** Dies in one of the transactions that an act leads to; a client that got no answer sends again what it had sent. */
  async #crash({ act, left, phase, twice }: Move & { name: "crash" }): Promise<void> {
    const { promised, world } = this;
    world.death = { left, phase };
    let unanswered: Sent | null = null;
    if (act.do === "alarm") {
      try {
        this.#prepared(act)();
      } catch (error) {
        if (!(error instanceof Death)) throw error;
      }
    } else {
      const sent = framed(act, promised, world.nextOp());
      promised.last = sent;
      let answer: string | null = null;
      try {
        answer = world.take(sent);
      } catch (error) {
        if (!(error instanceof Death)) throw error;
        unanswered = sent;
      }
      // A death after the commit has done what was asked, and told nobody.
      if (answer !== null || world.died?.phase === "after") {
        const promisedAnswer = promised.take(sent, world.now);
        if (answer !== null) same(`the answer to ${JSON.stringify(sent)}`, answer, promisedAnswer);
      }
    }
    await this.#died();
    if (twice && unanswered === null) {
      promised.expire(world.now);
      try {
        world.wake({ left, phase });
      } catch (error) {
        if (!(error instanceof Death)) throw error;
      }
      await this.#died();
    }
    promised.expire(world.now);
    world.wake();
    if (unanswered) this.#take(unanswered);
    await this.#rest();
  }

  /** The process is dead, in the middle of something or at rest. */
  async #died(): Promise<void> {
    const { promised, world } = this;
    await world.rest();
    this.tally.died(world.died ? `${world.died.phase} ${world.died.transaction}` : "at rest");
    if (world.died) promised.die(world.begun(), world.now);
    else promised.drive(world.now);
  }

  async #retry({ act, fault, times, arrives }: Move & { name: "outbox retry" }): Promise<void> {
    const { promised, world } = this;
    const { index } = world.disk;
    index.faults = Array<Fault>(times).fill(fault);
    this.#prepared(act)();
    await this.#rest();
    const failed = times - index.faults.length;
    for (let round = 0; world.journal.read.backlog().undelivered > 0; round += 1) {
      if (round > 20) throw new Broken("D1 is there again, and is not told");
      index.hangs = false;
      world.pass(10_000);
      await world.rest();
      world.now = Math.max(world.now, Math.min(world.alarm ?? 0, world.now + MINUTE));
      promised.expire(world.now);
      world.fireAlarm();
      await this.#rest();
    }
    this.tally.retried(failed > 0 ? fault : "nothing");
    index.faults = [];
    if (arrives) this.#arrive();
  }

  /** What was given up arrives at D1 after all: no row may go back. */
  #arrive(): void {
    if (this.world.disk.index.release() > 0) compareAll(this.promised, this.world);
  }

  /** The end of a sequence: D1 is there, and everything is as promised. */
  async end(): Promise<void> {
    this.world.disk.index.release();
    await this.#wake();
    compare(this.promised, this.world);
    compareAll(this.promised, this.world);
  }
}

export const finish = (promised: Promised, world: World, tally: Tally): Promise<void> => new Play(promised, world, tally).end();
