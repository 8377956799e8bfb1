import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { build, type Plugin } from "vite";
import { ROOT } from "../../src/cli/processes.ts";

// What the proofs that are commands of their own (chaos, fuzz, model, simulate) have in common.

/** An option's number, from zero up; `otherwise` when it was not given. Throws on anything else. */
export function numberOf(text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const read = Number(text);
  if (!Number.isFinite(read) || read < 0) throw new Error(`"${text}" is no number.`);
  return read;
}

/** A new folder for temporary files, gone when this process ends. */
export function temporary(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `holdpoint-${name}-`));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** Bundles a module of this project into a folder, for Node or for workerd. Says where it is. */
export async function bundle(file: string, outDir: string, plugins: Plugin[] = [], runsIn: "node" | "workerd" = "node"): Promise<string> {
  await build({
    root: ROOT,
    configFile: false,
    plugins,
    logLevel: "error",
    build: { ssr: file, outDir, minify: false, target: "node24", rolldownOptions: { external: runsIn === "workerd" ? ["cloudflare:workers"] : [] } },
    ssr: { noExternal: true, ...(runsIn === "workerd" ? { target: "webworker" } : {}) },
  });
  return join(outDir, basename(file).replace(/\.ts$/, ".js"));
}

/** Bundles a module of this project and imports it: Node runs the sources' imports only so. */
export async function bundled<Module>(file: string, outDir: string, plugins: Plugin[] = []): Promise<Module> {
  return (await import(await bundle(file, outDir, plugins))) as Module;
}

/** D1's migrations, statement by statement. */
export async function migrationStatements(): Promise<string[]> {
  const { unstable_splitSqlQuery: statementsOf } = await import("wrangler");
  const folder = join(ROOT, "migrations");
  return readdirSync(folder)
    .toSorted()
    .flatMap((file) => statementsOf(readFileSync(join(folder, file), "utf8")));
}
