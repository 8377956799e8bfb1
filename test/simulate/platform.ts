import type { Env, Settings } from "../../src/settings.js";
import type { SimulatedD1 } from "./d1.js";
import { Disk } from "./disk.js";
import { SimulatedObject } from "./object.js";
import type { Random } from "./random.js";
import { NETWORK, OUTSIDE, type Owner, type Scheduler } from "./scheduler.js";
import type { ServerSocket, Wire } from "./wire.js";

export const ID = `c_${"5".repeat(32)}`;

/** A process has died: what it was about to do does not happen. */
export class Crash extends Error {
  override message = "simulated: the process is dead";
}

/** A statement has failed; the process lives on. */
class DiskError extends Error {
  override message = "simulated: a statement failed";
}

export interface Process {
  number: number;
  owner: Owner;
  object: SimulatedObject;
}

interface Alarm {
  at: number;
  /** How often its handler has died: the platform tries six times. */
  died: number;
}

/** Something on its way out, to a device, D1 or a tool's other side: it leaves when the commits before it are durable. */
interface Held {
  gate: number;
  leave: () => void;
}

/** Who watches. */
export interface Watch {
  tell(line: string): void;
  /** A transaction has ended well. */
  committed(): void;
  /** Some that had ended well never happened. */
  lost(): void;
  /** A frame leaves the object. */
  leaves(wire: Wire, text: string, process: number): void;
  /** A device's frame arrives; `handle` lets the object have it. */
  arrives(wire: Wire, text: string, handle: () => void): void;
}

/** What Cloudflare is to one object: its rows and its alarm last, its processes come and go, its sockets do either. */
export class Platform {
  readonly rows: Disk;
  readonly sockets = new Set<ServerSocket>();
  process: Process | null = null;
  alarm: Alarm | null = null;
  /** An alarm was never fired, or given up after its handler had died too often. The next life of the object mends that. */
  alarmLost = false;
  crashes = 0;
  /** No process dies any more, and alarms and frames are on time. */
  calm = false;
  readonly #habits: { late: number; twice: number; never: number };
  #processes = 0;
  /** What keeps the process from being put to sleep. */
  #busy = 0;
  #held: Held[] = [];

  constructor(
    readonly scheduler: Scheduler,
    readonly random: Random,
    private readonly settings: (process: Process) => Settings,
    private readonly d1: SimulatedD1,
    readonly watch: Watch,
  ) {
    const unreliable = random.chance(0.3);
    this.#habits = { late: unreliable ? 600_000 : 0, twice: unreliable ? 0.2 : 0.02, never: random.chance(0.05) ? 0.1 : 0 };
    this.rows = new Disk({
      before: () => this.#mayDie("before", 0.008),
      within: () => this.#mayFail(),
      rolledBack: (error) => {
        if (error instanceof Crash && this.process) this.die("in a commit");
      },
      after: () => {
        this.watch.committed();
        this.#mayDie("after", 0.01);
      },
    });
  }

  latency(): number {
    return this.calm || this.random.chance(0.7) ? 1 : this.random.int(200);
  }

  /** Lets something happen in somebody's life, and everything that follows of it at once. Then what was written is durable, and what was said leaves. */
  async turn(owner: Owner, run: () => void): Promise<void> {
    await this.scheduler.turn(owner, () => this.#attempt(run));
    if (this.process && this.rows.young > 0 && this.#hits(0.004)) this.die("before what it wrote is durable");
    this.#makeDurable(this.rows.young, this.#held.length);
  }

  /** An event for the object, in the life of its process: one is begun if there is none. */
  enter(event: (object: SimulatedObject) => void): Process | null {
    const process = this.process ?? this.#wake();
    if (!process) return null;
    this.scheduler.owner = process.owner;
    this.#attempt(() => event(process.object));
    return process;
  }

  #wake(): Process | null {
    this.#processes += 1;
    const owner: Owner = { kind: "process", alive: true };
    this.scheduler.owner = owner;
    this.watch.tell(`process ${this.#processes} begins`);
    // It may die in its constructor, before there is an object.
    const process = { number: this.#processes, owner } as Process;
    this.process = process;
    this.alarmLost = false;
    this.#busy = 0;
    this.#attempt(() => {
      process.object = new SimulatedObject(this.#context(process), { DB: this.d1.binding(this, owner) } as unknown as Env, this.settings(process), this.rows);
    });
    return owner.alive ? process : null;
  }

  /** A handler that throws is logged by the platform, and that is all. */
  #attempt(handler: () => void): void {
    try {
      handler();
    } catch (error) {
      if (error instanceof DiskError) this.watch.tell(`a handler failed: ${error.message}`);
      else if (!(error instanceof Crash)) throw error;
    }
  }

