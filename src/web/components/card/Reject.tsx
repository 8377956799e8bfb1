import { useState } from "react";

const reasons = ["Wrong recipient", "Wrong content", "Wrong amount", "Not now", "I need to know more"];

interface Props {
  /** What declining is called here: a call is rejected, a question is declined. */
  verb: "Reject" | "Decline";
  disabled: boolean;
  onReject(reply?: string): void;
  onBack(): void;
}

/** Saying no, with or without a reason. Each way is one tap; the words reach the agent as they are. */
export function Reject({ verb, disabled, onReject, onBack }: Props) {
  const [words, setWords] = useState("");
  const reply = words.trim();
  return (
    <>
      <p className="tag-due">
        <span>
          <b>Why not?</b> A reason {verb === "Reject" ? "rejects" : "declines"} at once and reaches the agent word for word.
        </span>
      </p>
      {verb === "Reject" && (
        <div className="tag-acts">
          {reasons.map((reason) => (
            <button key={reason} type="button" className="chip" disabled={disabled} onClick={() => onReject(reason)}>
              {reason}
            </button>
          ))}
        </div>
      )}
      <textarea className="tag-text spaced" rows={2} aria-label="Your words to the agent" value={words} onChange={(event) => setWords(event.target.value)} />
      <div className="tag-acts">
        <button type="button" className="btn solid" disabled={disabled || reply === ""} onClick={() => onReject(words)}>
          {verb} with these words
        </button>
        <button type="button" className="btn" disabled={disabled} onClick={() => onReject()}>
          {verb}, no reason
        </button>
        <button type="button" className="btn bare" onClick={onBack}>
          Back
        </button>
      </div>
    </>
  );
}
