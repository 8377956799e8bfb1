import worker, { Conversation as Real } from "../../src/worker.js";
import type { Model } from "../../src/core/model.js";
import type { Limits } from "../../src/core/limits.js";
import type { Tool } from "../../src/core/tool.js";
import type { Env, Settings } from "../../src/settings.js";

export default worker;

/** What a test puts in place of the real parts. It lives in the isolate, so it outlasts every object. */
export const control: {
  model: Model | null;
  tools: Map<string, Tool> | null;
  limits: Partial<Limits>;
  db: ((real: D1Database) => D1Database) | null;
  /** Called around every transaction of every object, by name. May abort the object. */
  transaction: ((name: string, when: "before" | "after", ctx: DurableObjectState) => void) | null;
} = { model: null, tools: null, limits: {}, db: null, transaction: null };

export function resetControl(): void {
  Object.assign(control, { model: null, tools: null, limits: {}, db: null, transaction: null });
}

/** The real conversation, with a test's model, tools, limits or D1, and its transactions observed. */
export class Conversation extends Real {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, control.db ? { ...env, DB: control.db(env.DB) } : env);
    const real = this.journal.transaction.bind(this.journal);
    this.journal.transaction = (name, body) => {
      control.transaction?.(name, "before", ctx);
      const result = real(name, body);
      control.transaction?.(name, "after", ctx);
      return result;
    };
  }

  protected override settings(): Settings {
    const settings = super.settings();
    return {
      ...settings,
      model: (request) => (control.model ?? settings.model)(request),
      limits: { ...settings.limits, ...control.limits },
      agent: (skill) => ({ ...settings.agent(skill), ...(control.tools ? { tools: control.tools } : {}) }),
    };
  }
}
