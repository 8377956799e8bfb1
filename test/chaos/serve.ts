import { readFileSync } from "node:fs";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";

// One process tree that can be killed: the built Worker on workerd, its state in a folder. Started by world.ts and by
// test/load, which looks into it through the inspector.

const [worker = "", state = "", port = "0", ...migrations] = process.argv.slice(2);
const inspector = process.env["INSPECTOR_PORT"];
const runtime = new Miniflare({
  ...convertV4MiniflareOptions({
    host: "127.0.0.1",
    port: Number(port),
    cf: false,
    ...(inspector === undefined ? {} : { inspectorPort: Number(inspector) }),
    log: new Log(LogLevel.WARN),
    name: "holdpoint",
    modules: [{ type: "ESModule", path: "worker.js", contents: readFileSync(worker, "utf8") }],
    compatibilityDate: "2026-11-01",
    bindings: { AUTH: "local", MODEL: "demo", DEMO_DELAY_MS: "4" },
    durableObjects: { CONVERSATION: { className: "Conversation", useSQLite: true } },
    d1Databases: { DB: "holdpoint" },
  }),
  resourcePersistencePath: state,
});
await runtime.ready;
if (migrations.length > 0) {
  const { unstable_splitSqlQuery: statementsOf } = await import("wrangler");
  const db = await runtime.getD1Database("DB");
  for (const file of migrations) for (const sql of statementsOf(readFileSync(file, "utf8"))) await db.prepare(sql).run();
  await runtime.dispose();
} else console.log("CHAOS serving");
