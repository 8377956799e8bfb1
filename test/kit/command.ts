import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { build, type Plugin } from "vite";
import { ROOT } from "../../src/cli/processes.ts";

// What the proofs that are commands of their own (chaos, fuzz, simulate) have in common.

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

/** Bundles a module of this project into a folder and imports it: Node runs the sources' imports only so. */
export async function bundled<Module>(file: string, outDir: string, plugins: Plugin[] = []): Promise<Module> {
  await build({
    root: ROOT,
    configFile: false,
    plugins,
    logLevel: "error",
    build: { ssr: file, outDir, minify: false, target: "node24" },
    ssr: { noExternal: true },
  });
  return (await import(join(outDir, basename(file).replace(/\.ts$/, ".js")))) as Module;
}
