import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { ROOT } from "../../src/cli/processes.ts";
import { faultPlugin } from "../faults/plugin.ts";
import { temporary } from "../kit/command.ts";
const folder = temporary("model");
await build({ root: ROOT, configFile: false, plugins: [faultPlugin()], logLevel: "error", build: { ssr: join(import.meta.dirname, "entry.ts"), outDir: folder, minify: false, target: "esnext", rollupOptions: { external: ["cloudflare:workers"] } }, ssr: { noExternal: true, target: "webworker" } });
import { unstable_splitSqlQuery as so } from "wrangler"; const migrations = readdirSync(join(ROOT, "migrations")).toSorted().flatMap((file) => so(readFileSync(join(ROOT, "migrations", file), "utf8")));
const runtime = new Miniflare(convertV4MiniflareOptions({ host: "127.0.0.1", cf: false, log: new Log(LogLevel.WARN), name: "m", modules: [{ type: "ESModule", path: "entry.js", contents: readFileSync(join(folder, "entry.js"), "utf8") }], compatibilityDate: "2026-11-01", durableObjects: { MODEL: { className: "Model", useSQLite: true } } }) as never);
const began = Date.now();
const response = await runtime.dispatchFetch("http://localhost/a", { method: "POST", body: JSON.stringify({ asked: { seed: 7, sequences: Number(process.argv[2]) }, migrations, most: Number(process.argv[3] ?? 60) }) });
const text = await response.text();
console.log(response.status, text.slice(0, 300), Date.now() - began);
try { const got = JSON.parse(text); console.log(got.tally.commands, got.broken) } catch (e) { console.log(e) }
await runtime.dispose();
