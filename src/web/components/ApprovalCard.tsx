import { useCallback, useEffect, useId, useMemo, useRef, useState, type KeyboardEvent, type MouseEvent } from "react";
import type { PausePoint } from "../../protocol/entities.js";
import { api } from "../lib/api.js";
import { edited, startEditing, type Editor } from "../lib/editor.js";
import { countOdd } from "../lib/odd-characters.js";
import { formOf } from "../lib/schema-form.js";
import { moment } from "../lib/time.js";
import { useServerNow, useSession, useSnapshot, useStore } from "../hooks.js";
import type { Answer } from "../sync/store.js";
import { RecoveryOptions } from "./card/Answer.js";
import { Band } from "./card/Band.js";
import type { Seen, SeenReport } from "./card/Clip.js";
import { Deadline } from "./card/Deadline.js";
import { Fields } from "./card/Fields.js";
import { Form } from "./card/Form.js";
import { NotSent, Refusal, useOverdue } from "./card/Notes.js";
import { Outcome } from "./card/Outcome.js";
import { SignOff } from "./card/SignOff.js";
import { Stamp } from "./card/Stamp.js";
import { bandOf, effectivePayload, isQuestion, type CardCall } from "./card/view.js";
import { Icon } from "./Icon.js";
import { Markdown } from "./Markdown.js";
import type { ToolPart } from "./parts.js";
import { PlainText } from "./PlainText.js";

/** A first keypress within this time was meant for something else (C51). */
const SETTLE_MS = 500;

interface Props {
  pausePoint: PausePoint;
  call: CardCall | null;
  part: ToolPart | null;
  /** Hangs on the thread of the calls before it. */
  tied: boolean;
  /** Rolls the settled card up again. */
  onRoll?: (() => void) | undefined;
}

