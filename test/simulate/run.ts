import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "vite";
import { FAULTS, nameOf } from "../faults/list.ts";
import { faultPlugin, faulty } from "../faults/plugin.ts";
import type { Asked } from "./main.ts";

// `npm run simulate -- --seed N --minutes M --conversations C`: the run loop in one process, under a scheduler that
// owns the clock and the order of every wait. Bundled first, because Node runs the sources' imports only so.
// `--faults` instead breaks the product in one line at a time, and says which seed noticed.

const ROOT = join(import.meta.dirname, "../..");
const { values } = parseArgs({ options: { seed: { type: "string" }, minutes: { type: "string" }, conversations: { type: "string" }, faults: { type: "boolean" } } });
const number = (text: string | undefined, otherwise: number): number => {
  if (text === undefined) return otherwise;
  const read = Number(text);
  if (!Number.isFinite(read) || read < 0) throw new Error(`"${text}" is no number.`);
  return read;
};
const asked: Asked = { seed: number(values.seed, Date.now() % 1_000_000_000), minutes: number(values.minutes, 1), conversations: number(values.conversations, Infinity) };

const folder = mkdtempSync(join(tmpdir(), "holdpoint-simulate-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

async function bundle(name: string, plugin: ReturnType<typeof faultPlugin>): Promise<typeof import("./main.ts")> {
  const outDir = join(folder, name);
  await build({
    root: ROOT,
    configFile: false,
    plugins: [plugin],
    logLevel: "error",
    build: { ssr: join(ROOT, "test/simulate/main.ts"), outDir, minify: false, target: "node22" },
    ssr: { noExternal: true },
  });
  return (await import(join(outDir, "main.js"))) as typeof import("./main.ts");
}

/** True when every fault that the simulation must find was found. */
async function findFaults(): Promise<boolean> {
  let missed = 0;
  for (const fault of FAULTS.filter(({ simulated }) => simulated)) {
    const { search } = await bundle(nameOf(fault).replace("/", "-"), faulty(fault));
    const begun = Date.now();
    const found = await search(asked.seed, Math.min(asked.conversations, 100_000));
    const seconds = ((Date.now() - begun) / 1000).toFixed(1);
    if (!found) missed += 1;
    console.log(
      found ? `${fault.fault}: broke ${found.rule} (seed ${found.seed}, after ${found.conversations} conversations, ${seconds} s)` : `${fault.fault}: NOT FOUND, ${seconds} s`,
    );
  }
  return missed === 0;
}

// HOLDPOINT_FAULT breaks the product in one line, to show that the simulation finds it.
const good = values.faults ? await findFaults() : await (await bundle("sound", faultPlugin())).simulate(asked);
process.exitCode = good ? 0 : 1;
