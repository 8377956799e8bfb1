import { join } from "node:path";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { ROOT } from "../../src/cli/processes.ts";
import { faultPlugin, faulty } from "../faults/plugin.ts";
import { bundled, numberOf, temporary } from "../kit/command.ts";
import { SIMULATED_FAULTS } from "./faults.ts";
import type { Asked } from "./main.ts";
import { workersStandIn } from "./stand-in.ts";

// `npm run simulate -- --seed N --minutes M --conversations C`: the run loop in one process, under a scheduler that
// owns the clock and the order of every wait.
// `--faults` instead breaks the product in one line at a time, and says which seed noticed.

const { values } = parseArgs({ options: { seed: { type: "string" }, minutes: { type: "string" }, conversations: { type: "string" }, faults: { type: "boolean" } } });
const asked: Asked = { seed: numberOf(values.seed, Date.now() % 1_000_000_000), minutes: numberOf(values.minutes, 1), conversations: numberOf(values.conversations, Infinity) };

const folder = temporary("simulate");
const bundle = (name: string, plugin: ReturnType<typeof faultPlugin>): Promise<typeof import("./main.ts")> =>
  bundled(join(import.meta.dirname, "main.ts"), join(folder, name), [plugin, workersStandIn]);

/** True when every fault was found. */
async function findFaults(): Promise<boolean> {
  let missed = 0;
  for (const [place, { name, edits }] of SIMULATED_FAULTS.entries()) {
    const gone = edits.find(({ file, find }) => readFileSync(join(ROOT, file), "utf8").split(find).length !== 2);
    if (gone) throw new Error(`${name}: in ${gone.file} this stands not exactly once: ${gone.find}`);
    const { search } = await bundle(`fault-${place}`, faulty(edits));
    const begun = Date.now();
    const found = await search(asked.seed, Math.min(asked.conversations, 100_000));
    const seconds = ((Date.now() - begun) / 1000).toFixed(1);
    if (!found) missed += 1;
    console.log(found ? `${name}: seed ${found.seed}, after ${found.conversations} conversations, ${seconds} s: ${found.rule}` : `${name}: NOT FOUND, ${seconds} s`);
  }
  return missed === 0;
}

// HOLDPOINT_FAULT breaks the product in one line, to show that the simulation finds it.
const good = values.faults ? await findFaults() : await (await bundle("sound", faultPlugin())).simulate(asked);
process.exitCode = good ? 0 : 1;
