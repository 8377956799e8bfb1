import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { FAULTS, nameOf } from "../faults/list.ts";
import { faultPlugin, faulty } from "../faults/plugin.ts";
import { bundle, bundled, migrationStatements, numberOf, temporary } from "../kit/command.ts";
import type { Asked, Checked } from "./check.ts";
import type * as Main from "./main.ts";

// `npm run model -- --seed N --sequences N`: the same sequences of commands against the promise about pause points and the
// product, once with the in-memory journal and once with the SQLite journal inside workerd. What broke is printed shrunk,
// and comes again with `--seed N --path P --replay R --journal memory|sqlite`. `--faults` breaks the product in one line at a time.

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    sequences: { type: "string" },
    path: { type: "string" },
    replay: { type: "string" },
    journal: { type: "string" },
    faults: { type: "boolean" },
  },
});
const ENOUGH = 10_000;
/** Sequences that are handed on at a time; each such part has a seed of its own. */
const PART = 100;
const NAMES = { memory: "In memory", sqlite: "In SQLite, inside workerd" } as const;
type JournalName = keyof typeof NAMES;

const seed = numberOf(values.seed, 1);
const sequences = numberOf(values.sequences, ENOUGH);
const folder = temporary("model");
const migrations = await migrationStatements();
const bundleMain = (name: string, plugin: ReturnType<typeof faultPlugin>): Promise<typeof Main> =>
  bundled<typeof Main>(join(import.meta.dirname, "main.ts"), join(folder, name), [plugin]);

/** A workerd of its own, that checks what it is asked to. */
async function workerd(): Promise<{ check(asked: Asked): Promise<Checked>; stop(): Promise<void> }> {
  const entry = await bundle(join(import.meta.dirname, "entry.ts"), join(folder, "workerd"), [faultPlugin()], "workerd");
  const runtime = new Miniflare(
    convertV4MiniflareOptions({
      host: "127.0.0.1",
      cf: false,
      log: new Log(LogLevel.WARN),
      name: "model",
      modules: [{ type: "ESModule", path: "entry.js", contents: readFileSync(entry, "utf8") }],
      compatibilityDate: "2026-11-01",
      durableObjects: { MODEL: { className: "Model", useSQLite: true } },
    }),
  );
  let parts = 0;
  return {
    check: async (asked) => {
      const response = await runtime.dispatchFetch(`http://model/${(parts += 1)}`, { method: "POST", body: JSON.stringify({ asked, migrations }) });
      if (!response.ok) throw new Error(await response.text());
      return (await response.json()) as Checked;
    },
    stop: () => runtime.dispose(),
  };
}

type Parts = { journal: JournalName; checked: Checked[]; seconds: number };

/** Two things go on at a time: workerd, and beside it first Node and then another workerd. True when every sequence held. */
async function checkBoth(main: typeof Main): Promise<boolean> {
  const parts = (): Asked[] => Array.from({ length: Math.ceil(sequences / PART) }, (_, n) => ({ seed: seed + n, sequences: Math.min(PART, sequences - n * PART) }));
  const began = Date.now();
  const [memory, sqlite]: [Parts, Parts] = [
    { journal: "memory", checked: [], seconds: 0 },
    { journal: "sqlite", checked: [], seconds: 0 },
  ];
  const [forMemory, forSqlite] = [parts(), parts()];
  const lane = async (to: Parts, queue: Asked[], check: (asked: Asked) => Promise<Checked>): Promise<void> => {
    for (let asked = queue.shift(); asked; asked = queue.shift()) {
      const checked = await check(asked);
      to.checked.push(checked);
      to.seconds = (Date.now() - began) / 1000;
      if (checked.broken) for (const one of [forMemory, forSqlite]) one.length = 0;
    }
  };
  const runtimes = await Promise.all([workerd(), workerd()]);
  const first = lane(memory, forMemory, (asked) => main.inMemory(asked, migrations)).then(() => lane(sqlite, forSqlite, runtimes[0].check));
  await Promise.all([first, lane(sqlite, forSqlite, runtimes[1].check)]);
  for (const { stop } of runtimes) await stop();
  return [memory, sqlite].map((one) => told(main, one)).every(Boolean);
}

/** Prints what one journal went through. True when that is all right. */
function told(main: typeof Main, { journal, checked, seconds }: Parts): boolean {
  const broken = checked.find((one) => one.broken)?.broken;
  if (broken) {
    const replay = /replayPath="([^"]*)"/.exec(broken.sequence)?.[1];
    console.log(`${NAMES[journal]}: BROKEN.${broken.sequence}\n${broken.error}`);
    console.log(`Again: npm run model -- --journal ${journal} --seed ${broken.seed} --path ${broken.path} --replay "${replay}"`);
    return false;
  }
  const tally = main.summed(checked.map((one) => one.tally));
  const { text, seldom } = main.table(tally);
  const average = (tally.commands / Math.max(1, tally.sequences)).toFixed(1);
  console.log(`${NAMES[journal]}: ${tally.sequences} sequences, ${tally.commands} commands (${average} a sequence), done after ${seconds.toFixed(0)} s, no promise broken.`);
  console.log(`${text}\n${main.details(tally)}`);
  if (sequences < ENOUGH || seldom.length === 0) return true;
  console.log(`TOO SELDOM: ${seldom.join(", ")}`);
  return false;
}

/** One sequence that was printed, once more. */
async function again(main: typeof Main, journal: JournalName): Promise<boolean> {
  const asked: Asked = {
    seed,
    sequences: PART,
    ...(values.path === undefined ? {} : { path: values.path }),
    ...(values.replay === undefined ? {} : { replayPath: values.replay }),
  };
  if (journal === "memory") return told(main, { journal, checked: [await main.inMemory(asked, migrations)], seconds: 0 });
  const runtime = await workerd();
  const checked = [await runtime.check(asked)];
  await runtime.stop();
  return told(main, { journal, checked, seconds: 0 });
}

/** True when every fault that this must find was found. */
async function findFaults(): Promise<boolean> {
  let missed = 0;
  for (const fault of FAULTS.filter(({ modelled }) => modelled)) {
    const { inMemory } = await bundleMain(nameOf(fault).replace("/", "-"), faulty([fault]));
    const began = Date.now();
    const { broken } = await inMemory({ seed, sequences }, migrations);
    if (!broken) missed += 1;
    const seconds = ((Date.now() - began) / 1000).toFixed(1);
    if (!broken) console.log(`${nameOf(fault)}, ${fault.fault}: NOT NOTICED, ${seconds} s`);
    else {
      console.log(`${nameOf(fault)}, ${fault.fault}: noticed in sequence ${Number(broken.path?.split(":")[0]) + 1}, ${seconds} s with shrinking`);
      console.log(`${broken.sequence.replace(/ \/\*.*/, "")}\n  → ${broken.error.split("}: ").at(-1)}`.slice(1));
    }
  }
  return missed === 0;
}

const journal = values.journal === "sqlite" ? "sqlite" : "memory";
console.log(values.faults ? `seed ${seed}` : `seed ${seed}, ${sequences} sequences against each journal`);
const held = values.faults ? await findFaults() : await bundleMain("sound", faultPlugin()).then((main) => (values.path === undefined ? checkBoth(main) : again(main, journal)));
process.exit(held ? 0 : 1);
