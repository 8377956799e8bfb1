import * as z from "zod";
import type { Json } from "../../src/protocol/json.js";
import { allow, ask, OutcomeUnknown, type Tool, type ToolContext } from "../../src/core/tool.js";
import type { Model, ModelRequest } from "../../src/core/model.js";
import { getLocation } from "../../src/tools/get-location.js";
import { waitForApproval } from "../../src/tools/hitl.js";
import { checkHistory, propose, say } from "../kit/model.js";
import { makeTool } from "../kit/tools.js";
import type { Random } from "./random.js";
import type { Platform, Process } from "./platform.js";
import { OUTSIDE, type Owner, type Scheduler } from "./scheduler.js";

/** Something that a tool did, and that nothing takes back. */
export interface Effect {
  tool: string;
  key: string;
  input: Json;
}

/** Tools that change something, and whether they ask first and may be run again. */
export const TOOLS = {
  pay: { asks: true, idempotent: false },
  set: { asks: true, idempotent: true },
  look: { asks: false, idempotent: true },
  drop: { asks: false, idempotent: false },
} as const;
export type ToolName = keyof typeof TOOLS;

const inputUpTo = (most: number) => z.object({ amount: z.number().positive().max(most) });
const never = (): Promise<never> => Promise.reject(new Error("made anew for each process"));

// Made once: a schema takes longer to build than most of a conversation takes to live.
const toolsUpTo = (most: number): Tool[] => [
  ...(Object.keys(TOOLS) as ToolName[]).map((name) =>
    makeTool([], {
      name,
      input: inputUpTo(most),
      policy: TOOLS[name].asks ? (value) => ask((value as { amount: number }).amount > 50 ? { risk: "high" } : {}) : allow,
      idempotent: TOOLS[name].idempotent,
      execute: never,
    }),
  ),
  makeTool([], { name: "notify", policy: allow, afterSiblings: true, idempotent: true, execute: never }),
];
const PROTOTYPES = toolsUpTo(100);
const SMALL = toolsUpTo(10);

/** A try that has begun in a process. */
export interface Begun {
  owner: Owner;
  key: string;
  signal: AbortSignal;
  /** Whether the input is one that this process's tool takes. */
  fits: boolean;
}

/** Who is told of what the product does to the world. */
export interface Seen {
  effect(effect: Effect): void;
  began(attempt: Begun): void;
  modelCall(check: () => void): void;
  /** A second model is called by a process while its first one still writes. */
  twoAtOnce(process: number): void;
}

/** What is not Holdpoint: a model and tools that do as they please, and outlive the process that called them. */
export class Outside {
  /** No more surprises: models answer and tools end well. */
  calm = false;
  platform!: Platform;
  /** The model calls that nobody has ended or given up, by process. */
  readonly #calls = new WeakMap<Owner, Set<AbortSignal>>();

  constructor(
    private readonly random: Random,
    private readonly scheduler: Scheduler,
    private readonly seen: Seen,
  ) {}

  /** Each process is a release of its own: one in ten has lost a tool, one in ten takes smaller amounts only. */
  tools(owner: Owner): Map<string, Tool> {
    const release = this.calm ? 1 : this.random.next();
    const known = release < 0.1 ? PROTOTYPES.filter(({ name }) => name !== "pay") : release < 0.2 ? SMALL : PROTOTYPES;
    const made = known.map((tool): Tool => ({ ...tool, execute: (value, context) => this.#execute(owner, tool, value, context) }));
    return new Map([...made, getLocation, waitForApproval].map((tool) => [tool.name, tool]));
  }

  model({ owner, number }: Process): Model {
    return (request) => this.#answer(owner, number, request);
  }

  async *#answer(owner: Owner, process: number, request: ModelRequest): ReturnType<Model> {
    const { random, scheduler } = this;
    const calls = this.#calls.get(owner) ?? new Set();
    this.#calls.set(owner, calls);
    if ([...calls].some(({ aborted }) => !aborted)) this.seen.twoAtOnce(process);
    calls.add(request.signal);
    try {
      const mood = this.calm ? 1 : random.next();
      // The request leaves when what was written before it is durable.
      await scheduler.wait(owner);
      if (request.signal.aborted) return;
      this.seen.modelCall(() => checkHistory(request.messages));
      if (mood < 0.05) return await new Promise<never>(() => {});
      if (mood < 0.1) throw new Error("the provider is down");
      for (const chunk of say("I will see. ")) {
        yield chunk;
        if (random.chance(0.3)) await scheduler.wait(owner, random.int(30));
      }
      if (mood < 0.15) throw new Error("the connection broke");
      if (mood > 0.85 || this.calm) return;
      for (let proposals = 1 + random.int(3); proposals > 0; proposals -= 1) {
        yield* this.#proposal();
        await scheduler.wait(owner);
      }
    } finally {
      calls.delete(request.signal);
    }
  }

  #proposal(): ReturnType<typeof propose> {
    const { random } = this;
    const amount = random.pick([1, 2, 60, -1]);
    const tool = random.pick([...Object.keys(TOOLS), ...Object.keys(TOOLS), "notify", "get_location", "wait_for_approval", "nonsense"]);
    if (tool === "get_location") return propose(tool, { reason: "a reason" }, "same");
    if (tool === "wait_for_approval") return propose(tool, { title: "Which?", description: "", kind: "choice", options: ["a", "b"] }, "same");
    return propose(tool, { amount }, "same");
  }

  /** The effect belongs to the world: once asked for, it comes though the process that asked is dead. Its answer does not. */
  async #execute(owner: Owner, tool: Tool, value: Json, { idempotencyKey: key, signal }: ToolContext): Promise<unknown> {
    const { random, scheduler } = this;
    const mood = this.calm ? 1 : random.next();
    this.seen.began({ owner, key, signal, fits: tool.parse(value).ok });
    if (mood < 0.1) throw new Error("refused");
    await new Promise<void>((resolve) => this.platform.out(() => void scheduler.after(OUTSIDE, random.int(3) * 1000, resolve)));
    if (mood >= 0.15) this.seen.effect({ tool: tool.name, key, input: value });
    if (mood < 0.2) return await new Promise<never>(() => {});
    // Some end when they have long been given up.
    await scheduler.wait(owner, mood > 0.95 && !this.calm ? 59_000 + random.int(20_000) : random.int(3) * 1000);
    if (mood < 0.25) throw new OutcomeUnknown("no answer");
    return { done: true };
  }
}
