import type { Decision } from "../../src/protocol/commands.js";
import type { LiveAttempt } from "../../src/protocol/frames.js";
import { createConversation } from "../../src/core/create.js";
import { Engine } from "../../src/core/engine.js";
import { Journal } from "../../src/core/journal.js";
import type { Changes } from "../../src/core/transaction.js";
import type { CallRow, PausePointRow, Store } from "../../src/core/rows.js";
import { defaultLimits, type Limits } from "../../src/core/limits.js";
import type { DecisionOutcome } from "../../src/core/pause-point.js";
import type { Actor, Ports } from "../../src/core/ports.js";
import type { Tool } from "../../src/core/tool.js";
import { pausePointId } from "../../src/core/ids.js";
import { waitForApproval, askClarification } from "../../src/tools/hitl.js";
import { FakeClock, settled } from "./clock.js";
import { ScriptedModel } from "./model.js";
import { standardTools, type Run } from "./tools.js";

export const CONVERSATION = `c_${"0".repeat(31)}1`;

export const actor = (person: string, device = `${person}'s laptop`): Actor => ({ person, device: { id: device, name: device }, via: "socket" });
export const ANA = actor("ana");
export const BEN = actor("ben", "ben's phone");
export const VIC = actor("vic");

/** One conversation with everything around it under a test's control. `restart` is a new process on the same rows. */
export class World {
  readonly clock = new FakeClock();
  readonly model = new ScriptedModel();
  readonly runs: Run[] = [];
  readonly changes: Changes[] = [];
  readonly flushes: LiveAttempt[] = [];
  readonly logs: ({ event: string } & Record<string, unknown>)[] = [];
  readonly tools = new Map<string, Tool>();
  limits: Limits = { ...defaultLimits };
  readonly resume: { mode: "continue" | "message"; auto: boolean } = { mode: "continue", auto: true };
  agent: Ports["agent"] = () => ({ system: "You are a test.", tools: this.tools });
  /** Taken by the next process. */
  discover: Ports["discover"];
  journal: Journal;
  engine: Engine;
  #messages = 0;

  constructor(readonly store: Store) {
    for (const tool of [...standardTools(this.runs), waitForApproval, askClarification]) this.tools.set(tool.name, tool);
    ({ journal: this.journal, engine: this.engine } = this.#process());
    this.journal.transaction("create", (tx) => {
      createConversation(tx, { id: CONVERSATION, owner: ANA.person, title: "", skill: "assistant", epoch: "e1" });
      tx.putMember(BEN.person, "approver", false);
      tx.putMember(VIC.person, "viewer", false);
    });
  }

  /** The process dies; another one begins on the same rows. What the old one still does, it does to dead rows. */
  restart(): void {
    const dead = this.journal;
    dead.transaction = () => {
      throw new Error("This process is dead.");
    };
    ({ journal: this.journal, engine: this.engine } = this.#process());
    this.engine.reconcile();
  }

  async text(text: string, from: Actor = ANA, more: { withdraw?: boolean } = {}): Promise<void> {
    this.#messages += 1;
    const outcome = this.engine.send(from, { opId: `send-${this.#messages}`, messageId: `u-${this.#messages}`, text, ...more });
    if (outcome.status !== "applied") throw new Error(`${outcome.code}: ${outcome.message}`);
    await settled();
  }

  async decide(n: number, decision: Omit<Decision, "pausePointId">, from: Actor = BEN): Promise<DecisionOutcome> {
    const [outcome] = this.engine.decide(from, [{ pausePointId: pausePointId(CONVERSATION, n), ...decision }]);
    await settled();
    if (!outcome) throw new Error("no outcome");
    return outcome;
  }

  approve = (n: number, more: Partial<Decision> = {}): Promise<DecisionOutcome> => this.decide(n, { decision: "approve", ...more });
  reject = (n: number, more: Partial<Decision> = {}): Promise<DecisionOutcome> => this.decide(n, { decision: "reject", ...more });

  card(n: number): PausePointRow {
    const row = this.store.get("pausePoints", n);
    if (!row) throw new Error(`no card ${n}`);
    return row;
  }

  call(turn: number, step: number, index: number): CallRow {
    const row = this.store.get("calls", turn, step, index);
    if (!row) throw new Error(`no call ${turn}-${step}-${index}`);
    return row;
  }

  get status(): string | undefined {
    return this.journal.run(this.journal.conversation().turn)?.status;
  }

  /** Every text in the transcript, oldest first, notices in brackets. */
  get transcript(): string[] {
    return this.store
      .stepsBefore(Number.MAX_SAFE_INTEGER, 1000)
      .toReversed()
      .flatMap((row) =>
        (JSON.parse(row.parts) as { type: string; text?: string; data?: { code: string } }[]).flatMap((part) =>
          part.text !== undefined ? [part.text] : part.data ? [`[${part.data.code}]`] : [],
        ),
      );
  }

  #process(): { journal: Journal; engine: Engine } {
    const journal = new Journal(this.store, this.clock.now);
    journal.events = {
      arm: () => {},
      rolledBack: () => {},
      committed: (changes) => {
        this.changes.push(changes);
        this.logs.push(...changes.lines.map(({ event, fields }) => ({ event, ...fields })));
      },
      untold: (error) => void this.logs.push({ event: "tell.failed", error: String(error) }),
    };
    const engine = new Engine({
      journal,
      clock: this.clock,
      model: this.model.model,
      agent: (skill) => this.agent(skill),
      ...(this.discover ? { discover: this.discover } : {}),
      env: {},
      limits: this.limits,
      resume: this.resume,
      randomWord: () => "w0rd",
      background: (work) => void work.catch(() => {}),
      live: (flush) => void this.flushes.push(flush),
      log: (event, fields) => void this.logs.push({ event, ...fields }),
    });
    return { journal, engine };
  }
}
