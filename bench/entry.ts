import worker, { Conversation as Real } from "../src/worker.js";
import { streamStep } from "../src/models/stream-step.js";
import type { Env, Settings } from "../src/settings.js";
import { cost, counted, resetCost } from "./count.js";
import { measuredModel } from "./model.js";

type MeasuredEnv = Env & { COUNT?: string };

/** The real conversation with the model of the measurements; with COUNT set, on a storage and a D1 that count. */
export class Conversation extends Real {
  constructor(ctx: DurableObjectState, env: MeasuredEnv) {
    super(ctx, env.COUNT ? counted(ctx.storage, env) : env);
  }

  protected override settings(): Settings {
    return { ...super.settings(), model: streamStep(measuredModel) };
  }

  /** Whether everything is done and D1 has taken all of it. */
  quiet(): boolean {
    return !this.engine.busy && this.journal.read.backlog().undelivered === 0;
  }

  /** Lives through so many turns with nobody connected; each is a text and an answer of so many words. */
  async live(turns: number, words: number): Promise<void> {
    const actor = { person: "you", device: { id: "fill", name: "fill" }, via: "http" } as const;
    for (let turn = 0; turn < turns; turn += 1) {
      const told = this.engine.send(actor, { opId: null, messageId: crypto.randomUUID(), text: `${words} words` });
      if (told.status !== "applied") throw new Error(`A text was not taken: ${JSON.stringify(told)}`);
      while (this.engine.busy) await scheduler.wait(0);
    }
  }
}

/** The product's routes, and beside them what the measurements ask. */
export default {
  async fetch(request: Request, env: MeasuredEnv, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const [, bench, what, id = ""] = pathname.split("/");
    if (bench !== "bench") return worker.fetch(request, env, ctx);
    const object = env.CONVERSATION.getByName(id) as unknown as { quiet(): Promise<boolean>; live(turns: number, words: number): Promise<void> };
    if (what === "quiet") return Response.json(await object.quiet());
    if (what === "live") {
      await object.live(Number(searchParams.get("turns")), Number(searchParams.get("words")));
      return Response.json(null);
    }
    if (request.method === "DELETE") resetCost();
    return Response.json(cost());
  },
};
