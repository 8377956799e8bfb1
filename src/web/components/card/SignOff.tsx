import { useState } from "react";
import type { PausePoint } from "../../../protocol/entities.js";
import { edited, type Editor } from "../../lib/editor.js";
import type { Answer } from "../../sync/store.js";
import { Icon } from "../Icon.js";
import { PlainText } from "../PlainText.js";
import { ChoiceAnswer, RecoveryAnswer } from "./Answer.js";
import { HoldButton } from "./HoldButton.js";
import { Reject } from "./Reject.js";
import { effectOnButton, isQuestion } from "./view.js";

interface Props {
  pausePoint: PausePoint;
  editor: Editor | null;
  recoveryChoice: string | null;
  /** All of the input has been in view, as a dangerous card demands. */
  allSeen: boolean;
  /** Everything has been asked for, and its end not reached yet. */
  viewing: boolean;
  disabled: boolean;
  person: string;
  deviceName: string;
  mayStart(): boolean;
  onViewAll(): void;
  onEdit(): void;
  onCancelEdit(): void;
  onAnswer(answer: Answer): void;
}

/** The buttons of a pending card, and who signs with them. */
export function SignOff(props: Props) {
  const { pausePoint, editor, disabled, person, deviceName, onAnswer } = props;
  const [mode, setMode] = useState<"plain" | "rejecting" | "typing">("plain");
  const signs = (
    <span>
      You sign as{" "}
      <b>
        <PlainText text={person} />
      </b>{" "}
      on <PlainText text={deviceName} />
    </span>
  );
  if (mode === "rejecting") {
    return (
      <Reject
        verb={isQuestion(pausePoint) ? "Decline" : "Reject"}
        disabled={disabled}
        onReject={(reply) => onAnswer({ decision: "reject", ...(reply !== undefined && { reply }) })}
        onBack={() => setMode("plain")}
      />
    );
  }
  const startRejecting = () => setMode("rejecting");
  if (pausePoint.kind === "recovery") {
    return (
      <>
        <RecoveryAnswer choice={props.recoveryChoice} disabled={disabled} onAnswer={onAnswer} />
        <p className="tag-as">{signs}</p>
      </>
    );
  }
  if (pausePoint.kind === "choice" || pausePoint.kind === "clarification") {
    return (
      <>
        <ChoiceAnswer pausePoint={pausePoint} disabled={disabled} onAnswer={onAnswer} onDecline={startRejecting} />
        <p className="tag-as">
          {signs}
          <span>An answer here authorises nothing.</span>
        </p>
      </>
    );
  }
  return pausePoint.kind === "data_entry" ? (
    <>
      <Send {...props} onDecline={startRejecting} />
      <p className="tag-as">{signs}</p>
    </>
  ) : (
    <>
      <Approve {...props} typing={mode === "typing"} onReject={startRejecting} />
      <p className="tag-as">
        {signs}
        {pausePoint.risk === "high" && props.allSeen && !editorFaults(editor) && (
          <button type="button" className="link" onClick={() => setMode(mode === "typing" ? "plain" : "typing")}>
            {mode === "typing" ? "Hold instead" : "Can’t hold? Type APPROVE"}
          </button>
        )}
      </p>
    </>
  );
}

const editorFaults = (editor: Editor | null): boolean => editor !== null && !edited(editor).ok;

function Send({ editor, disabled, onAnswer, onDecline }: Props & { onDecline(): void }) {
  const result = editor && edited(editor);
  const count = editor && typeof editor.value === "object" && editor.value !== null ? Object.keys(editor.value).length : 0;
  return (
    <div className="tag-acts">
      <button type="button" className="btn solid" disabled={disabled || !result?.ok} onClick={() => editor && onAnswer({ decision: "approve", payloadOverride: editor.value })}>
        {count > 0 ? `Send ${count} ${count === 1 ? "field" : "fields"}` : "Send"}
      </button>
      <button type="button" className="btn" disabled={disabled} onClick={onDecline}>
        Decline to answer
      </button>
    </div>
  );
}

function Approve(props: Props & { typing: boolean; onReject(): void }) {
  const { pausePoint, editor, allSeen, viewing, disabled, typing, mayStart, onViewAll, onEdit, onCancelEdit, onReject, onAnswer } = props;
  const [typed, setTyped] = useState("");
  const result = editor && edited(editor);
  const changed = result?.ok === true && result.changed;
  const high = pausePoint.risk === "high";
  // Opened and put back is no edit: then nothing is sent but the approval (C56).
  const approve = () => onAnswer({ decision: "approve", ...(result?.ok === true && result.changed && { payloadOverride: result.override }) });
  const effect = effectOnButton(editor ? editor.value : pausePoint.payload);
  const word = changed ? "Approve with changes" : "Approve";
  const blocked = disabled || result?.ok === false;

  return (
    <>
      {high && typing && allSeen && (
        <label className="tag-as typed">
          <span>
            Type <b>APPROVE</b> to approve{effect && ` ${effect}`}
          </span>
          <input className="tag-text" autoComplete="off" autoCapitalize="characters" value={typed} onChange={(event) => setTyped(event.target.value)} />
        </label>
      )}
      <div className="tag-acts">
        {high && !allSeen ? (
          <button type="button" className="btn solid grow" disabled={disabled} onClick={onViewAll}>
            {viewing ? "Scroll to its end to approve" : "View everything to approve"}
          </button>
        ) : high && !typing ? (
          <HoldButton label={`Hold to ${changed ? "approve with changes" : `approve${effect ? ` ${effect}` : ""}`}`} disabled={blocked} mayStart={mayStart} onHeld={approve} />
        ) : (
          <button type="button" className="btn solid" disabled={blocked || (high && typed.trim().toUpperCase() !== "APPROVE")} onClick={approve}>
            {word}
          </button>
        )}
        <button type="button" className="btn" disabled={disabled} onClick={onReject}>
          Reject
        </button>
        {editor ? (
          <button type="button" className="btn bare" disabled={disabled} onClick={onCancelEdit}>
            Cancel editing
          </button>
        ) : (
          // A form shows long values in small fields: first all is seen, then it is edited.
          pausePoint.payload !== null &&
          (!high || allSeen) && (
            <button type="button" className="btn bare" disabled={disabled} onClick={onEdit}>
              <Icon name="edit" />
              Edit
            </button>
          )
        )}
      </div>
    </>
  );
}
