import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../../src/cli/processes.ts";
import { faultPlugin } from "../faults/plugin.ts";
import { bundled, numberOf, temporary } from "../kit/command.ts";

const { values } = parseArgs({ options: { seed: { type: "string" }, sequences: { type: "string" } } });
const folder = temporary("model");
const { inMemory } = await bundled<typeof import("./main.ts")>(join(import.meta.dirname, "main.ts"), join(folder, "memory"), [faultPlugin()]);
const migrations = readdirSync(join(ROOT, "migrations")).toSorted().map((file) => readFileSync(join(ROOT, "migrations", file), "utf8"));
const began = Date.now();
const got = await inMemory({ seed: numberOf(values.seed, 1), sequences: numberOf(values.sequences, 10_000) }, migrations);
const { table, details } = await bundled<typeof import("./report.ts")>(join(import.meta.dirname, "report.ts"), join(folder, "report")); console.log(table(got.tally).text, details(got.tally), got.tally.commands/got.tally.sequences, Date.now() - began);
if (got.broken) console.log(got.broken.sequence, got.broken.error);
