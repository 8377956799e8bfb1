import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "vite";
import { faultPlugin } from "../faults/plugin.ts";
import type { Asked } from "./main.ts";

// `npm run simulate -- --seed N --minutes M --conversations C`: the run loop in one process, under a scheduler that
// owns the clock and the order of every wait. Bundled first, because Node runs the sources' imports only so.

const ROOT = join(import.meta.dirname, "../..");
const { values } = parseArgs({ options: { seed: { type: "string" }, minutes: { type: "string" }, conversations: { type: "string" } } });
const number = (text: string | undefined, otherwise: number): number => {
  if (text === undefined) return otherwise;
  const read = Number(text);
  if (!Number.isFinite(read) || read < 0) throw new Error(`"${text}" is no number.`);
  return read;
};
const asked: Asked = { seed: number(values.seed, Date.now() % 1_000_000_000), minutes: number(values.minutes, 1), conversations: number(values.conversations, Infinity) };

const folder = mkdtempSync(join(tmpdir(), "holdpoint-simulate-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
await build({
  root: ROOT,
  configFile: false,
  // HOLDPOINT_FAULT breaks the product in one line, to show that the simulation finds it.
  plugins: [faultPlugin()],
  logLevel: "error",
  build: { ssr: join(ROOT, "test/simulate/main.ts"), outDir: folder, minify: false, target: "node22" },
  ssr: { noExternal: true },
});
const { simulate } = (await import(join(folder, "main.js"))) as typeof import("./main.ts");
process.exitCode = (await simulate(asked)) ? 0 : 1;
