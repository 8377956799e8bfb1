import { useId, useState } from "react";
import type { PausePoint } from "../../protocol/entities.js";
import { deviceTools } from "../device-tools.js";
import { useServerNow, useSession, useSnapshot, useStore } from "../hooks.js";
import { Band } from "./card/Band.js";
import { Deadline } from "./card/Deadline.js";
import { NotSent, Refusal, useOverdue } from "./card/Notes.js";
import { bandOf, type CardCall } from "./card/view.js";
import { Icon } from "./Icon.js";
import { PlainText } from "./PlainText.js";

/** A pending question that a device of one person answers. The others see that it waits. */
export function DeviceQuestion({ pausePoint, call }: { pausePoint: PausePoint; call: CardCall | null }) {
  const store = useStore();
  const { sync, status, notes, unacknowledged } = useSnapshot(store);
  const { deviceName } = useSession();
  const heading = useId();
  const [asking, setAsking] = useState(false);
  const [failed, setFailed] = useState<string | null>(null);
  const now = useServerNow(store, pausePoint.expiresAt);
  const tool = deviceTools.get(pausePoint.action);
  const mine = sync.you?.person === pausePoint.forPerson;
  const kept = unacknowledged.find(({ command }) => command.type === "decide" && command.pausePointId === pausePoint.id);
  const overdue = useOverdue(kept, status);
  const note = notes.get(pausePoint.id);
  const share = async (answer: () => Promise<Parameters<typeof store.decide>[1]["payloadOverride"]>) => {
    setAsking(true);
    setFailed(null);
    try {
      store.decide(pausePoint, { decision: "approve", payloadOverride: await answer() });
    } catch (error) {
      setFailed(error instanceof Error ? error.message : String(error));
    }
    setAsking(false);
  };
  return (
    <article
      className="tag arrive"
      id={pausePoint.id}
      aria-labelledby={heading}
      tabIndex={-1}
      data-testid="card"
      data-band="pending"
      data-risk={pausePoint.risk}
      data-state="pending"
      data-pause-point={pausePoint.id}
    >
      <div className="tag-in">
        <Band view={{ ...bandOf(pausePoint, call), small: "asks your device" }} pausePoint={pausePoint} small={kept ? "sending" : undefined} />
        <div className="tag-head">
          <p className="tag-from">
            <code>
              <PlainText text={pausePoint.action} />
            </code>
          </p>
          <h2 className="tag-effect" id={heading}>
            <PlainText text={pausePoint.summary} />
          </h2>
        </div>
        {failed && (
          <div className="tag-note bad edge" role="alert">
            <Icon name="fail" />
            <span>{failed}</span>
          </div>
        )}
        {kept && overdue && <NotSent kept={kept} status={status} />}
        {!kept && note && <Refusal note={note} />}
        <footer className="tag-sign">
          <Deadline pausePoint={pausePoint} now={now} clockOffset={sync.clockOffset} />
          {mine ? (
            <>
              <p className="tag-as">Any device of yours may answer. This one is {deviceName}.</p>
              <div className="tag-acts">
                <button type="button" className="btn" disabled={kept !== undefined} onClick={() => store.decide(pausePoint, { decision: "reject" })}>
                  Decline
                </button>
                {tool ? (
                  <button type="button" className="btn solid" disabled={asking || kept !== undefined} onClick={() => void share(tool.answer)}>
                    {asking ? "Asking this device…" : tool.label}
                  </button>
                ) : (
                  <span>This app does not know how to answer {pausePoint.action}. Another of your devices may.</span>
                )}
              </div>
            </>
          ) : (
            <p className="tag-as">
              <span>
                <Icon name="lock" /> Waits for a device of <PlainText text={pausePoint.forPerson ?? ""} />.
              </span>
            </p>
          )}
        </footer>
      </div>
    </article>
  );
}
