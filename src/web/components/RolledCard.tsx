import type { PausePoint } from "../../protocol/entities.js";
import { moment } from "../lib/time.js";
import { brief } from "./card/Fields.js";
import { StampBox } from "./card/Stamp.js";
import { bandOf, optionLabel, type CardCall } from "./card/view.js";
import { Icon } from "./Icon.js";
import { PlainText } from "./PlainText.js";

/** A settled card as one row on the thread; it opens in place, input and result intact. */
export function RolledCard({ pausePoint, call, now, onOpen }: { pausePoint: PausePoint; call: CardCall | null; now: number; onOpen(): void }) {
  const view = bandOf(pausePoint, call);
  const { decidedBy, decidedDevice, decidedAt, reply, choice, payloadOverride } = pausePoint;
  const text = (payloadOverride !== null && call?.summary) || pausePoint.summary || pausePoint.title;
  return (
    <button
      type="button"
      className="roll"
      id={pausePoint.id}
      onClick={onOpen}
      aria-expanded={false}
      data-testid="card"
      data-rolled=""
      data-v={pausePoint.state}
      data-band={view.band}
      data-state={pausePoint.state}
      data-call-state={call?.state ?? ""}
      data-pause-point={pausePoint.id}
    >
      <span className="roll-in">
        <span data-testid="stamp">
          <StampBox pausePoint={pausePoint} />
        </span>
        <span>
          <b>
            <PlainText text={text} />
          </b>
          <small>
            {decidedBy === null ? "nobody decided" : <PlainText text={decidedBy} />}
            {decidedDevice !== null && (
              <>
                {" on "}
                <PlainText text={decidedDevice} />
              </>
            )}
            {decidedAt !== null && `, ${moment(decidedAt, now)}`}
            {`. ${view.word}`}
            {payloadOverride !== null && pausePoint.kind === "approval" && ", with changes"}
            {choice !== null && (
              <>
                {": "}
                <PlainText text={optionLabel(choice)} />
              </>
            )}
            {reply && (
              <>
                {": “"}
                <PlainText text={brief(reply)} />
                {"”"}
              </>
            )}
          </small>
        </span>
        <Icon name="down" />
      </span>
    </button>
  );
}
