import * as z from "zod";
import type { Ledger } from "../protocol/http.js";

// The ledger in D1: accounts, transfers, and two entries per transfer that sum to zero. A balance is the sum of an
// account's entries, kept by a trigger of the database: adding them up again would take longer with every transfer.

export type Account = Ledger["accounts"][number];
export type Transfer = Ledger["transfers"][number];

export interface TransferOrder {
  /** The same key again returns what it did the first time and moves nothing. */
  key: string;
  /** Account id or name, in any case. */
  from: string;
  to: string;
  amountMinor: number;
  currency: string;
  conversationId: string;
  createdAtMs: number;
}

export type TransferRefusal = "key_reused" | "unknown_account" | "same_account" | "currency_mismatch" | "insufficient_funds" | "bad_amount";

export type TransferOutcome = { status: "transferred"; transfer: Transfer; from: Account; to: Account } | { status: "refused"; code: TransferRefusal; message: string };

const LARGEST_AMOUNT = 1_000_000_000;

/** An amount like 12.5 in cents; null when it is not positive, has more than two decimals or is over a billion. */
export function toMinor(amount: number): number | null {
  const minor = Math.round(amount * 100);
  return amount > 0 && amount <= LARGEST_AMOUNT && minor / 100 === amount ? minor : null;
}

const ACCOUNTS = `SELECT id, name, currency, balance_minor AS balanceMinor FROM accounts WHERE system = 0 ORDER BY id`;
const TRANSFERS = `SELECT key, from_account AS "from", to_account AS "to", amount_minor AS amountMinor, currency, created_at AS createdAt FROM transfers`;

const accountRow: z.ZodType<Account> = z.object({ id: z.string(), name: z.string(), currency: z.string(), balanceMinor: z.int() });
const transferRow: z.ZodType<Transfer> = z.object({
  key: z.string(),
  from: z.string(),
  to: z.string(),
  amountMinor: z.int(),
  currency: z.string(),
  createdAt: z.int(),
});

/** Every account that people may see, with its balance. */
export async function accounts(db: D1Database): Promise<Account[]> {
  const { results } = await db.prepare(ACCOUNTS).all();
  return z.array(accountRow).parse(results);
}

/** The newest transfers, without the opening balances. */
export async function transfers(db: D1Database, limit = 100): Promise<Transfer[]> {
  const { results } = await db.prepare(`${TRANSFERS} WHERE conversation_id IS NOT NULL ORDER BY created_at DESC, key DESC LIMIT ?1`).bind(limit).all();
  return z.array(transferRow).parse(results);
}

// One statement decides and writes: two transfers at once can't both see the same balance as theirs.
const INSERT_TRANSFER = `INSERT INTO transfers (key, from_account, to_account, amount_minor, currency, created_at, conversation_id)
  SELECT ?1, f.id, t.id, ?4, f.currency, ?6, ?7 FROM accounts f, accounts t
  WHERE (f.id = ?2 OR f.name = ?2) AND (t.id = ?3 OR t.name = ?3) AND f.id <> t.id
    AND f.system = 0 AND t.system = 0 AND f.currency = ?5 AND t.currency = ?5
    AND f.balance_minor >= ?4
  ON CONFLICT (key) DO NOTHING`;
const INSERT_ENTRIES = `INSERT INTO entries (transfer_key, account, amount_minor)
  SELECT key, from_account, -amount_minor FROM transfers WHERE key = ?1
  UNION ALL SELECT key, to_account, amount_minor FROM transfers WHERE key = ?1
  ON CONFLICT (transfer_key, account) DO NOTHING`;

/**
 * Moves money once per key, in one D1 batch, which is one transaction. Refuses what the accounts don't
 * allow. Throws when D1 fails: then call again with the same key, or nobody knows whether it happened.
 */
export async function transfer(db: D1Database, order: TransferOrder): Promise<TransferOutcome> {
  const { key, from, to, amountMinor, currency, createdAtMs, conversationId } = order;
  if (!Number.isSafeInteger(amountMinor) || amountMinor <= 0) return { status: "refused", code: "bad_amount", message: "The amount must be a whole number of cents above zero." };
  const results = await db.batch([
    db.prepare(INSERT_TRANSFER).bind(key, from.trim(), to.trim(), amountMinor, currency.toUpperCase(), createdAtMs, conversationId),
    db.prepare(INSERT_ENTRIES).bind(key),
    db.prepare(`${TRANSFERS} WHERE key = ?1`).bind(key),
    db.prepare(ACCOUNTS),
  ]);
  const [stored] = z.array(transferRow).parse(results[2]?.results);
  const all = z.array(accountRow).parse(results[3]?.results);
  const source = find(all, from);
  const target = find(all, to);
  if (!stored) return refusal(order, all, source, target);
  const same = source && target && stored.from === source.id && stored.to === target.id && stored.amountMinor === amountMinor;
  if (!same) return { status: "refused", code: "key_reused", message: "This key belongs to another transfer. Nothing was moved." };
  return { status: "transferred", transfer: stored, from: source, to: target };
}

const find = (all: Account[], name: string) => {
  const wanted = name.trim().toLowerCase();
  return all.find((account) => account.id.toLowerCase() === wanted || account.name.toLowerCase() === wanted);
};

function refusal(order: TransferOrder, all: Account[], from: Account | undefined, to: Account | undefined): TransferOutcome {
  const refused = (code: TransferRefusal, message: string): TransferOutcome => ({ status: "refused", code, message: `${message} Nothing was moved.` });
  if (!from || !to) {
    const unknown = from ? order.to : order.from;
    return refused("unknown_account", `There is no account "${unknown}". There are: ${all.map(({ id }) => id).join(", ")}.`);
  }
  if (from.id === to.id) return refused("same_account", `Both sides are the account ${from.id}.`);
  const currency = order.currency.toUpperCase();
  if (from.currency !== currency || to.currency !== currency) {
    return refused("currency_mismatch", `${from.id} is in ${from.currency} and ${to.id} in ${to.currency}, not in ${currency}.`);
  }
  return refused("insufficient_funds", `${from.id} has ${amountText(from.balanceMinor)} ${currency}, which is less than ${amountText(order.amountMinor)}.`);
}

const amountText = (minor: number): string => (minor / 100).toFixed(2);
