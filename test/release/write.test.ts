import { runInDurableObject } from "cloudflare:test";
import { beforeAll, expect, it } from "vitest";
import { wireShape } from "./wire-shape.js";
import { Device, migrateD1, newConversation, stubOf } from "../worker/kit.js";

// One conversation as this release leaves it: an approved transfer, a rejected one, a text in the queue, and a run that
// waits for two people at once. The release after must open it, decide, and go on.

beforeAll(migrateD1);

it("writes the journal of a suspended run as SQL", async () => {
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana", "laptop");
  await laptop.say("Transfer 250 EUR from operations to savings", { messageId: "u-first", opId: "op-first" });
  await laptop.decide(await laptop.card(), "approve", { reply: "fine" });
  await laptop.rest("completed");
  await laptop.say("Transfer 300 EUR from operations to payroll");
  await laptop.decide(await laptop.card(), "reject", { reply: "not now" });
  await laptop.until(() => laptop.run?.runId === "r2" && laptop.run.status === "completed");
  await laptop.say("Transfer 120 EUR from operations to savings and let me choose between tea and coffee", { messageId: "u-last" });
  await laptop.until(() => [...laptop.cards.values()].filter(({ state }) => state === "pending").length === 2);
  await laptop.rest("suspended");
  await laptop.say("and then list the accounts", { messageId: "u-queued" });
  const sql = await runInDurableObject(stubOf(id), (_, state) => dump(state.storage.sql));
  const version = await runInDurableObject(stubOf(id), (_, state) => state.storage.sql.exec("SELECT schema FROM conversation").one()["schema"]);
  await expect(sql).toMatchFileSnapshot(`../fixtures/journal-v${version}.sql`);
  await expect(`${wireShape(laptop.frames).join("\n")}\n`).toMatchFileSnapshot(`../fixtures/wire-v${version}.txt`);
});

function dump(sql: SqlStorage): string {
  const made = sql.exec("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE '\\_%' ESCAPE '\\' ORDER BY type DESC, name").toArray();
  const tables = made.filter((row) => String(row["sql"]).startsWith("CREATE TABLE"));
  const rows = tables.flatMap(({ name }) =>
    sql
      .exec(`SELECT * FROM ${name}`)
      .toArray()
      .map(
        (row) =>
          `INSERT INTO ${name} (${Object.keys(row)
            .map((column) => `"${column}"`)
            .join(", ")}) VALUES (${Object.values(row).map(literal).join(", ")});`,
      ),
  );
  return `${[...made.map((row) => `${row["sql"]};`), ...rows].join("\n")}\n`;
}

const literal = (value: unknown): string => (value === null ? "NULL" : typeof value === "number" ? String(value) : `'${String(value).replaceAll("'", "''")}'`);
