import { useState } from "react";
import type { PausePoint } from "../../../protocol/entities.js";
import type { Json } from "../../../protocol/json.js";
import { isObject } from "../../lib/schema-form.js";
import { clockSeconds, took } from "../../lib/time.js";
import type { ToolPart } from "../parts.js";
import { Icon, type IconName } from "../Icon.js";
import { PlainText } from "../PlainText.js";
import { Clip, type SeenReport } from "./Clip.js";
import { isQuestion, optionLabel, type BandView, type CardCall } from "./view.js";

interface Props {
  pausePoint: PausePoint;
  call: CardCall | null;
  part: ToolPart | null;
  view: BandView;
  seen: SeenReport;
}

/** Under the stamp: what came of it, and the words that the agent got. */
export function Outcome({ pausePoint, call, part, view, seen }: Props) {
  const [shown, setShown] = useState(false);
  const result = isQuestion(pausePoint) ? null : resultOf(part);
  const line = lineOf(pausePoint, call, view);
  return (
    <>
      {pausePoint.choice !== null && (
        <p className="tag-end">
          <Icon name="check" />
          <span>
            Answer:{" "}
            <b>
              <PlainText text={optionLabel(pausePoint.choice)} />
            </b>
          </span>
        </p>
      )}
      {pausePoint.reply && (
        <p className="tag-reply">
          <small>Told the agent, word for word</small>
          <PlainText text={pausePoint.reply} />
        </p>
      )}
      {line && (
        <p className={`tag-end ${line.tone}`}>
          <Icon name={line.icon} />
          <span>
            {line.text}{" "}
            {result !== null && (
              <button type="button" className="link" aria-expanded={shown} onClick={() => setShown(!shown)}>
                {shown ? "Hide result" : "Show result"}
              </button>
            )}
          </span>
        </p>
      )}
      {shown && result !== null && <Clip id="result" text={result} seen={seen} />}
    </>
  );
}

interface Line {
  icon: IconName;
  tone: "ok" | "bad" | "run" | "";
  text: string;
}

const causes: Partial<Record<string, string>> = {
  policy: "A rule of this deployment does not allow it.",
  siblings: "A call before it did not succeed.",
  changed: "It had changed since it was shown.",
  invalid: "Its input was not valid.",
  cancelled: "The run was stopped.",
  withdrawn: "The cards were withdrawn with a new message.",
  timed_out: "It did not answer in time.",
  interrupted: "It was interrupted.",
  threw: "It answered with an error.",
  repeated: "It repeated what had been refused.",
};

function lineOf(pausePoint: PausePoint, call: CardCall | null, view: BandView): Line | null {
  const cause = (call?.cause && causes[call.cause]) ?? "";
  switch (pausePoint.state) {
    case "pending":
      return null;
    case "rejected":
      return isQuestion(pausePoint) ? null : { icon: "x", tone: "", text: "It did not run." };
    case "expired":
      return {
        icon: "clock",
        tone: "",
        text: isQuestion(pausePoint)
          ? "Nobody answered. The agent knows that this was no refusal."
          : "It did not run. This was no refusal, and the agent knows that. Ask the agent to ask again, if it is still wanted.",
      };
    case "cancelled":
      if (pausePoint.kind === "recovery") return { icon: "unknown", tone: "", text: "Nobody said what happened. The agent is told that nobody knows." };
      return { icon: "ban", tone: "", text: `${isQuestion(pausePoint) ? "" : "It did not run. "}${cause || "It was withdrawn."}` };
    case "approved":
      return isQuestion(pausePoint) ? null : workLine(call, view, cause);
  }
}

function workLine(call: CardCall | null, view: BandView, cause: string): Line | null {
  if (!call) return null;
  const time = call.startedAt !== null && call.endedAt !== null ? took(call.endedAt - call.startedAt) : null;
  switch (call.state) {
    case "ready":
      return { icon: "run", tone: "run", text: "It is about to start." };
    case "started":
      return { icon: "run", tone: "run", text: `Running since ${call.startedAt === null ? "just now" : clockSeconds(call.startedAt)}, try ${call.tries}.` };
    case "succeeded":
      if (call.cause === "told") return { icon: "done", tone: "ok", text: "A person said that it happened." };
      if (call.startedAt === null) return null;
      return { icon: "done", tone: "ok", text: time ? `Done in ${time}.` : "Done." };
    case "failed":
      if (call.cause === "told") return { icon: "ban", tone: "", text: "A person said that it did not happen." };
      return { icon: "fail", tone: "bad", text: `Approved, but failed${time ? ` after ${time}` : ""}. ${cause} The agent has been told.`.replace("  ", " ") };
    case "denied":
      return { icon: "ban", tone: "", text: `It did not run. ${cause}`.trim() };
    case "unknown":
      return { icon: "unknown", tone: "", text: "Nobody knows whether it happened. The agent is told so." };
    case "awaiting":
      return view.word === "Approved" ? null : { icon: "unknown", tone: "", text: "It was started, and contact was lost. See the card that asks what happened." };
    case "proposed":
      return null;
  }
}

/** The result of a call as a person reads it: without the wrapping that tells the model who decided. */
export function resultOf(part: ToolPart | null): string | null {
  if (!part) return null;
  if (part.errorText) return part.errorText;
  if (part.output === undefined) return null;
  const output = part.output as Json;
  const inner = isObject(output) && typeof output["outcome"] === "string" ? (output["result"] ?? output["message"] ?? output) : output;
  return typeof inner === "string" ? inner : JSON.stringify(inner, null, 2);
}
