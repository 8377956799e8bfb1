import { abortAllDurableObjects, SELF } from "cloudflare:test";
import { afterEach, beforeEach, vi } from "vitest";
import type { Chunk } from "../../src/protocol/frames.js";
import { Client, newConversation, type Server } from "../e2e/ai-sdk-kit.js";
import { propose, ScriptedModel, type Answer } from "../kit/model.js";
import { makeTool, standardTools, type Run } from "../kit/tools.js";
import { control, resetControl } from "./entry.js";
import { BASE, migrateD1 } from "./kit.js";

/** The Worker beside this test, for a stock AI SDK client. */
export const server: Server = { url: BASE, fetch: ((url: string, init?: RequestInit) => SELF.fetch(url, init)) as typeof fetch };

/** What one test scripts and sees; made anew for each. */
export interface Scripted {
  model: ScriptedModel;
  /** Every run of a tool. */
  runs: Run[];
  /** Resolves when the test lets slow tools and models go on. */
  released: Promise<void>;
  release(): void;
}

/** A scripted model and small tools in place of the real ones, for every test of a file. */
export function useScript(): Scripted {
  const scripted = {} as Scripted;
  beforeEach(async () => {
    await migrateD1();
    const released = Promise.withResolvers<void>();
    Object.assign(scripted, { model: new ScriptedModel(), runs: [], released: released.promise, release: released.resolve });
    const slow = { execute: () => released.promise.then(() => "slow is done") };
    const tools = [
      ...standardTools(scripted.runs),
      makeTool(scripted.runs, { name: "crawl", policy: () => ({ verdict: "allow" }), ...slow }),
      makeTool(scripted.runs, { name: "crawl_if_asked", ...slow }),
      makeTool(scripted.runs, { name: "break", execute: () => Promise.reject(new Error("it broke")) }),
    ];
    control.tools = new Map(tools.map((tool) => [tool.name, tool]));
    control.model = scripted.model.model;
  });
  afterEach(async () => {
    scripted.release();
    vi.useRealTimers();
    resetControl();
    await abortAllDurableObjects();
  });
  return scripted;
}

export const pay = (to: string, amount = 5): Chunk[] => propose("pay", { to, amount });

/** A client whose first text has been answered by the first of these. */
export async function asked(scripted: Scripted, ...answers: Answer[]): Promise<Client> {
  scripted.model.plan(...answers);
  const client = new Client(server, { id: await newConversation(server) });
  await client.say("go");
  return client;
}
