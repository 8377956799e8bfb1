import type { PausePoint } from "../../../protocol/entities.js";
import { clockSeconds, day } from "../../lib/time.js";
import { Icon, type IconName } from "../Icon.js";
import { PlainText } from "../PlainText.js";
import { isQuestion } from "./view.js";

type Decided = Exclude<PausePoint["state"], "pending">;

const icons: Record<Decided, IconName> = { approved: "check", rejected: "x", expired: "expired", cancelled: "ban" };
const words: Record<Decided, string> = { approved: "Approved", rejected: "Rejected", expired: "Expired", cancelled: "Cancelled" };

export function StampBox({ pausePoint }: { pausePoint: PausePoint }) {
  const state = pausePoint.state;
  if (state === "pending") return null;
  const answered = isQuestion(pausePoint) || pausePoint.kind === "recovery";
  const word = answered && state === "approved" ? "Answered" : answered && state === "rejected" ? "Declined" : words[state];
  return (
    <span className="stamp-box">
      <Icon name={icons[state]} />
      {word}
    </span>
  );
}

/** Who decided, on which device, and when. */
export function Stamp({ pausePoint }: { pausePoint: PausePoint }) {
  const { state, decidedBy, decidedDevice, decidedVia, decidedAt } = pausePoint;
  if (state === "pending") return null;
  return (
    <div className="stamp" data-v={state} data-testid="stamp">
      <StampBox pausePoint={pausePoint} />
      <span className="stamp-f">
        <b>{decidedBy === null ? "nobody" : <PlainText text={decidedBy} />}</b>
        <i>{decidedBy === null ? "decided" : "name"}</i>
      </span>
      <span className="stamp-f">
        <b>{decidedDevice === null ? (decidedVia ?? "—") : <PlainText text={decidedDevice} />}</b>
        <i>device</i>
      </span>
      {decidedAt !== null && (
        <span className="stamp-f">
          <b className="mono">{clockSeconds(decidedAt)}</b>
          <i>{day(decidedAt)}</i>
        </span>
      )}
    </div>
  );
}
