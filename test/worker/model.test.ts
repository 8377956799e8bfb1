import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { check } from "../model/check.js";
import { sqliteDisk } from "../model/sqlite.js";

it("[H3] [H4] [H5] [H11] [H12] [H21] [S5] pause points keep what is promised of them in sequences of commands, in SQLite", async () => {
  const migrations = env.MIGRATIONS.flatMap(({ queries }) => queries);
  const stub = env.CONVERSATION.getByName(`c_${"d".repeat(32)}`);
  const { tally, broken } = await runInDurableObject(stub, (_, { storage }) => check(sqliteDisk(storage, migrations), { seed: 2, sequences: 25 }));
  expect(broken).toBeNull();
  expect(tally.commands).toBeGreaterThan(400);
});
