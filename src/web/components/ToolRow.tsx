import { useState } from "react";
import type { Call } from "../../protocol/entities.js";
import { api } from "../lib/api.js";
import { took } from "../lib/time.js";
import { Clip, type SeenReport } from "./card/Clip.js";
import { resultOf } from "./card/Outcome.js";
import { Icon, type IconName } from "./Icon.js";
import type { ToolPart } from "./parts.js";
import { PlainText } from "./PlainText.js";

const unwatched: SeenReport = { openAll: false, report: () => {} };

interface View {
  icon: IconName;
  tone: "ok" | "no" | "run" | "";
  word: string;
}

function viewOf(part: ToolPart, call: Call | null): View {
  switch (call?.state) {
    case "succeeded":
      return { icon: "check", tone: "ok", word: "" };
    case "failed":
      return { icon: "fail", tone: "no", word: "failed" };
    case "denied":
      return { icon: "ban", tone: "no", word: call.cause === "repeated" ? "refused: the same was rejected before" : call.cause === "policy" ? "not allowed" : "not run" };
    case "unknown":
      return { icon: "unknown", tone: "no", word: "outcome unknown" };
    case "awaiting":
      return { icon: "clock", tone: "", word: "waits for a person" };
    case "started":
      return { icon: "run", tone: "run", word: call.tries > 1 ? `running, try ${call.tries}` : "running" };
    case "ready":
    case "proposed":
      return { icon: "run", tone: "run", word: "about to run" };
    default:
      if (part.state === "output-available") return { icon: "check", tone: "ok", word: "" };
      if (part.state === "output-error" || part.state === "input-error") return { icon: "fail", tone: "no", word: "failed" };
      return { icon: "run", tone: "run", word: part.state === "input-streaming" ? "being written" : "" };
  }
}

interface Props {
  part: ToolPart;
  call: Call | null;
  conversationId: string;
  messageId: string;
}

/** One tool call as one quiet line, which opens to what went in and what came out. */
export function ToolRow({ part, call, conversationId, messageId }: Props) {
  const [open, setOpen] = useState(false);
  const view = viewOf(part, call);
  const summary = call?.summary || (part.input === undefined ? (part.inputText ?? "") : JSON.stringify(part.input));
  const time = call?.startedAt && call.endedAt ? took(call.endedAt - call.startedAt) : "";
  return (
    <>
      <button type="button" className={`row ${view.tone}`} aria-expanded={open} onClick={() => setOpen(!open)} data-testid="tool-row" data-call-state={call?.state ?? ""}>
        <Icon name={view.icon} />
        <code>
          <PlainText text={part.toolName} />
        </code>
        <span>
          <PlainText text={summary.slice(0, 300)} />
          {view.word && ` · ${view.word}`}
        </span>
        <time>{time}</time>
      </button>
      {open && <Detail part={part} conversationId={conversationId} messageId={messageId} />}
    </>
  );
}

function Detail({ part, conversationId, messageId }: Omit<Props, "call">) {
  const [whole, setWhole] = useState<ToolPart | null>(null);
  const [error, setError] = useState<string | null>(null);
  const shown = whole ?? part;
  const input = shown.input === undefined ? (shown.inputText ?? "") : JSON.stringify(shown.input, null, 2);
  const output = resultOf(shown);
  const fetchWhole = () => {
    api.message(conversationId, messageId).then(
      (answer) => {
        const steps = Array.isArray(answer) ? answer : (answer.steps ?? []);
        const found = steps.flatMap((step) => step.parts).find((candidate) => candidate["toolCallId"] === part.toolCallId);
        if (found) setWhole({ ...part, input: found["input"], output: found["output"], cut: undefined });
        else setError("The message no longer has this call.");
      },
      (reason: unknown) => setError(reason instanceof Error ? reason.message : String(reason)),
    );
  };
  return (
    <div className="row-detail">
      <Clip id="in" text={input} caption="Input" seen={unwatched} />
      {output !== null && <Clip id="out" text={output} caption="Result" seen={unwatched} />}
      {shown.cut !== undefined && (
        <p>
          Cut for size.{" "}
          <button type="button" className="link" onClick={fetchWhole}>
            Load the whole
          </button>{" "}
          {error}
        </p>
      )}
    </div>
  );
}
