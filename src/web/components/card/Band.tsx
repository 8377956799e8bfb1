import type { PausePoint, Risk } from "../../../protocol/entities.js";
import { number } from "../../sync/transcript.js";
import { Icon } from "../Icon.js";
import type { BandView } from "./view.js";

const words: Record<Risk, string> = { low: "Low risk", medium: "Medium risk", high: "High risk" };
const bars: Record<Risk, number> = { low: 1, medium: 2, high: 3 };

export function RiskMark({ risk }: { risk: Risk }) {
  return (
    <span className="risk" data-risk={risk}>
      <svg viewBox="0 0 17 12" aria-hidden="true">
        {[0, 1, 2].map((bar) => (
          <rect key={bar} className={bar < bars[risk] ? "on" : "off"} x={0.5 + bar * 6} y=".5" width="4" height="11" />
        ))}
      </svg>
      {words[risk]}
    </span>
  );
}

export function Band({ view, pausePoint, small }: { view: BandView; pausePoint: PausePoint; small?: string | undefined }) {
  const print = small ?? view.small;
  const hatched = view.band === "unknown" || (view.band === "pending" && pausePoint.risk === "high");
  return (
    <>
      <header className="tag-band">
        <span className="tag-word">
          {view.icon && <Icon name={view.icon} />}
          {view.word}
          {print && <small>{print}</small>}
        </span>
        <span className="tag-meta">
          {pausePoint.kind !== "recovery" && <RiskMark risk={pausePoint.risk} />}
          <span className="tag-no">No.&nbsp;{number(pausePoint)}</span>
        </span>
      </header>
      {hatched && <div className="tag-hatch" />}
    </>
  );
}
