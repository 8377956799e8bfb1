import worker, { Conversation as Real } from "../../src/worker.js";
import type { Env } from "../../src/settings.js";

export default worker;

/** A conversation that says when an object of it is made and when its alarm fires, and whose object is aborted by the title "abort". */
export class Conversation extends Real {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    console.log(JSON.stringify({ event: "test.made", conversation: ctx.id.name ?? null }));
  }

  override rename(...values: Parameters<Real["rename"]>): ReturnType<Real["rename"]> {
    if (values[1] === "abort") this.ctx.abort("a test aborts it");
    return super.rename(...values);
  }

  override alarm(): void {
    console.log(JSON.stringify({ event: "test.alarm", conversation: this.ctx.id.name ?? null }));
    super.alarm();
  }
}
