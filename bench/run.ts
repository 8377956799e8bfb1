import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { whenTold } from "../src/cli/processes.ts";
import { costs } from "./cost.ts";
import { latencies } from "./latency.ts";
import { table, ratioOf, verdictOf, type Measure } from "./measure.ts";

// `npm run bench -- --devices N --rounds R --only cost,latency`: what docs/spec.md and the design promise of speed
// and cost, measured on a real workerd: one JSON line a measure, and a table at the end. A ratio that misses its
// target is printed and is no error, for the machine has its part in it; a count that does is one.

const { values } = parseArgs({ options: { devices: { type: "string", default: "200" }, rounds: { type: "string", default: "5" }, only: { type: "string" } } });
const devices = Number(values.devices);
const rounds = Number(values.rounds);
if (!(devices >= 1 && rounds >= 1)) throw new Error("--devices and --rounds are whole numbers above zero.");
whenTold(() => process.exit(130));

const parts: Record<string, () => Promise<Measure[]>> = {
  cost: costs,
  latency: () => latencies(devices, rounds),
};
const wanted = values.only?.split(",") ?? Object.keys(parts);

const measures: Measure[] = [];
for (const name of wanted) {
  const part = parts[name];
  if (!part) throw new Error(`There is no part "${name}". There are: ${Object.keys(parts).join(", ")}.`);
  for (const measure of await part()) {
    measures.push(measure);
    console.log(JSON.stringify({ ...measure, ratio: ratioOf(measure), verdict: verdictOf(measure) }));
  }
}
console.log(`\n${table(measures)}\n\nMedians of ${rounds} rounds; load of this machine at the end: ${loadavg()[0]!.toFixed(2)}.`);
process.exit(measures.some((one) => ratioOf(one) === null && verdictOf(one) === "missed") ? 1 : 0);
