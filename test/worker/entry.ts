import worker, { Conversation as Real } from "../../src/worker.js";
import type { Model } from "../../src/core/model.js";
import type { Limits } from "../../src/core/limits.js";
import type { ResumeMode } from "../../src/core/ports.js";
import type { Tool } from "../../src/core/tool.js";
import type { McpServer } from "../../src/mcp/servers.js";
import type { Env, Settings } from "../../src/settings.js";

export default worker;

/** What a test puts in place of the real parts. It lives in the isolate, so it outlasts every object. */
export const control: {
  model: Model | null;
  /** The tools that there are, beside those of MCP servers. */
  tools: Map<string, Tool> | null;
  mcpServers: McpServer[];
  limits: Partial<Limits>;
  resume: ResumeMode | null;
  /** Objects find the settings of their deployment wrong. */
  wrong: boolean;
  db: ((real: D1Database) => D1Database) | null;
  /** Called around every transaction of every object. `die`: this object does nothing from then on, and is to be aborted. */
  transaction: ((name: string, when: "before" | "after", conversation: string | undefined) => "die" | "live") | null;
} = { model: null, tools: null, mcpServers: [], limits: {}, resume: null, wrong: false, db: null, transaction: null };

/** How many tests have had their control. A conversation that outlives its test has no part in the next one, though its alarm makes its object anew there. */
let generation = 0;
const generationOf = new Map<string, number>();

export function resetControl(): void {
  generation += 1;
  Object.assign(control, { model: null, tools: null, mcpServers: [], limits: {}, resume: null, wrong: false, db: null, transaction: null });
}

/** The real conversation, with a test's model, tools, limits or D1, and its transactions observed. */
export class Conversation extends Real {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, control.db ? { ...env, DB: control.db(env.DB) } : env);
    const real = this.journal.transaction.bind(this.journal);
    let dead = false;
    const observe = (name: string, when: "before" | "after"): void => {
      dead ||= control.transaction?.(name, when, ctx.id.name) === "die";
      if (dead) throw new Error(`This object died ${when} ${name}.`);
    };
    this.journal.transaction = (name, body) => {
      observe(name, "before");
      const result = real(name, body);
      observe(name, "after");
      return result;
    };
  }

  protected override settings(): Settings {
    if (control.wrong) throw new Error("MODEL is wrong.");
    const settings = super.settings();
    const id = this.ctx.id.toString();
    const born = generationOf.get(id) ?? generation;
    generationOf.set(id, born);
    const own = <Part>(part: Part): Part | null => (born === generation ? part : null);
    return {
      ...settings,
      model: (request) => (own(control.model) ?? settings.model)(request),
      limits: { ...settings.limits, ...control.limits },
      resume: control.resume ?? settings.resume,
      mcpServers: control.mcpServers,
      agent: (skill, offers = []) => {
        const agent = settings.agent(skill, offers);
        const tools = own(control.tools);
        if (!tools) return agent;
        const offered = offers.flatMap((offer) => [...offer.tools.values()]);
        return { ...agent, tools: new Map([...tools.values(), ...offered].map((tool) => [tool.name, tool])) };
      },
    };
  }
}