/** A pause point, in place: what would be done, everything that decides it, and who decided. */
export function ApprovalCard({ pausePoint, call, part, tied, onRoll }: Props) {
  const store = useStore();
  const { sync, status, notes, unacknowledged } = useSnapshot(store);
  const { me, deviceName } = useSession();
  const heading = useId();
  const pending = pausePoint.state === "pending";
  const now = useServerNow(store, pending ? pausePoint.expiresAt : null);
  const over = pausePoint.expiresAt !== null && now >= pausePoint.expiresAt;
  const mayDecide = sync.you !== null && sync.you.role !== "viewer";
  const kept = unacknowledged.find(({ command }) => command.type === "decide" && command.pausePointId === pausePoint.id);
  const overdue = useOverdue(pending ? kept : undefined, status);
  const note = notes.get(pausePoint.id);
  const loadError = useWhole(pausePoint);
  const { seen, allSeen, viewing, viewAll } = useSeen(pausePoint.id);
  const [editor, setEditor, form] = useEditor(pausePoint, pending && mayDecide && !over);
  const [asJson, setAsJson] = useState(false);
  const [recoveryChoice, setRecoveryChoice] = useState<string | null>(null);
  const { appeared, guard } = useSettled();

  const view = bandOf(pausePoint, call);
  const editing = editor !== null && pausePoint.kind !== "data_entry";
  const result = editor && edited(editor);
  const small = pending
    ? overdue
      ? "not sent"
      : kept
        ? "sending"
        : editing
          ? "editing, not sent"
          : undefined
    : pausePoint.payloadOverride !== null && pausePoint.kind === "approval"
      ? "with changes"
      : undefined;
  const question = isQuestion(pausePoint);
  const effect = effectOf(pausePoint, call);
  const hidden = countOdd([pausePoint.summary, pausePoint.title, pausePoint.action, JSON.stringify(pausePoint.payload ?? "").replaceAll(/\\[tr]/g, "\t")].join("\n"));
  const answer = (given: Answer) => {
    if (pending && !over && mayDecide) store.decide(pausePoint, given);
  };

  return (
    <article
      className={`tag${tied ? " tied" : ""}${pending ? " arrive" : ""}`}
      id={pausePoint.id}
      aria-labelledby={heading}
      tabIndex={-1}
      data-testid="card"
      data-band={view.band}
      data-risk={pending ? pausePoint.risk : undefined}
      data-state={pausePoint.state}
      data-call-state={call?.state ?? ""}
      data-pause-point={pausePoint.id}
      onKeyDownCapture={guard.key}
      onClickCapture={guard.click}
    >
      <div className="tag-in">
        <Band view={view} pausePoint={pausePoint} small={small} />
        <div className="tag-head">
          <p className="tag-from">
            <code>
              <PlainText text={pausePoint.action} />
            </code>
            <span>asked {moment(pausePoint.createdAt - sync.clockOffset, now - sync.clockOffset)}</span>
            {onRoll && (
              <button type="button" className="link roll-up" onClick={onRoll}>
                Roll up
              </button>
            )}
          </p>
          <h2 className="tag-effect" id={heading}>
            <span>
              <PlainText text={effect.text} />
            </span>
          </h2>
          {effect.proposed && (
            <p className="tag-now">
              <span className="was">
                as proposed:{" "}
                <s>
                  <PlainText text={effect.proposed} />
                </s>
              </span>
            </p>
          )}
          {editing && result?.ok && result.changed && <p className="tag-now was">That is what was proposed. Your changes stand below.</p>}
          {pausePoint.title && pausePoint.title !== effect.text && pausePoint.title !== effect.proposed && (
            <p className="tag-now">
              <PlainText text={pausePoint.title} />
            </p>
          )}
        </div>
        {hidden > 0 && (
          <div className="tag-note bad edge">
            <Icon name="fail" />
            <span>
              <b>
                {hidden} hidden {hidden === 1 ? "character is" : "characters are"}
              </b>{" "}
              shown as {hidden === 1 ? "a code" : "codes"}. They could make this text look like another.
            </span>
          </div>
        )}
        {pausePoint.kind === "recovery" && pending && (
          <div className="tag-note warn edge">
            <Icon name="unknown" />
            <span>{lostContact(call, sync.clockOffset, now)} The effect may still be under way. Look where it would show, before you answer.</span>
          </div>
        )}
        {pausePoint.brief ? (
          <div className="tag-note edge" role="status">
            <span>{loadError ? `This card's input could not be loaded: ${loadError}` : "Loading the whole card…"}</span>
          </div>
        ) : editor && pending ? (
          <Form editor={editor} onChange={setEditor} form={form} asJson={asJson} disabled={kept !== undefined} />
        ) : (
          <Fields
            payload={effectivePayload(pausePoint)}
            schema={pausePoint.payloadSchema}
            {...(pausePoint.state === "approved" &&
              pausePoint.payloadOverride !== null &&
              pausePoint.kind === "approval" && { proposed: pausePoint.payload, changedBy: pausePoint.decidedBy })}
            seen={seen}
          />
        )}
        {editing && pending && (
          <p className="tag-say">
            {result?.ok ? (result.changed ? "The agent is told both values. " : "Nothing is changed yet. ") : "Something here can't be read yet. "}
            <button type="button" className="link" onClick={() => setAsJson(!asJson)}>
              {asJson ? "Edit as fields" : "Edit as JSON"}
            </button>
          </p>
        )}
        {pausePoint.kind === "recovery" && pending && (
          <RecoveryOptions offered={pausePoint.options} choice={recoveryChoice} disabled={!mayDecide || kept !== undefined} onChoose={setRecoveryChoice} />
        )}
        {pausePoint.description && (
          <div className="tag-say">
            <b>{pausePoint.payloadSchema !== null ? "About this tool" : `The agent’s ${question ? "words" : "explanation"}`}</b>
            <Markdown text={pausePoint.description} escape />
          </div>
        )}
        {pending && kept && overdue && <NotSent kept={kept} status={status} />}
        {pending && !kept && note && <Refusal note={note} />}
        <footer className="tag-sign">
          {pending ? (
            <>
              <Deadline pausePoint={pausePoint} now={now} clockOffset={sync.clockOffset} />
              {!mayDecide ? (
                <p className="tag-as">
                  <span>
                    <Icon name="lock" /> You can read here. {deciders(sync.conversation?.owner ?? "", sync.conversation?.members ?? [])} may decide.
                  </span>
                </p>
              ) : over ? null : kept && overdue ? (
                <div className="tag-acts">
                  <button type="button" className="btn solid" onClick={() => store.sendAgain(kept.command.opId)}>
                    Send again
                  </button>
                  <button type="button" className="btn" onClick={() => store.takeBack(kept.command.opId)}>
                    Take it back
                  </button>
                </div>
              ) : (
                <SignOff
                  pausePoint={pausePoint}
                  editor={editor}
                  recoveryChoice={recoveryChoice}
                  allSeen={allSeen && !pausePoint.brief}
                  disabled={kept !== undefined || pausePoint.brief === true}
                  person={sync.you?.person ?? me?.person ?? ""}
                  deviceName={deviceName}
                  mayStart={() => performance.now() - appeared > SETTLE_MS}
                  viewing={viewing}
                  onViewAll={viewAll}
                  onEdit={() => setEditor(startEditing(pausePoint.payload))}
                  onCancelEdit={() => setEditor(null)}
                  onAnswer={answer}
                />
              )}
            </>
          ) : (
            <>
              <Stamp pausePoint={pausePoint} />
              <Outcome pausePoint={pausePoint} call={call} part={part} view={view} seen={seen} />
              {note?.status === "conflict" && note.code !== "changed" && (
                <p className="tag-end" role="alert">
                  <Icon name="people" />
                  <span>
                    {pausePoint.decidedBy ? (
                      <>
                        <PlainText text={pausePoint.decidedBy} /> was first.{" "}
                      </>
                    ) : (
                      `${note.message} `
                    )}
                    Your answer changed nothing.
                  </span>
                </p>
              )}
            </>
          )}
        </footer>
      </div>
    </article>
  );
}

