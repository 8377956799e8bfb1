-- An account's balance, moved by the database itself with each entry. Adding up an account's entries for each transfer
-- took longer with every transfer that there had been. A release that knows nothing of it keeps it right all the same.
ALTER TABLE accounts ADD COLUMN balance_minor INTEGER NOT NULL DEFAULT 0;
UPDATE accounts SET balance_minor = (SELECT coalesce(sum(amount_minor), 0) FROM entries WHERE account = accounts.id);
CREATE TRIGGER entries_move_balances AFTER INSERT ON entries BEGIN
  UPDATE accounts SET balance_minor = balance_minor + NEW.amount_minor WHERE id = NEW.account;
END;
