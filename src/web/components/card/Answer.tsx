import { useId, useState } from "react";
import type { PausePoint } from "../../../protocol/entities.js";
import type { Json } from "../../../protocol/json.js";
import type { Answer as AnswerFrame } from "../../sync/store.js";
import { PlainText } from "../PlainText.js";
import { optionLabel } from "./view.js";

interface Props {
  pausePoint: PausePoint;
  disabled: boolean;
  onAnswer(answer: AnswerFrame): void;
  onDecline(): void;
}

/** One button per option; the words beside them go to the agent as they are. */
export function ChoiceAnswer({ pausePoint, disabled, onAnswer, onDecline }: Props) {
  const [words, setWords] = useState("");
  const [writing, setWriting] = useState(pausePoint.kind === "clarification");
  const options = pausePoint.options ?? [];
  const free = pausePoint.kind === "clarification";
  const reply = words.trim() === "" ? {} : { reply: words };
  return (
    <>
      {options.length > 0 && (
        <div className="tag-acts options" role="group" aria-label="Answers">
          {options.map((option, index) => (
            <button key={index} type="button" className="btn wrap" disabled={disabled} onClick={() => onAnswer({ decision: "approve", choice: option as Json, ...reply })}>
              <PlainText text={optionLabel(option)} />
            </button>
          ))}
        </div>
      )}
      {writing && (
        <textarea
          className="tag-text spaced"
          rows={2}
          aria-label={free ? "Your answer" : "Your words to the agent"}
          placeholder={free && options.length > 0 ? "or in your own words" : undefined}
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
      )}
      <div className="tag-acts">
        {free && (
          <button type="button" className="btn solid" disabled={disabled || words.trim() === ""} onClick={() => onAnswer({ decision: "approve", reply: words })}>
            Answer
          </button>
        )}
        <button type="button" className="btn" disabled={disabled} onClick={onDecline}>
          Decline to answer
        </button>
        {!writing && (
          <button type="button" className="btn bare" onClick={() => setWriting(true)}>
            Add words for the agent
          </button>
        )}
      </div>
    </>
  );
}

const outcomes = [
  { choice: "happened", title: "It happened", detail: "The agent carries on as if it had succeeded." },
  { choice: "did_not_happen", title: "It did not happen", detail: "The agent is told that nothing was done." },
  { choice: "retry", title: "Try again", detail: "If it did happen, it happens twice." },
] as const;

/** What became of a call that was started and never answered. Nothing is chosen beforehand. */
export function RecoveryOptions({
  offered,
  choice,
  disabled,
  onChoose,
}: {
  offered: PausePoint["options"];
  choice: string | null;
  disabled: boolean;
  onChoose(choice: string): void;
}) {
  const name = useId();
  return (
    <fieldset className="tag-opts" disabled={disabled}>
      <legend className="vh">What happened?</legend>
      {outcomes
        .filter((outcome) => offered?.includes(outcome.choice))
        .map((outcome) => (
          <label key={outcome.choice}>
            <input type="radio" name={name} value={outcome.choice} checked={choice === outcome.choice} onChange={() => onChoose(outcome.choice)} />
            <b>{outcome.title}</b>
            <small>{outcome.detail}</small>
          </label>
        ))}
    </fieldset>
  );
}

export function RecoveryAnswer({ choice, disabled, onAnswer }: { choice: string | null; disabled: boolean; onAnswer(answer: AnswerFrame): void }) {
  const [words, setWords] = useState("");
  const [writing, setWriting] = useState(false);
  const chosen = outcomes.find((outcome) => outcome.choice === choice);
  return (
    <>
      {writing && <textarea className="tag-text spaced" rows={2} aria-label="Your words to the agent" value={words} onChange={(event) => setWords(event.target.value)} />}
      <div className="tag-acts">
        <button
          type="button"
          className="btn solid"
          disabled={disabled || !chosen}
          onClick={() => chosen && onAnswer({ decision: "approve", choice: chosen.choice, ...(words.trim() !== "" && { reply: words }) })}
        >
          {chosen ? `Answer: ${chosen.title}` : "Choose an answer"}
        </button>
        {!writing && (
          <button type="button" className="btn bare" onClick={() => setWriting(true)}>
            Add words for the agent
          </button>
        )}
      </div>
    </>
  );
}
