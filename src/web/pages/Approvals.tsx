import { Link } from "wouter";
import type { ApprovalListItem } from "../../protocol/http.js";
import { RiskMark } from "../components/card/Band.js";
import { Icon } from "../components/Icon.js";
import { PlainText } from "../components/PlainText.js";
import { TopBar } from "../components/TopBar.js";
import { duration } from "../lib/time.js";

interface Props {
  items: ApprovalListItem[] | null;
  error: string | null;
  titles: ReadonlyMap<string, string>;
  onMenu(): void;
}

/** The cards that wait, over all conversations, soonest deadline first. */
export function Approvals({ items, error, titles, onMenu }: Props) {
  const now = Date.now();
  const open = (items ?? []).filter(({ expiresAt }) => expiresAt === null || expiresAt > now).sort((a, b) => (a.expiresAt ?? Infinity) - (b.expiresAt ?? Infinity));
  return (
    <>
      <TopBar title="Approvals" sub="cards from every conversation, soonest deadline first" onMenu={onMenu} />
      <div className="page">
        <div className="read">
          {error && <p role="alert">{error}</p>}
          {items && open.length === 0 && <p className="quiet">No card waits for a decision.</p>}
          {open.map((item) => (
            <div key={item.id} className="stub" data-risk={item.risk} data-band={item.kind === "recovery" ? "unknown" : "pending"} data-testid="approval-item">
              <i />
              <div>
                <b>
                  <Link href={`/c/${item.conversationId}#${item.id}`}>
                    <PlainText text={item.summary || item.title} />
                  </Link>
                </b>
                <p className="ln">
                  {item.kind === "recovery" ? <span className="risk">Outcome unknown</span> : <RiskMark risk={item.risk} />}
                  <span className="t">
                    <PlainText text={titles.get(item.conversationId) ?? item.action} />
                  </span>
                  <span className={`due${item.expiresAt !== null && item.expiresAt - now < 4 * 3_600_000 ? " soon" : ""}`}>
                    {item.expiresAt === null ? (
                      "no deadline"
                    ) : (
                      <>
                        <Icon name="clock" />
                        {duration(item.expiresAt - now)}
                      </>
                    )}
                  </span>
                </p>
              </div>
            </div>
          ))}
        </div>
      </div>
    </>
  );
}
