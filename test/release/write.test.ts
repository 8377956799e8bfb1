import { runInDurableObject } from "cloudflare:test";
import { beforeAll, expect, it } from "vitest";
import { wireShape } from "./wire-shape.js";
import { listening, suspendedLife } from "./life.js";
import { migrateD1, stubOf } from "../worker/kit.js";

// One conversation as this release leaves it. The release after must open it, decide, and go on.

beforeAll(migrateD1);

it("writes the journal of a suspended run as SQL", async () => {
  const { id, laptop } = await suspendedLife();
  const sql = await runInDurableObject(stubOf(id), (_, state) => dump(state.storage.sql));
  const version = await runInDurableObject(stubOf(id), (_, state) => state.storage.sql.exec("SELECT schema FROM conversation").one()["schema"]);
  await expect(sql).toMatchFileSnapshot(`../fixtures/journal-v${version}.sql`);
  await expect(`${wireShape([...laptop.frames, ...(await listening()).frames]).join("\n")}\n`).toMatchFileSnapshot(`../fixtures/wire-v${version}.txt`);
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
