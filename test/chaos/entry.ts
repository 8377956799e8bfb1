import worker, { Conversation as Real } from "../../src/worker.js";
import type { ModelRequest } from "../../src/core/model.js";
import type { Tool } from "../../src/core/tool.js";
import type { Chunk } from "../../src/protocol/frames.js";
import type { Env, Settings } from "../../src/settings.js";
import { checkHistory } from "../kit/model.js";
import { questionable, wire } from "./tools.js";

// The Worker as it is deployed, with a name for each moment at which its process may be killed. When the moment that
// is armed comes, the process says so and stands still, so that it dies exactly there.

const armed = { point: "", left: 0 };

/** Says that the armed point was reached, and stands still until the process is killed. */
function point(name: string): void {
  if (armed.point !== name || (armed.left -= 1) > 0) return;
  console.log(`CHAOS reached ${name}`);
  for (;;);
}

export default {
  async fetch(request: Request, env: Env, context: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/chaos/arm") {
      Object.assign(armed, { point: searchParams.get("point") ?? "", left: Number(searchParams.get("nth") ?? 1) });
      return new Response("armed");
    }
    if (pathname === "/chaos/ledger") {
      const [transfers, entries, cards, conversations] = await env.DB.batch([
        env.DB.prepare("SELECT key, amount_minor AS amount FROM transfers WHERE conversation_id IS NOT NULL"),
        env.DB.prepare("SELECT transfer_key AS key, SUM(amount_minor) AS sum, COUNT(*) AS entries FROM entries GROUP BY transfer_key"),
        env.DB.prepare("SELECT id, state, version FROM pause_points"),
        env.DB.prepare("SELECT id, state FROM conversations WHERE deleted_at IS NULL"),
      ]);
      return Response.json({ transfers: transfers?.results, entries: entries?.results, cards: cards?.results, conversations: conversations?.results });
    }
    return worker.fetch(request, env, context);
  },
};

/** The real conversation, with points around whatever it does. */
export class Conversation extends Real {
  constructor(ctx: DurableObjectState, env: Env) {
    super(observedAlarm(ctx), { ...env, DB: observedD1(env.DB) });
    const real = this.journal.transaction.bind(this.journal);
    this.journal.transaction = (name, body) => {
      point(`tx:${name}:before`);
      const result = real(name, (tx) => {
        const made = body(tx);
        point(`tx:${name}:inside`);
        return made;
      });
      point(`tx:${name}:after`);
      // What is committed is durable, and sent, only when this has come back.
      if (armed.point === `tx:${name}:durable`) ctx.waitUntil(ctx.storage.sync().then(() => point(`tx:${name}:durable`)));
      return result;
    };
    point("object:made");
  }

  protected override settings(): Settings {
    const settings = super.settings();
    return {
      ...settings,
      model: (request) => observedModel(settings.model(request), request),
      limits: { ...settings.limits, cancelGraceMs: 400 },
      agent: (skill, offers) => {
        const { system, tools } = settings.agent(skill, offers);
        return { system, tools: new Map([...tools, [wire.name, wire] as const].map(([name, tool]) => [name, observedTool(questionable(tool))])) };
      },
    };
  }

  override async fetch(request: Request): Promise<Response> {
    point("socket:open:before");
    const response = await super.fetch(request);
    point("socket:open:after");
    return response;
  }

  override webSocketMessage(socket: WebSocket, data: string | ArrayBuffer): void {
    point("socket:message:before");
    super.webSocketMessage(socket, data);
    point("socket:message:after");
  }

  override alarm(): void {
    point("alarm:handler:before");
    super.alarm();
    point("alarm:handler:after");
  }
}

async function* observedModel(chunks: AsyncIterable<Chunk>, { messages }: ModelRequest): AsyncGenerator<Chunk> {
  try {
    checkHistory(messages);
  } catch (error) {
    console.log(`CHAOS violation ${String(error)}`);
  }
  point("model:before");
  for await (const chunk of chunks) {
    point("model:chunk");
    yield chunk;
  }
  point("model:after");
}

const observedTool = (tool: Tool): Tool => ({
  ...tool,
  async execute(input, context) {
    point(`tool:${tool.name}:before`);
    const output = await tool.execute(input, context);
    point(`tool:${tool.name}:after`);
    return output;
  },
});

function observedAlarm(ctx: DurableObjectState): DurableObjectState {
  const real = ctx.storage.setAlarm.bind(ctx.storage);
  ctx.storage.setAlarm = async (time) => {
    point("alarm:set:before");
    const set = real(time);
    point("alarm:set:after");
    return set;
  };
  return ctx;
}

/** A D1 whose calls have points, named by each table that the statements of a call are about. */
function observedD1(db: D1Database): D1Database {
  const tables = new WeakMap<object, string>();
  const named = <Statement extends D1PreparedStatement>(statement: Statement, table: string): Statement => {
    tables.set(statement, table);
    const bind = statement.bind.bind(statement);
    statement.bind = (...values) => named(bind(...values), table);
    return statement;
  };
  return new Proxy(db, {
    get(target, name) {
      if (name === "prepare") return (sql: string) => named(target.prepare(sql), /(?:INTO|UPDATE|FROM)\s+(\w+)/.exec(sql)?.[1] ?? "other");
      if (name === "batch")
        return async (statements: D1PreparedStatement[]) => {
          const touched = new Set(statements.map((statement) => tables.get(statement) ?? "other"));
          for (const table of touched) point(`d1:${table}:before`);
          const results = await target.batch(statements);
          for (const table of touched) point(`d1:${table}:after`);
          return results;
        };
      const value = Reflect.get(target, name) as unknown;
      return typeof value === "function" ? (value as (...values: unknown[]) => unknown).bind(target) : value;
    },
  });
}