// A tool's sentence is about its input: with another input there is another sentence, once the call has it.
function effectOf(pausePoint: PausePoint, call: CardCall | null): { text: string; proposed: string | null } {
  const proposed = pausePoint.summary || pausePoint.title || pausePoint.action;
  const edited = pausePoint.state === "approved" && pausePoint.payloadOverride !== null;
  return edited && call?.summary && call.summary !== proposed ? { text: call.summary, proposed } : { text: proposed, proposed: null };
}

const lostContact = (call: CardCall | null, clockOffset: number, now: number): string =>
  call?.startedAt
    ? `It was started at ${moment(call.startedAt - clockOffset, now - clockOffset)}, and contact was lost before an answer came.`
    : "It was started, and contact was lost before an answer came.";

function deciders(owner: string, members: { person: string; role: string }[]): string {
  const people = [...new Set([owner, ...members.filter(({ role }) => role !== "viewer").map(({ person }) => person)])].filter(Boolean);
  return people.length > 0 ? people.join(", ") : "Somebody else";
}

/** Fetches what a frame left out for size; tells why when that failed. */
function useWhole(pausePoint: PausePoint): string | null {
  const store = useStore();
  const [error, setError] = useState<string | null>(null);
  const { id, version, brief } = pausePoint;
  useEffect(() => {
    if (!brief) return;
    api.approval(id).then(
      (whole) => store.putPausePoint(whole),
      (reason: unknown) => setError(reason instanceof Error ? reason.message : String(reason)),
    );
  }, [store, id, version, brief]);
  return error;
}

function useSeen(cardId: string): { seen: SeenReport; allSeen: boolean; viewing: boolean; viewAll(): void } {
  const [parts, setParts] = useState<Readonly<Record<string, Seen>>>({});
  const [openAll, setOpenAll] = useState(false);
  const report = useCallback((id: string, state: Seen | null) => {
    setParts((before) => {
      if (before[id] === (state ?? undefined)) return before;
      const { [id]: _, ...rest } = before;
      return state === null ? rest : { ...rest, [id]: state };
    });
  }, []);
  const allSeen = Object.values(parts).every((state) => state === "seen");
  const viewAll = () => {
    setOpenAll(true);
    // Pages through what is open, so that its end can be reached from the button as well.
    const well = document.getElementById(cardId)?.querySelector("pre[data-unseen]");
    if (openAll && well) {
      well.scrollBy({ top: well.clientHeight * 0.9 });
      well.scrollIntoView({ block: "nearest" });
    }
  };
  return { seen: useMemo(() => ({ openAll, report }), [openAll, report]), allSeen, viewing: openAll && !allSeen, viewAll };
}

/** What is being edited. A card that the server changed is read anew; a question to fill in is open at once. */
function useEditor(pausePoint: PausePoint, editable: boolean): [Editor | null, (editor: Editor | null) => void, ReturnType<typeof formOf>] {
  const { version, payload, payloadSchema, kind, brief } = pausePoint;
  const fresh = kind === "data_entry" && !brief ? startEditing(payload ?? {}) : null;
  const [held, setHeld] = useState<{ version: number; editor: Editor | null }>({ version, editor: fresh });
  const current = held.version === version && (held.editor !== null || fresh === null) ? held.editor : fresh;
  const form = useMemo(() => formOf(payloadSchema, payload ?? {}), [payloadSchema, payload]);
  return [editable ? current : null, (editor) => setHeld({ version, editor }), form];
}

/** Keys that decide are ignored until the card has been there for a moment. */
function useSettled() {
  const appeared = useRef(performance.now()).current;
  const early = () => performance.now() - appeared < SETTLE_MS;
  return {
    appeared,
    guard: {
      key(event: KeyboardEvent) {
        if (early() && (event.key === "Enter" || event.key === " ")) event.preventDefault();
      },
      // A click without a pointer comes from a key.
      click(event: MouseEvent) {
        if (early() && event.detail === 0) {
          event.preventDefault();
          event.stopPropagation();
        }
      },
    },
  };
}
