import { memo, useState } from "react";
import type { PausePoint } from "../../protocol/entities.js";
import { moment } from "../lib/time.js";
import { cardsOf, type TranscriptMessage } from "../sync/transcript.js";
import { ApprovalCard } from "./ApprovalCard.js";
import { isSettled } from "./card/view.js";
import { DeviceQuestion } from "./DeviceQuestion.js";
import { Markdown } from "./Markdown.js";
import { blocksOfLive, blocksOfStep, type Block } from "./parts.js";
import { PlainText } from "./PlainText.js";
import { RolledCard } from "./RolledCard.js";
import { ToolRow } from "./ToolRow.js";
import { AnswerAgain, EditText, Versions } from "./Versions.js";

interface Props {
  message: TranscriptMessage;
  pausePoints: ReadonlyMap<string, PausePoint>;
  conversationId: string;
  now: number;
  clockOffset: number;
  /** The agent has answered since. */
  past: boolean;
  you: string | null;
  /** What was decided about it started the next run: it is that one's answer that can be given anew. */
  goesOn: boolean;
  /** No run is live, and this person may write: then texts can be edited and answers given anew. */
  mayBranch: boolean;
}

export const Message = memo(function Message(props: Props) {
  return props.message.role === "user" ? <Said {...props} /> : <Answer {...props} />;
});

const badges = { sent: null, queued: "Queued", unanswered: "Unanswered" } as const;

function Said({ message, now, clockOffset, you, mayBranch }: Props) {
  const [editing, setEditing] = useState(false);
  const { author, delivery, createdAt, steps } = message;
  const text = steps
    .flatMap(({ parts }) => parts)
    .map((part) => (part.type === "text" ? String(part["text"] ?? "") : ""))
    .join("\n");
  const badge = badges[delivery];
  return (
    <section className="said" data-testid="user-message" data-delivery={delivery} aria-label={author ? `Said by ${author.person}` : "What was decided"}>
      <header>
        <b>{author ? <PlainText text={author.person} /> : "Decided"}</b> {moment(createdAt - clockOffset, now - clockOffset)}
        {author && (
          <>
            {", "}
            <PlainText text={author.device} />
          </>
        )}
        {badge && <span className="state">{badge}</span>}
      </header>
      {editing ? <EditText message={message} text={text} onDone={() => setEditing(false)} /> : <p>{text}</p>}
      {delivery === "queued" && <small>The agent gets this at its next step. It decides nothing.</small>}
      {delivery === "unanswered" && <small>The run ended before the agent got this. Send it again if it still matters.</small>}
      {!editing && (
        <Versions message={message} mayBranch={mayBranch}>
          {author?.person === you && delivery !== "queued" && (
            <button type="button" className="link" onClick={() => setEditing(true)}>
              Edit
            </button>
          )}
        </Versions>
      )}
    </section>
  );
}

function Answer(props: Props) {
  const { message } = props;
  const liveStep = message.live?.step ?? -1;
  const stored = message.steps.filter(({ step }) => step !== liveStep);
  const latest = Math.max(liveStep, ...stored.map(({ step }) => step));
  return (
    <section className="answer" data-testid="assistant-message" aria-label="Answer of the agent">
      {stored.map((step) => (
        <Blocks key={step.step} {...props} blocks={blocksOfStep(step)} past={props.past || step.step < latest} />
      ))}
      {message.live ? (
        <Blocks {...props} blocks={blocksOfLive(message.live.parts)} past={false} live />
      ) : (
        <Versions message={message} mayBranch={props.mayBranch && !props.goesOn}>
          <AnswerAgain messageId={message.messageId} />
        </Versions>
      )}
    </section>
  );
}

function Blocks({ blocks, live = false, ...props }: Props & { blocks: Block[]; live?: boolean }) {
  return blocks.map((block, index) => {
    switch (block.type) {
      case "text": {
        const writing = live && index === blocks.length - 1;
        return (
          <div key={index} className={`agent prose${writing ? " writing" : ""}`} dir="auto">
            <Markdown text={block.text} streaming={live} />
            {block.cut && <p className="cut">The rest of this text is cut for size.</p>}
          </div>
        );
      }
      case "reasoning":
        return (
          <details key={index} className="reasoning">
            <summary>Reasoning</summary>
            <p>{block.text}</p>
          </details>
        );
      case "tools":
        return <Tools key={index} {...props} tools={block.tools} />;
      case "source":
        return (
          <p key={index} className="source">
            <Markdown text={`<${block.url}>`} escape />
          </p>
        );
    }
  });
}

function Tools({ tools, past, ...props }: Props & { tools: Extract<Block, { type: "tools" }>["tools"] }) {
  const { pausePoints, conversationId, message } = props;
  const items = tools.map(({ part, call }) => ({ part, call, cards: cardsOf(pausePoints, part) }));
  const rows = items.filter(({ cards }) => cards.length === 0);
  const hung = items.flatMap(({ part, call, cards }) => cards.map((card) => ({ part, card, call })));
  return (
    <>
      {rows.length > 0 && (
        <div className={`thread${hung.length > 0 ? " tied" : ""}`}>
          {rows.map(({ part, call }) => (
            <ToolRow key={part.toolCallId} part={part} call={call} conversationId={conversationId} messageId={message.messageId} />
          ))}
        </div>
      )}
      {hung.map(({ part, card, call }, index) => (
        <Hung key={card.id} pausePoint={card} call={call} part={part} past={past} tied={rows.length > 0 && index === 0} now={props.now - props.clockOffset} />
      ))}
    </>
  );
}

function Hung({ pausePoint, call, part, past, tied, now }: Omit<Parameters<typeof ApprovalCard>[0], "onRoll"> & { past: boolean; now: number }) {
  const [opened, setOpened] = useState(false);
  const old = past && isSettled(pausePoint, call);
  if (typeof pausePoint.forPerson === "string" && pausePoint.state === "pending")
    return (
      <div className="hang">
        <DeviceQuestion pausePoint={pausePoint} call={call} />
      </div>
    );
  return (
    <div className="hang">
      {old && !opened ? (
        <RolledCard pausePoint={pausePoint} call={call} now={now} onOpen={() => setOpened(true)} />
      ) : (
        <ApprovalCard pausePoint={pausePoint} call={call} part={part} tied={tied} onRoll={old ? () => setOpened(false) : undefined} />
      )}
    </div>
  );
}
