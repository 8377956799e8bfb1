import { useCallback } from "react";
import { PlainText } from "../components/PlainText.js";
import { TopBar } from "../components/TopBar.js";
import { useFetched, usePolling } from "../hooks.js";
import { api } from "../lib/api.js";
import { moment } from "../lib/time.js";

const figures = new Intl.NumberFormat("en-GB", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const amount = (minor: number, currency: string): string => `${figures.format(minor / 100)} ${currency}`;

/** What the tools have done in the world they ship with: anyone can check "exactly once" here. */
export function LedgerPage({ onMenu, stir }: { onMenu(): void; stir: number }) {
  const ledger = useFetched(api.ledger, stir);
  const emails = useFetched(api.emails, stir);
  usePolling(
    useCallback(() => {
      ledger.again();
      emails.again();
    }, []),
    15_000,
  );
  const now = Date.now();
  const names = new Map(ledger.value?.accounts.map(({ id, name }) => [id, name]));
  return (
    <>
      <TopBar title="Ledger" sub="what the agent’s tools have really done" onMenu={onMenu} />
      <div className="page">
        <div className="read">
          {ledger.error && <p role="alert">{ledger.error}</p>}
          <h2>Accounts</h2>
          <table className="log" data-testid="accounts">
            <thead>
              <tr>
                <th>Account</th>
                <th className="r">Balance</th>
              </tr>
            </thead>
            <tbody>
              {ledger.value?.accounts.map(({ id, name, currency, balanceMinor }) => (
                <tr key={id} data-account={id}>
                  <td className="x">
                    <PlainText text={name} />
                  </td>
                  <td className="r">{amount(balanceMinor, currency)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <h2>Transfers</h2>
          {ledger.value?.transfers.length === 0 && <p className="quiet">None yet.</p>}
          <table className="log" data-testid="transfers">
            <tbody>
              {ledger.value?.transfers.map(({ key, from, to, amountMinor, currency, createdAt }) => (
                <tr key={key} title={key}>
                  <td className="dim">{moment(createdAt, now)}</td>
                  <td className="x">
                    <PlainText text={`${names.get(from) ?? from} → ${names.get(to) ?? to}`} />
                  </td>
                  <td className="r">{amount(amountMinor, currency)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <h2>E-mails</h2>
          {emails.error && <p role="alert">{emails.error}</p>}
          {emails.value?.items.length === 0 && <p className="quiet">None yet.</p>}
          <ul className="mails" data-testid="emails">
            {emails.value?.items.map(({ key, to, subject, body, createdAt }) => (
              <li key={key}>
                <b>
                  <PlainText text={subject} />
                </b>
                <small>
                  to <PlainText text={to} />, {moment(createdAt, now)}
                </small>
                <p>
                  <PlainText text={body} />
                </p>
              </li>
            ))}
          </ul>
        </div>
      </div>
    </>
  );
}
