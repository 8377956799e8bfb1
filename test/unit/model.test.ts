import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { check } from "../model/check.js";
import { memoryDisk } from "../model/memory.js";
import { table } from "../model/report.js";

// `npm run model` has ten thousand sequences against each journal; test/worker/model.test.ts some against the other.

it("[H3] [H4] [H5] [H11] [H12] [H21] [S5] pause points keep what is promised of them in a hundred sequences of commands, in memory", async () => {
  const migrations = readdirSync("migrations").toSorted();
  const disk = memoryDisk(migrations.map((file) => readFileSync(`migrations/${file}`, "utf8")));
  const { tally, broken } = await check(disk, { seed: 1, sequences: 100 });
  expect(broken).toBeNull();
  expect(tally.commands).toBeGreaterThan(2000);
  // What was not tried a hundred times is named, each pair by itself.
  expect(table(tally).seldom).toContain("replaced × withdraw");
});
