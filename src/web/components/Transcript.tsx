import { useEffect, useMemo } from "react";
import { useServerNow, useSnapshot, useStore } from "../hooks.js";
import type { Snapshot } from "../sync/store.js";
import { knowsHead, storedTranscript, withLive } from "../sync/transcript.js";
import { Icon } from "./Icon.js";
import { Message } from "./Message.js";
import { goToCard } from "./WaitingStrip.js";

/** The conversation as it is read, with what this device still has on its way at the end. */
export function Transcript({ cardId }: { cardId: string | null }) {
  const store = useStore();
  const snapshot = useSnapshot(store);
  const { sync } = snapshot;
  const { steps, conversation, run } = sync;
  const stored = useMemo(() => storedTranscript({ steps, conversation, run }), [steps, conversation, run]);
  const messages = withLive(stored, sync.live, sync.run?.startedAt ?? 0);
  const newestAnswer = messages.findLastIndex(({ role }) => role === "assistant");
  const now = useServerNow(store, null);
  const live = run?.status === "running" || run?.status === "suspended";
  const mayBranch = !live && snapshot.status === "live" && sync.you !== null && sync.you.role !== "viewer";
  const searching = sync.hasOlder && !snapshot.loadingOlder && !knowsHead(sync);
  useEffect(() => {
    if (searching) store.loadOlder();
  }, [store, searching]);
  const known = cardId !== null && sync.pausePoints.has(cardId);
  useEffect(() => {
    if (known && cardId !== null) goToCard(cardId, false);
  }, [known, cardId]);

  return (
    <div className="scroll">
      <div className="read" role="log" aria-label="Conversation" aria-live="off">
        {sync.hasOlder && (
          <p className="older">
            <button type="button" className="btn" disabled={snapshot.loadingOlder} onClick={() => store.loadOlder()}>
              {snapshot.loadingOlder ? "Loading…" : "Load earlier"}
            </button>
          </p>
        )}
        {messages.map((message, index) => (
          <Message
            key={message.messageId}
            message={message}
            pausePoints={sync.pausePoints}
            conversationId={sync.conversation?.id ?? ""}
            now={now}
            clockOffset={sync.clockOffset}
            past={index < newestAnswer}
            you={sync.you?.person ?? null}
            mayBranch={mayBranch}
            goesOn={messages[index + 1]?.role === "user" && messages[index + 1]?.author === null}
          />
        ))}
        {messages.some(({ messageId }) => messageId === run?.messageId || messageId === run?.parentId) && <RunLine snapshot={snapshot} />}
        <OnTheWay snapshot={snapshot} />
      </div>
    </div>
  );
}

/** What the run does when nothing else on the page says it, and why it ended. */
function RunLine({ snapshot }: { snapshot: Snapshot }) {
  const { run, live, steps } = snapshot.sync;
  if (!run) return null;
  if (run.status === "running" && !live) {
    const executing = [...steps.values()].some(({ messageId, calls }) => messageId === run.messageId && calls.some(({ state }) => state === "started"));
    return executing ? null : (
      <p className="working" role="status">
        <span className="caret" /> Working
      </p>
    );
  }
  if (run.stopReason === "pause") return <p className="run-end">The agent goes on with your next text.</p>;
  const unplain = run.status === "failed" || run.status === "cancelled" || (run.stopReason !== null && run.stopReason !== "finished");
  if (!unplain || run.status === "running" || run.status === "suspended") return null;
  const failed = run.status === "failed";
  return (
    <p className={`run-end${failed ? " bad" : ""}`} role={failed ? "alert" : "status"} data-testid="run-end" data-stop-reason={run.stopReason ?? ""}>
      <Icon name={failed ? "fail" : "ban"} />
      <span>
        <b>{failed ? "The run failed." : run.status === "cancelled" ? "The run was stopped." : "The run ended."}</b> {run.detail}
      </span>
    </p>
  );
}

/** Texts that the server has not acknowledged, or has refused. */
function OnTheWay({ snapshot }: { snapshot: Snapshot }) {
  const store = useStore();
  const arrived = new Set([...snapshot.sync.steps.values()].map(({ messageId }) => messageId));
  return (
    <>
      {snapshot.unacknowledged.map(({ command }) =>
        command.type === "send" && !arrived.has(command.messageId) ? (
          <section key={command.opId} className="said unsent" data-testid="unsent">
            <header>
              <span className="state">{snapshot.status === "live" ? "Sending" : "Kept, not sent yet"}</span>
            </header>
            <p>{command.text}</p>
          </section>
        ) : null,
      )}
      {snapshot.refused.map(({ opId, text, message }) => (
        <section key={opId} className="said refused" data-testid="refused" role="alert">
          <header>
            <b>Not sent.</b> {message}
          </header>
          <p>{text}</p>
          <footer>
            <button
              type="button"
              className="link"
              onClick={() => {
                store.dismissRefused(opId);
                store.send(text);
              }}
            >
              Send again
            </button>
            <button type="button" className="link" onClick={() => store.dismissRefused(opId)}>
              Discard
            </button>
          </footer>
        </section>
      ))}
    </>
  );
}
