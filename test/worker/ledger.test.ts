import { env as bindings } from "cloudflare:workers";
import { beforeEach, describe, expect, test } from "vitest";
import { emails, writeEmail } from "../../src/store/emails.js";
import { accounts, transfer, transfers, type TransferOrder } from "../../src/store/ledger.js";
import { createTools } from "../../src/tools/index.js";

const env = bindings as unknown as { DB: D1Database; MIGRATIONS: { name: string; queries: string[] }[] };

beforeEach(async () => {
  const statements = env.MIGRATIONS.filter(({ name }) => /ledger|balances/.test(name)).flatMap(({ queries }) => queries);
  const drops = ["entries", "transfers", "accounts", "emails"].map((table) => `DROP TABLE IF EXISTS ${table}`);
  await env.DB.batch([...drops, ...statements].map((statement) => env.DB.prepare(statement)));
});

const order = (more: Partial<TransferOrder> = {}): TransferOrder => ({
  key: "c.1.0.0",
  from: "operations",
  to: "savings",
  amountMinor: 50_000,
  currency: "EUR",
  conversationId: "c",
  createdAtMs: 1,
  ...more,
});

const balances = async () => Object.fromEntries((await accounts(env.DB)).map(({ id, balanceMinor }) => [id, balanceMinor]));
const OPENING = { operations: 1_284_050, savings: 2_500_000, payroll: 820_000, "supplier-nordwind": 0 };

/** What anyone can check: two entries for each transfer, a sum of zero, and balances that are the sums of their entries. */
async function expectBooksInOrder() {
  const row = await env.DB.prepare("SELECT SUM(amount_minor) AS total, COUNT(*) AS entries, (SELECT COUNT(*) FROM transfers) AS transfers FROM entries").first<{
    total: number;
    entries: number;
    transfers: number;
  }>();
  expect(row?.total).toBe(0);
  expect(row?.entries).toBe(2 * (row?.transfers ?? 0));
  const { results } = await env.DB.prepare(
    "SELECT id, balance_minor - (SELECT coalesce(sum(amount_minor), 0) FROM entries WHERE account = accounts.id) AS off FROM accounts",
  ).all();
  expect(results.filter(({ off }) => off !== 0)).toEqual([]);
}

test("four accounts open with their balances, and the equity behind them is not listed", async () => {
  expect(await balances()).toEqual(OPENING);
  expect(await transfers(env.DB)).toEqual([]);
  await expectBooksInOrder();
});

describe("[C1] a transfer happens once", () => {
  test("the same key again returns the same transfer and moves nothing", async () => {
    const first = await transfer(env.DB, order());
    const second = await transfer(env.DB, order({ createdAtMs: 2 }));
    expect(first).toMatchObject({ status: "transferred", from: { balanceMinor: 1_234_050 }, to: { balanceMinor: 2_550_000 } });
    expect(second).toEqual(first);
    expect(await transfers(env.DB)).toHaveLength(1);
    await expectBooksInOrder();
  });

  test("ten at once with one key move the money once", async () => {
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => transfer(env.DB, order())));
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["transferred"]));
    expect((await balances())["operations"]).toBe(1_234_050);
    await expectBooksInOrder();
  });

  test("a repeat succeeds even when the account could not pay twice", async () => {
    await transfer(env.DB, order({ amountMinor: OPENING.operations }));
    expect(await transfer(env.DB, order({ amountMinor: OPENING.operations }))).toMatchObject({ status: "transferred", from: { balanceMinor: 0 } });
  });

  test("a key of another transfer moves nothing", async () => {
    await transfer(env.DB, order());
    expect(await transfer(env.DB, order({ amountMinor: 1 }))).toMatchObject({ status: "refused", code: "key_reused" });
    await expectBooksInOrder();
  });
});

describe("an account can't be overdrawn", () => {
  test("down to zero, and no cent further", async () => {
    expect(await transfer(env.DB, order({ amountMinor: OPENING.operations + 1 }))).toMatchObject({ status: "refused", code: "insufficient_funds" });
    expect(await transfer(env.DB, order({ amountMinor: OPENING.operations }))).toMatchObject({ status: "transferred" });
  });

  test("ten at once that only three times fit: three go through", async () => {
    const outcomes = await Promise.all(Array.from({ length: 10 }, (_, index) => transfer(env.DB, order({ key: `c.1.0.${index}`, amountMinor: 400_000 }))));
    expect(outcomes.filter(({ status }) => status === "transferred")).toHaveLength(3);
    expect((await balances())["operations"]).toBe(84_050);
    await expectBooksInOrder();
  });
});

