import { availableParallelism, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { ratioOf, table, verdictOf, type Measure } from "../../bench/measure.ts";
import { whenTold } from "../../src/cli/processes.ts";
import { numberOf, temporary } from "../kit/command.ts";
import { longAgainstShort } from "./long.ts";
import { highestRate } from "./rate.ts";
import { startServer, type Server } from "./server.ts";
import { slowSockets } from "./slow.ts";

// `npm run load -- --minutes M --conversations N --devices N --seed N --only long,slow,rate`: the built Worker on a process
// of its own, with this one as its clients: one JSON line for each measure, a table at the end. How fast a machine is, is
// printed and is no error; what may not grow without bound is one.

const { values } = parseArgs({
  options: {
    minutes: { type: "string" },
    conversations: { type: "string" },
    devices: { type: "string" },
    seed: { type: "string" },
    only: { type: "string" },
  },
});
whenTold(() => process.exit(130));
const folder = temporary("load");
const until = performance.now() + numberOf(values.minutes, 4) * 60_000;
/** What comes after the search for the rate: holding it, the profile, the end. */
const AFTER_SEARCH_MS = 45_000;

const parts: Record<string, (server: Server) => Promise<Measure[]>> = {
  long: (server) => longAgainstShort(server, 10_000, 11),
  slow: (server) => slowSockets(server, 20),
  rate: (server) =>
    highestRate(server, {
      conversations: numberOf(values.conversations, 200),
      devices: numberOf(values.devices, 5),
      seed: numberOf(values.seed, 1),
      until: until - AFTER_SEARCH_MS,
    }),
};

const measures: Measure[] = [];
for (const name of values.only?.split(",") ?? Object.keys(parts)) {
  const part = parts[name];
  if (!part) throw new Error(`There is no part "${name}". There are: ${Object.keys(parts).join(", ")}.`);
  const server = await startServer(folder);
  for (const measure of await part(server)) {
    measures.push(measure);
    console.log(JSON.stringify({ ...measure, ratio: ratioOf(measure), verdict: verdictOf(measure) }));
  }
  await server.stop();
}
console.log(`\n${table(measures)}\n\n${availableParallelism()} cores; load of this machine at the end: ${loadavg()[0]!.toFixed(2)}.`);
process.exit(measures.some((one) => (one.unit === "" || one.unit === "MiB") && verdictOf(one) === "missed") ? 1 : 0);
