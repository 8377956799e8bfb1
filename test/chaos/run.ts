import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../../src/cli/processes.ts";
import { FAULTS, nameOf } from "../faults/list.ts";
import { buildWorker, makeTables, SERVE } from "../kit/built.ts";
import { bundled, numberOf, temporary } from "../kit/command.ts";
import type * as Main from "./main.ts";
import { allPoints, transactionNames } from "./points.ts";

// `npm run chaos -- --seed N --kills K --minutes M`: the built Worker on workerd, with its state on disk, killed at named
// points and at random while people use it, and looked at from outside after each restart.

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    kills: { type: "string" },
    minutes: { type: "string" },
    worlds: { type: "string" },
    point: { type: "string" },
  },
});
const folder = temporary("chaos");
const worker = buildWorker("test/chaos/entry.ts", folder, faultyCopy() ?? ROOT);
const paths: Main.Paths = { worker, serve: SERVE, tables: makeTables(worker, folder) };
const { chaos } = await bundled<typeof Main>(join(import.meta.dirname, "main.ts"), join(folder, "harness"));

/** With HOLDPOINT_FAULT, a copy of the sources in which that one line is broken, to show that chaos finds it. */
function faultyCopy(): string | null {
  const name = process.env["HOLDPOINT_FAULT"];
  if (!name) return null;
  const copy = join(folder, "project");
  const fault = FAULTS.find((one) => nameOf(one) === name);
  if (!fault) throw new Error(`There is no fault ${name}.`);
  for (const part of ["src", "test/chaos", "test/kit", "wrangler.toml", "package.json", "tsconfig.json"]) cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  const file = join(copy, fault.file);
  writeFileSync(
    file,
    readFileSync(file, "utf8").replace(fault.find, () => fault.replace),
  );
  return copy;
}

const sources = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
const transactions = transactionNames(sources.map((file) => readFileSync(join(ROOT, "src", file), "utf8")));
const points = values.point ? [values.point] : allPoints(transactions, ["execute_transfer", "wire", "list_accounts"], ["conversations", "members", "pause_points", "transfers"]);
const held = await chaos(
  { seed: numberOf(values.seed, 1), kills: numberOf(values.kills, 60), minutes: numberOf(values.minutes, 60), worlds: numberOf(values.worlds, 3), points },
  paths,
  folder,
);
process.exit(held ? 0 : 1);