describe("what is refused, and moves nothing", () => {
  test.each<[string, Partial<TransferOrder>]>([
    ["unknown_account", { to: "nowhere" }],
    ["unknown_account", { from: "opening-equity" }],
    ["unknown_account", { to: "Opening equity" }],
    ["unknown_account", { to: "savings' OR '1'='1" }],
    ["same_account", { to: "Operations" }],
    ["currency_mismatch", { currency: "USD" }],
    ["bad_amount", { amountMinor: 0 }],
    ["bad_amount", { amountMinor: -1 }],
    ["bad_amount", { amountMinor: 0.5 }],
  ])("%s %j", async (code, more) => {
    expect(await transfer(env.DB, order(more))).toMatchObject({ status: "refused", code, message: expect.any(String) });
    expect(await balances()).toEqual(OPENING);
  });
});

test("accounts go by id or by name, in any case", async () => {
  expect(await transfer(env.DB, order({ from: "OPERATIONS", to: " supplier Nordwind ", currency: "eur" }))).toMatchObject({
    status: "transferred",
    transfer: { from: "operations", to: "supplier-nordwind", currency: "EUR" },
  });
});

test("the newest transfers come first", async () => {
  for (const createdAtMs of [1, 3, 2]) await transfer(env.DB, order({ key: `k${createdAtMs}`, amountMinor: 1, createdAtMs }));
  expect((await transfers(env.DB)).map(({ key }) => key)).toEqual(["k3", "k2", "k1"]);
  expect((await transfers(env.DB, 1)).map(({ key }) => key)).toEqual(["k3"]);
});

test("a mail is written once per key", async () => {
  const mail = { key: "k", to: "bob@example.com", subject: "Hi", body: "There", createdAt: 1 };
  await writeEmail(env.DB, { ...mail, conversationId: "c" });
  await writeEmail(env.DB, { ...mail, to: "eve@example.com", conversationId: "c" });
  expect(await emails(env.DB)).toEqual([mail]);
});

describe("the tools on top", () => {
  const tools = createTools({ httpAllowlist: [], emailConfigured: false });
  const run = (name: string, input: { [key: string]: string | number }) =>
    tools.get(name)?.execute(input, { idempotencyKey: "c.1.0.0", signal: new AbortController().signal, conversationId: "c", person: "ann", env });

  test("a transfer returns the money facts", async () => {
    expect(await run("execute_transfer", { from: "Operations", to: "Savings", amount: 500.25, currency: "EUR" })).toEqual({
      transferId: "c.1.0.0",
      from: "operations",
      to: "savings",
      amount: 500.25,
      currency: "EUR",
      balances: { operations: 12_340.25, savings: 25_500.25 },
    });
  });

  test("a refused transfer fails with the reason", async () => {
    await expect(run("execute_transfer", { from: "payroll", to: "savings", amount: 9_000, currency: "EUR" })).rejects.toThrow(
      "payroll has 8200.00 EUR, which is less than 9000.00. Nothing was moved.",
    );
  });

  test("a mail without a binding stands in the list", async () => {
    await run("send_email", { to: "bob@example.com", subject: "Hi", body: "There" });
    expect(await emails(env.DB)).toMatchObject([{ key: "c.1.0.0", to: "bob@example.com" }]);
  });
});

test("a transfer reads as many rows after three hundred others as after none", async () => {
  const read = async (key: string): Promise<number> => {
    let rows = 0;
    const batch = async (statements: D1PreparedStatement[]) => {
      const results = await env.DB.batch(statements);
      for (const { meta } of results) rows += meta.rows_read;
      return results;
    };
    const counting = { prepare: env.DB.prepare.bind(env.DB), batch } as unknown as D1Database;
    expect(await transfer(counting, order({ key, amountMinor: 1 }))).toMatchObject({ status: "transferred" });
    return rows;
  };
  const first = await read("first");
  await env.DB.batch(
    Array.from({ length: 300 }, (_, n) => [
      env.DB.prepare("INSERT INTO transfers (key, from_account, to_account, amount_minor, currency, created_at) VALUES (?, 'operations', 'savings', 1, 'EUR', 0)").bind(`t${n}`),
      env.DB.prepare("INSERT INTO entries VALUES (?1, 'operations', -1), (?1, 'savings', 1)").bind(`t${n}`),
    ]).flat(),
  );
  expect(await read("last")).toBe(first);
  await expectBooksInOrder();
});
