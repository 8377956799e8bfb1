-- A small double-entry ledger and the outgoing mail of a deployment without a mail binding.
-- Amounts are integers in minor units (cents). The sum of all entries is always zero.

CREATE TABLE accounts (
  id TEXT PRIMARY KEY COLLATE NOCASE,
  name TEXT NOT NULL UNIQUE COLLATE NOCASE,
  currency TEXT NOT NULL,
  -- 1: the other side of the opening balances. Not listed, and no transfer of a tool touches it.
  system INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE transfers (
  -- The idempotency key of the tool call: the same key again moves nothing.
  key TEXT PRIMARY KEY,
  from_account TEXT NOT NULL REFERENCES accounts (id),
  to_account TEXT NOT NULL REFERENCES accounts (id),
  amount_minor INTEGER NOT NULL CHECK (amount_minor > 0),
  currency TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  conversation_id TEXT,
  CHECK (from_account <> to_account)
) WITHOUT ROWID;
CREATE INDEX transfers_by_time ON transfers (created_at);

CREATE TABLE entries (
  transfer_key TEXT NOT NULL REFERENCES transfers (key),
  account TEXT NOT NULL REFERENCES accounts (id),
  amount_minor INTEGER NOT NULL,
  PRIMARY KEY (transfer_key, account)
) WITHOUT ROWID;
CREATE INDEX entries_by_account ON entries (account, amount_minor);

CREATE TABLE emails (
  key TEXT PRIMARY KEY,
  recipient TEXT NOT NULL,
  subject TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  conversation_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX emails_by_time ON emails (created_at);

INSERT INTO accounts (id, name, currency, system) VALUES
  ('operations', 'Operations', 'EUR', 0),
  ('savings', 'Savings', 'EUR', 0),
  ('payroll', 'Payroll', 'EUR', 0),
  ('supplier-nordwind', 'Supplier Nordwind', 'EUR', 0),
  ('opening-equity', 'Opening equity', 'EUR', 1);

INSERT INTO transfers (key, from_account, to_account, amount_minor, currency, created_at) VALUES
  ('opening:operations', 'opening-equity', 'operations', 1284050, 'EUR', 0),
  ('opening:savings', 'opening-equity', 'savings', 2500000, 'EUR', 0),
  ('opening:payroll', 'opening-equity', 'payroll', 820000, 'EUR', 0);

INSERT INTO entries (transfer_key, account, amount_minor)
  SELECT key, from_account, -amount_minor FROM transfers
  UNION ALL SELECT key, to_account, amount_minor FROM transfers;