  #hits(probability: number): boolean {
    return !this.calm && this.rows.get("conversation") !== null && this.random.chance(probability);
  }

  /** Dies, or throws because it is dead already: what a dead process goes on with is nobody's. */
  #mayDie(when: string, probability: number): void {
    if (!this.process || this.scheduler.owner !== this.process.owner) throw new Crash();
    if (!this.#hits(probability)) return;
    this.die(`${when} a commit`);
    throw new Crash();
  }

  #mayFail(): void {
    if (this.#hits(0.005)) throw new Crash();
    if (this.#hits(0.003)) throw new DiskError();
  }

  /** The process is gone, and its machine with it: sockets break. What was not durable may be lost, and so may what was said. */
  die(when: string): void {
    const { process, random } = this;
    if (!process) return;
    this.watch.tell(`process ${process.number} dies ${when}`);
    this.crashes += 1;
    this.#end(process);
    const durable = random.int(this.rows.young + 1);
    this.#makeDurable(durable, random.int(this.#held.length + 1));
    const sockets = [...this.sockets];
    this.sockets.clear();
    const keep = random.chance(0.5);
    for (const socket of sockets) socket.wire?.break(keep);
  }

  /** The object is put to sleep, as one that has nothing to do is: its sockets stay. */
  evict(): void {
    const { process } = this;
    if (!process || this.#busy > 0 || this.scheduler.waitsFor(process.owner)) return;
    this.watch.tell(`process ${process.number} sleeps`);
    this.#end(process);
  }

  #end(process: Process): void {
    this.scheduler.kill(process.owner);
    this.process = null;
  }

  /** The first `commits` young ones stay. Of the first `sent` things on their way out, those leave that waited for no other. */
  #makeDurable(commits: number, sent: number): void {
    const whole = commits === this.rows.young;
    this.rows.keep(commits);
    if (!whole) this.watch.lost();
    const held = this.#held;
    this.#held = [];
    for (const { gate, leave } of held.slice(0, sent)) if (whole || gate <= commits) leave();
  }

  /** Takes what the process sends out, unless that is dead. */
  out(leave: () => void): void {
    if (this.scheduler.owner === this.process?.owner) this.#held.push({ gate: this.rows.gate, leave });
  }

  /** A device is gone: the object hears of it, if its machine is still there. */
  lost(server: ServerSocket): void {
    server.readyState = 3;
    if (!this.sockets.delete(server)) return;
    this.scheduler.after(NETWORK, this.latency(), () => {
      if (this.process) this.enter((object) => object.webSocketClose(server as unknown as WebSocket));
    });
  }

  /** When the alarm comes, which may be later than it was set for. */
  get alarmAt(): number | null {
    return this.alarm && this.alarm.at + (this.calm ? 0 : this.#habits.late);
  }

  /** Fires the alarm. The platform takes it for done when its handler has ended, and fires it again when that died. */
  async fire(): Promise<void> {
    const { alarm, random, watch } = this;
    if (!alarm) return;
    this.alarm = null;
    if (!this.calm && random.chance(this.#habits.never)) {
      watch.tell("the alarm is never fired");
      this.alarmLost = true;
      return;
    }
    watch.tell("alarm");
    let handler: Process | null = null;
    const handle = (): void => void (handler = this.enter((object) => object.alarm()));
    await this.turn(OUTSIDE, handle);
    const died = (handler as Process | null)?.owner.alive !== true;
    if (died) {
      if (alarm.died >= 6) this.alarmLost = true;
      else this.#fireAt(this.scheduler.now + 2000, alarm.died + 1);
    } else if (!this.calm && random.chance(this.#habits.twice)) {
      watch.tell("alarm, once more");
      await this.turn(OUTSIDE, handle);
    }
  }

  #fireAt(at: number, died: number): void {
    if (!this.alarm || at < this.alarm.at) this.alarm = { at, died };
  }

  #setAlarm(process: Process, at: number): void {
    if (!process.owner.alive || this.scheduler.owner !== process.owner) return;
    const before = this.alarm;
    this.rows.stored(() => (this.alarm = before));
    this.alarm = { at, died: 0 };
  }

  #context(process: Process): DurableObjectState {
    const { sockets } = this;
    const context = {
      id: { name: ID },
      storage: { setAlarm: (at: number): Promise<void> => Promise.resolve(this.#setAlarm(process, at)) },
      waitUntil: (work: Promise<unknown>) => {
        this.#busy += 1;
        const done = (): void => {
          if (process === this.process) this.#busy -= 1;
        };
        work.then(done, done);
      },
      setWebSocketAutoResponse: () => {},
      getWebSocketAutoResponseTimestamp: () => null,
      acceptWebSocket: (socket: ServerSocket) => void (process.owner.alive && sockets.add(socket)),
      getWebSockets: (tag?: string) => (tag === undefined ? [...sockets] : []),
      getTags: () => [],
    };
    return context as unknown as DurableObjectState;
  }
}
