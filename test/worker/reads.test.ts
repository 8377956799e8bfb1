import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, it } from "vitest";
import { until } from "../kit/until.js";
import { resetControl } from "./entry.js";
import { Device, migrateD1, newConversation, stubOf } from "./kit.js";

beforeEach(migrateD1);
afterEach(async () => {
  resetControl();
  await abortAllDurableObjects();
});

const EARLIER = 400;
/** What D1 has not taken yet: asked by this test only, so what it reads is not counted. */
const BEHIND = "SELECT 1 FROM pause_points WHERE version > mirrored UNION ALL SELECT 1 FROM conversation WHERE version > mirrored";

/** Makes this life of an object count the rows that its statements read; gives what they were until then. */
async function counting(id: string): Promise<() => number> {
  const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
  await runInDurableObject(stubOf(id), (_, { storage }) => {
    const { sql } = storage;
    const exec = sql.exec.bind(sql);
    Object.defineProperty(sql, "exec", {
      value: (query: string, ...values: unknown[]) => {
        const cursor = exec(query, ...values);
        if (query !== BEHIND) cursors.push(cursor);
        return cursor;
      },
    });
    Object.defineProperty(storage, "sql", { value: sql });
  });
  return () => cursors.splice(0).reduce((sum, cursor) => sum + cursor.rowsRead, 0);
}

it("[S5] [H21] a turn with its card reads no more rows after four hundred cards than after one", async () => {
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  let turns = 0;
  const turn = async (): Promise<void> => {
    turns += 1;
    await laptop.say("ask me for my name");
    await laptop.decide(await laptop.card(), "reject");
    await laptop.until(() => laptop.run?.runId === `r${turns}` && laptop.run.status === "completed");
    await until(() => runInDurableObject(stubOf(id), (_, { storage }) => storage.sql.exec(BEHIND).toArray().length === 0));
  };
  await turn();
  const read = await counting(id);
  await turn();
  const few = read();
  // As if there had been many before: cards that were decided and delivered long ago.
  await runInDurableObject(stubOf(id), (_, { storage }) => {
    const columns = storage.sql
      .exec("SELECT name FROM pragma_table_info('pause_points')")
      .toArray()
      .map(({ name }) => String(name));
    const copied = columns.map((name) => (name === "n" ? "-number" : name === "op_id" ? "'old' || number" : `"${name}"`)).join(", ");
    storage.sql.exec(
      `WITH RECURSIVE numbers (number) AS (SELECT 0 UNION ALL SELECT number + 1 FROM numbers WHERE number < ${EARLIER - 1}) INSERT INTO pause_points SELECT ${copied} FROM pause_points, numbers WHERE n = 1`,
    );
  });
  read();
  await turn();
  // A delivery more or less is chance.
  expect(read()).toBeLessThan(few + 40);
});
