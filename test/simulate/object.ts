import { Conversation } from "../../src/conversation/conversation.js";
import type { Store } from "../../src/core/rows.js";
import type { Env, Settings } from "../../src/settings.js";

// Handed over beside the constructor: the object asks for them while it is being made.
let next: { settings: Settings; rows: Store };

/** The real Durable Object of a conversation, with the simulation's model, tools and rows. */
export class SimulatedObject extends Conversation {
  constructor(ctx: DurableObjectState, env: Env, settings: Settings, rows: Store) {
    next = { settings, rows };
    super(ctx, env);
  }

  protected override settings(): Settings {
    return next.settings;
  }

  protected override rows(): Store {
    return next.rows;
  }
}
