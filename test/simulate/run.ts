import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { ROOT } from "../../src/cli/processes.ts";
import { faultPlugin, faulty } from "../faults/plugin.ts";
import { bundled, numberOf, temporary } from "../kit/command.ts";
import { SIMULATED_FAULTS } from "./faults.ts";
import type { Asked, Lived } from "./main.ts";
import { workersStandIn } from "./stand-in.ts";

// `npm run simulate -- --seed N --minutes M --conversations C --threads T`: whole conversations (object, alarm, D1,
// sockets, devices, model, tools) under a scheduler that owns the clock and the order of every wait.
// `--faults` instead breaks the product in one way at a time, and says which seed noticed.

const names = ["seed", "minutes", "conversations", "threads"] as const;
const { values } = parseArgs({
  options: { faults: { type: "boolean" }, seed: { type: "string" }, minutes: { type: "string" }, conversations: { type: "string" }, threads: { type: "string" } },
});
const [seed, minutes, conversations, threads] = names.map((name, place) =>
  numberOf(values[name], [Date.now() % 1_000_000_000, 1, Infinity, availableParallelism()][place] ?? 0),
) as [number, number, number, number];

const folder = temporary("simulate");
type Simulation = typeof import("./main.ts");
const bundle = (name: string, plugin: ReturnType<typeof faultPlugin>): Promise<Simulation> =>
  bundled(join(import.meta.dirname, "main.ts"), join(folder, name), [plugin, workersStandIn]);

function inThread(name: string, asked: Asked): { lived: Promise<Lived>; stop(): void } {
  const worker = new Worker(join(import.meta.dirname, "thread.ts"), {
    workerData: { bundle: join(folder, name, "main.js"), asked },
    resourceLimits: { maxYoungGenerationSizeMb: 64 },
  });
  const lived = new Promise<Lived>((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
  return { lived, stop: () => void worker.terminate() };
}

/** Lives in all threads until there has been enough. True when no rule was broken. */
async function simulate(): Promise<boolean> {
  const { replay } = await bundle("product", faultPlugin());
  const begun = Date.now();
  const share = Math.ceil(conversations / threads);
  const running = Array.from({ length: threads }, (_, place) => inThread("product", { seed: seed + place, step: threads, conversations: share, minutes }));
  const broke = (lived: Promise<Lived>): Promise<Lived> => lived.then((ended) => (ended.broken ? ended : new Promise<never>(() => {})));
  const first = await Promise.race([...running.map(({ lived }) => broke(lived)), Promise.all(running.map(({ lived }) => lived))]);
  for (const { stop } of running) stop();
  if (!Array.isArray(first)) {
    const found = first.broken?.seed ?? 0;
    console.log((await replay(found)).join("\n"));
    console.log(`\nBroken by seed ${found}. Replay it with: npm run simulate -- --seed ${found} --conversations 1 --threads 1\n${first.broken?.rule}`);
    return false;
  }
  const sum = (of: (lived: Lived) => number): number => first.reduce((total, lived) => total + of(lived), 0);
  const seconds = Math.max(0.001, (Date.now() - begun) / 1000);
  const lives = sum((lived) => lived.conversations);
  console.log(
    `${lives} conversations from seed ${seed} in ${seconds.toFixed(1)} s (${Math.round(lives / seconds)} a second, ${threads} threads): ${sum(({ report }) => report.commands)} commands, ` +
      `${sum(({ report }) => report.decided)} decisions, ${sum(({ report }) => report.effects)} effects, ${sum(({ report }) => report.batches)} batches to D1, ${sum(({ report }) => report.crashes)} crashes. No rule was broken.`,
  );
  return true;
}

/** True when every fault was found. */
async function findFaults(): Promise<boolean> {
  let missed = 0;
  for (const [place, { name, edits }] of SIMULATED_FAULTS.entries()) {
    const gone = edits.find(({ file, find }) => readFileSync(join(ROOT, file), "utf8").split(find).length !== 2);
    if (gone) throw new Error(`${name}: in ${gone.file} this stands not exactly once: ${gone.find}`);
    const { live } = await bundle(`fault-${place}`, faulty(edits));
    const begun = Date.now();
    const { broken, conversations: lives } = await live({ seed, step: 1, conversations: Math.min(conversations, 100_000), minutes: Math.max(minutes, 5) });
    const seconds = ((Date.now() - begun) / 1000).toFixed(1);
    if (!broken) missed += 1;
    console.log(broken ? `${name}: seed ${broken.seed}, after ${lives} conversations, ${seconds} s: ${broken.rule}` : `${name}: NOT FOUND in ${lives} conversations, ${seconds} s`);
  }
  console.log(`${SIMULATED_FAULTS.length - missed} of ${SIMULATED_FAULTS.length} faults were found.`);
  return missed === 0;
}

// HOLDPOINT_FAULT breaks the product in one line, to show that the simulation finds it.
process.exitCode = (values.faults ? await findFaults() : await simulate()) ? 0 : 1;
