import worker, { Conversation as Real } from "../../src/worker.js";
import type { Env } from "../../src/settings.js";

export default worker;

/** A conversation that says when an object of it is made, and when its alarm fires. */
export class Conversation extends Real {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    console.log(JSON.stringify({ event: "test.made", conversation: ctx.id.name ?? null }));
  }

  override alarm(): void {
    console.log(JSON.stringify({ event: "test.alarm", conversation: this.ctx.id.name ?? null }));
    super.alarm();
  }
}
