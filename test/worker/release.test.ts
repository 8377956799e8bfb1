import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { listening, suspendedLife } from "../release/life.js";
import { wireShape } from "../release/wire-shape.js";
import { resetControl } from "./entry.js";
import { api, Device, migrateD1, newConversation, stubOf } from "./kit.js";

// What earlier releases have written, opened by this one (H15). `npm run fixture` writes the files.

const journals = Object.entries(import.meta.glob<string>("../fixtures/journal-v*.sql", { query: "?raw", import: "default", eager: true })).map(([path, sql]) => ({
  version: Number(/v(\d+)\.sql/.exec(path)?.[1]),
  sql,
}));
const wires = Object.entries(import.meta.glob<string>("../fixtures/wire-v*.txt", { query: "?raw", import: "default", eager: true })).map(([path, text]) => ({
  version: Number(/v(\d+)\.txt/.exec(path)?.[1]),
  fields: text.trim().split("\n"),
}));

beforeEach(migrateD1);
afterEach(async () => {
  vi.useRealTimers();
  resetControl();
  await abortAllDurableObjects();
});

const statements = (sql: string): string[] => sql.split(/;\n/).filter((statement) => statement.trim());
const idIn = (sql: string): string => /'(c_[0-9a-f]{32})'/.exec(sql)?.[1] ?? "";

/** A conversation's object with the rows that an earlier release left, an hour after it left them, whatever today's date is. */
async function installed(sql: string): Promise<string> {
  const id = `c_${crypto.randomUUID().replaceAll("-", "")}`;
  const left = await runInDurableObject(stubOf(id), (_, { storage }) => {
    for (const statement of statements(sql.replaceAll(idIn(sql), id))) storage.sql.exec(statement);
    return Number(storage.sql.exec("SELECT updated_at FROM conversation").one()["updated_at"]);
  });
  await abortAllDurableObjects();
  vi.useFakeTimers({ toFake: ["Date"], now: left + 60 * 60_000 });
  return id;
}

const columns = (id: string): Promise<Record<string, string[]>> =>
  runInDurableObject(stubOf(id), (_, { storage }) =>
    Object.fromEntries(
      storage.sql
        .exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\'")
        .toArray()
        .map(({ name }) => [
          String(name),
          storage.sql
            .exec(`SELECT name FROM pragma_table_info('${name}')`)
            .toArray()
            .map((row) => String(row["name"]))
            .toSorted(),
        ]),
    ),
  );

it("[H15] every release before this one has left its journal and its frames", async () => {
  const id = await newConversation();
  const today = await runInDurableObject(stubOf(id), (_, { storage }) => Number(storage.sql.exec("SELECT schema FROM conversation").one()["schema"]));
  const before = Array.from({ length: today - 1 }, (_, n) => n + 1);
  for (const left of [journals, wires]) expect(left.map(({ version }) => version)).toEqual(expect.arrayContaining(before));
});

describe.each(journals)("[H15] a journal of version $version with a suspended run in it", ({ sql }) => {
  it("opens, shows its cards, decides, runs the tool once, and goes on to the texts that waited", async () => {
    const id = await installed(sql);
    const laptop = await Device.connect(id, "ana");
    const cards = [...laptop.cards.values()].filter(({ state }) => state === "pending");
    expect(cards.map(({ kind }) => kind)).toEqual(["approval", "choice"]);
    expect(laptop.run).toMatchObject({ status: "suspended" });
    expect(laptop.text).toContain("and then list the accounts");
    expect(await laptop.decide(cards[0]!, "approve", { payloadOverride: { from: "operations", to: "savings", amount: 110, currency: "EUR" } })).toMatchObject({
      status: "applied",
    });
    expect((await api("ben", "POST", "/api/chat/resume", { pausePointId: cards[1]!.id, decision: "approve", choice: "tea" })).status).toBe(200);
    await laptop.until(() => laptop.run?.status === "completed");
    expect(laptop.text).toMatch(/110 EUR went from operations to savings/);
    expect(laptop.text).toMatch(/The accounts:/);
    const { transfers } = (await api("ana", "GET", "/api/ledger")).body;
    expect(transfers.filter(({ key }: { key: string }) => key.startsWith(`${id}.`)).map(({ amountMinor }: { amountMinor: number }) => amountMinor)).toEqual([11_000]);
    // What that release had settled is as it was, and its commands are still known.
    expect(await laptop.command({ type: "send", opId: "op-first", messageId: "u-first", text: "Transfer 250 EUR from operations to savings" })).toMatchObject({
      status: "duplicate",
    });
    expect(await laptop.command({ type: "regenerate", messageId: "m4" })).toMatchObject({ status: "applied" });
    await laptop.card();
  });

  it("has the tables of a new conversation once it was opened", async () => {
    const id = await installed(sql);
    await Device.connect(id, "ana");
    const made = await newConversation();
    expect(await columns(id)).toEqual(await columns(made));
    const schema = (of: string) => runInDurableObject(stubOf(of), (_, { storage }) => storage.sql.exec("SELECT schema FROM conversation").one()["schema"]);
    expect(await schema(id)).toBe(await schema(made));
  });

  it("could have been written into the tables of today, so going back by one release is safe", async () => {
    const made = await newConversation();
    await runInDurableObject(stubOf(made), (_, { storage }) => {
      for (const { name } of storage.sql.exec("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\'").toArray())
        storage.sql.exec(`DELETE FROM ${name}`);
      for (const statement of statements(sql)) if (statement.startsWith("INSERT")) storage.sql.exec(statement);
      expect(storage.sql.exec("SELECT count(*) AS rows FROM steps").one()["rows"]).toBeGreaterThan(4);
    });
  });
});

it.each(wires)("[H15] a client of version $version finds every field that it knew, of the same type", async ({ fields }) => {
  const frames = [...(await suspendedLife()).laptop.frames, ...(await listening()).frames];
  expect(fields.filter((field) => !wireShape(frames).includes(field))).toEqual([]);
});
