import { afterAll, afterEach, beforeAll, expect, vi } from "vitest";
import { MemoryStore } from "../../../src/core/memory-store.js";
import type { Model } from "../../../src/core/model.js";
import type { Tool } from "../../../src/core/tool.js";
import { OutcomeUnknown } from "../../../src/core/tool.js";
import type { Json } from "../../../src/protocol/json.js";
import { demoModel } from "../../../src/models/demo.js";
import { openAiCompatibleModel } from "../../../src/models/openai-compatible.js";
import { streamStep } from "../../../src/models/stream-step.js";
import { workersAiModel } from "../../../src/models/workers-ai.js";
import { STAND_IN, startOpenAiStandIn, type OpenAiStandIn } from "../../../src/cli/stand-in/openai.js";
import { createTools } from "../../../src/tools/index.js";
import { World } from "../../kit/world.js";
import { WORKERS_AI_MODELS, WorkersAiStandIn } from "../../kit/workers-ai-stand-in.js";

/** A conversation with a model behind its real provider, and the tools that ship; the effects of those are noted, not made. */
export class Chat extends World {
  readonly waits: number[] = [];
  readonly effects: { tool: string; input: Json }[] = [];
  /** What the next effect does instead. */
  effect: (tool: string, input: Json) => unknown = (_, input) => input;

  constructor(of: (wait: (ms: number) => Promise<void>) => Model) {
    super(new MemoryStore());
    const model = of(async (ms) => void this.waits.push(ms));
    this.model.plan(...Array.from({ length: 100 }, () => (request: Parameters<Model>[0]) => model(request)));
    for (const tool of createTools({ httpAllowlist: [], emailConfigured: false }).values()) this.tools.set(tool.name, tool.pause ? tool : this.#noted(tool));
  }

  #noted(tool: Tool): Tool {
    return {
      ...tool,
      execute: async (input) => {
        this.effects.push({ tool: tool.name, input });
        return this.effect(tool.name, input);
      },
    };
  }

  /** Sends a text and waits until the run is over or asks. */
  async say(text: string): Promise<void> {
    await this.text(text);
    await this.rest();
  }

  async rest(): Promise<void> {
    await vi.waitUntil(() => this.status !== "running", { timeout: 5_000, interval: 1 });
  }

  /** The sentence that a run's end is explained with, and the text that was kept of its last step. */
  get ending(): { status: string | undefined; notice: string; kept: string } {
    const parts = this.store.stepsBefore(Number.MAX_SAFE_INTEGER, 1).flatMap((row) => JSON.parse(row.parts) as { type: string; text?: string; data?: { text: string } }[]);
    const notice = parts.flatMap((part) => (part.data ? [part.data.text] : [])).join(" ");
    return { status: this.status, notice, kept: parts.flatMap((part) => (part.type === "text" && part.text ? [part.text] : [])).join("") };
  }
}

export const UNKNOWN = () => {
  throw new OutcomeUnknown("Nobody can tell.");
};

/** One way to reach a model. */
export interface Reached {
  name: string;
  open(): Chat;
  asked(): number;
  /** Bodies that passed the rules. */
  requests(): { messages: object[] }[];
}

let openAi: OpenAiStandIn;
let workersAi: WorkersAiStandIn;

/** Starts the stand-ins for a file of tests. */
export function withStandIns(): void {
  beforeAll(async () => {
    openAi = await startOpenAiStandIn();
    workersAi = new WorkersAiStandIn();
  });
  // A request that the provider would refuse fails the test that sent it, whatever else the test looks at.
  afterEach(() => expect([...openAi.broken.splice(0), ...workersAi.broken.splice(0)]).toEqual([]));
  afterAll(() => openAi.close());
}

export const OPENAI: Reached = {
  name: "OpenAI-compatible",
  open: () => new Chat((wait) => openAiCompatibleModel(STAND_IN, { baseUrl: openAi.url, apiKey: "sk-test" }, { wait })),
  asked: () => openAi.asked,
  requests: () => openAi.requests,
};

export const WORKERS_AI: Reached[] = WORKERS_AI_MODELS.map((model) => ({
  name: `Workers AI, ${model}`,
  open: () => new Chat((wait) => workersAiModel(workersAi.binding, model, { wait })),
  asked: () => workersAi.asked,
  requests: () => workersAi.requests,
}));

export const DEMO: Reached = { name: "the demo", open: () => new Chat(() => streamStep(demoModel())), asked: () => 0, requests: () => [] };
