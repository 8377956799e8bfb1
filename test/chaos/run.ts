import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "vite";
import { ROOT } from "../../src/cli/processes.ts";
import { quietEnvironment, WRANGLER } from "../../src/cli/server.ts";
import type * as Main from "./main.ts";
import { allPoints, transactionNames } from "./points.ts";

// `npm run chaos -- --seed N --kills K --minutes M`: the built Worker on workerd, with its state on disk, killed at named
// points and at random while people use it, and looked at from outside after each restart.

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    kills: { type: "string", default: "60" },
    minutes: { type: "string", default: "60" },
    worlds: { type: "string", default: "3" },
    point: { type: "string" },
  },
});
const number = (name: "seed" | "kills" | "minutes" | "worlds"): number => {
  const read = Number(values[name]);
  if (!Number.isFinite(read) || read < 0) throw new Error(`--${name} ${values[name]} is no number.`);
  return read;
};

const folder = mkdtempSync(join(tmpdir(), "holdpoint-chaos-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
const node = (...words: string[]): void => {
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { cwd: ROOT, env: quietEnvironment(folder), encoding: "utf8" });
  if (status !== 0) throw new Error(`${words.join(" ")} failed:\n${stdout}${stderr}`);
};

const tables = join(folder, "tables");
mkdirSync(tables);
const paths: Main.Paths = { worker: join(folder, "entry.js"), serve: join(import.meta.dirname, "serve.ts"), tables };
node(WRANGLER, "deploy", "--dry-run", "--outdir", folder, join(import.meta.dirname, "entry.ts"));
const migrations = readdirSync(join(ROOT, "migrations")).toSorted();
node(paths.serve, paths.worker, tables, "0", ...migrations.map((file) => join(ROOT, "migrations", file)));
await build({
  root: ROOT,
  configFile: false,
  logLevel: "error",
  build: { ssr: join(import.meta.dirname, "main.ts"), outDir: join(folder, "harness"), minify: false, target: "node24" },
  ssr: { noExternal: true },
});
const { chaos } = (await import(join(folder, "harness/main.js"))) as typeof Main;

const sources = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
const transactions = transactionNames(sources.map((file) => readFileSync(join(ROOT, "src", file), "utf8")));
const points = values.point ? [values.point] : allPoints(transactions, ["execute_transfer", "wire", "list_accounts"], ["conversations", "members", "pause_points", "transfers"]);
const held = await chaos({ seed: number("seed"), kills: number("kills"), minutes: number("minutes"), worlds: number("worlds"), points }, paths, folder);
process.exit(held ? 0 : 1);
