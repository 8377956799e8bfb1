import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { ROOT } from "../../src/cli/processes.ts";
import { quietEnvironment, WRANGLER } from "../../src/cli/server.ts";

// What a server that is started without wrangler (test/chaos/serve.ts) runs on: the built Worker, and a folder that has the tables.

export const SERVE = join(ROOT, "test/chaos/serve.ts");

/** Builds the Worker of this entry as a deploy would; `project` is another copy of the sources. Returns its file. */
export function buildWorker(entry: string, folder: string, project: string = ROOT): string {
  // The page is not asked for here, and need not have been built.
  mkdirSync(join(project, "dist/web"), { recursive: true });
  node(project, folder, WRANGLER, "deploy", "--dry-run", "--outdir", folder, entry);
  return join(folder, basename(entry).replace(/\.ts$/, ".js"));
}

/** A new folder with the D1 tables in it, which each server begins with a copy of. */
export function makeTables(worker: string, folder: string): string {
  const tables = join(folder, "tables");
  mkdirSync(tables);
  const migrations = readdirSync(join(ROOT, "migrations")).toSorted();
  node(ROOT, folder, SERVE, worker, tables, "0", ...migrations.map((file) => join(ROOT, "migrations", file)));
  return tables;
}

function node(cwd: string, registry: string, ...words: string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { cwd, env: quietEnvironment(registry), encoding: "utf8" });
  if (status !== 0) throw new Error(`${words.join(" ")} failed:\n${stdout}${stderr}`);
}
