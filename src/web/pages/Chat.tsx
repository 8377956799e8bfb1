import { useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { Composer } from "../components/Composer.js";
import { Icon } from "../components/Icon.js";
import { ConnectionState, Present, TopBar } from "../components/TopBar.js";
import { Transcript } from "../components/Transcript.js";
import { WaitingStrip } from "../components/WaitingStrip.js";
import { StoreContext, useSession, useSnapshot } from "../hooks.js";
import { api } from "../lib/api.js";
import { clock } from "../lib/time.js";
import { takeFirstText } from "../first-text.js";
import type { SocketLike } from "../sync/connection.js";
import { pageEnvironment } from "../sync/page.js";
import { thisDevice } from "../sync/device.js";
import { ConversationStore } from "../sync/store.js";
import { pendingCards } from "../sync/transcript.js";

function socketUrl(conversationId: string): string {
  const url = new URL(`/api/conversations/${encodeURIComponent(conversationId)}/socket`, location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

interface Props {
  conversationId: string;
  onMenu(): void;
  /** Something changed that the lists of the sidebar show too. */
  onStir(): void;
}

/** One conversation, live. */
export function Chat({ conversationId, onMenu, onStir }: Props) {
  const { me, generation } = useSession();
  const person = useRef(me?.person ?? null);
  person.current = me?.person ?? null;
  const store = useMemo(
    () =>
      new ConversationStore({
        conversationId,
        person: () => person.current,
        device: () => thisDevice(localStorage, navigator.userAgent),
        storage: localStorage,
        environment: pageEnvironment,
        // The handlers set on it take less of an event than a browser gives.
        open: () => new WebSocket(socketUrl(conversationId)) as unknown as SocketLike,
      }),
    // Another person must get another socket.
    [conversationId, generation],
  );
  useEffect(() => {
    store.start();
    const first = takeFirstText(conversationId);
    if (first !== null) store.send(first);
    return () => store.stop();
  }, [store, conversationId]);
  return (
    <StoreContext value={store}>
      <Open store={store} conversationId={conversationId} onMenu={onMenu} onStir={onStir} />
    </StoreContext>
  );
}

const refusals: Record<number, string> = {
  4403: "You are not a member of this conversation.",
  4404: "There is no such conversation, or you are not a member of it.",
  4426: "This page is older than the server. Load it again.",
};

function Open({ store, conversationId, onMenu, onStir }: Props & { store: ConversationStore }) {
  const snapshot = useSnapshot(store);
  const { sync, status, closeCode } = snapshot;
  const { me } = useSession();
  const cards = useMemo(() => pendingCards(sync.pausePoints), [sync.pausePoints]);
  const cardId = useHash();
  const { conversation, run, you } = sync;
  const live = run !== null && (run.status === "running" || run.status === "suspended");
  const mayWrite = you === null || you.role !== "viewer";
  const title = conversation?.title || "Conversation";

  useEffect(() => {
    document.title = `${cards.length > 0 ? `(${cards.length}) ` : ""}${title} · Holdpoint`;
    return () => {
      document.title = "Holdpoint";
    };
  }, [cards.length, title]);
  const stirred = `${conversation?.title} ${conversation?.state} ${run?.runId} ${run?.status} ${cards.map(({ id }) => id).join()}`;
  useEffect(onStir, [onStir, stirred]);

  if (status === "refused") {
    return (
      <>
        <TopBar title="Conversation" onMenu={onMenu}>
          <ConnectionState status={status} />
        </TopBar>
        <div className="page">
          <p role="alert">{refusals[closeCode] ?? "The server refused the connection. Load the page again."}</p>
        </div>
      </>
    );
  }
  const note = live && run.status === "running" ? `Working since ${clock(run.startedAt - sync.clockOffset)}. Typing never approves anything.` : "Typing never approves anything.";
  return (
    <>
      <TopBar title={title} sub={skillTitle(me?.skills, conversation?.skill)} onMenu={onMenu}>
        <Present devices={sync.devices} person={you?.person ?? ""} />
        <ConnectionState status={status} />
        {conversation && you?.role === "owner" && <More conversationId={conversationId} title={conversation.title} onStir={onStir} />}
      </TopBar>
      <Transcript cardId={cardId} />
      <p className="vh" role="status">
        {cards.length > 0 && `A card waits: ${cards.at(-1)?.summary}`}
      </p>
      <footer className="foot">
        <WaitingStrip cards={cards} mayDecide={mayWrite} />
        {snapshot.error && (
          <p className="complaint" role="alert">
            {snapshot.error}{" "}
            <button type="button" className="link" onClick={() => store.dismissError()}>
              Dismiss
            </button>
          </p>
        )}
        {mayWrite ? (
          <Composer
            key={conversationId}
            draftKey={`holdpoint:draft:${conversationId}`}
            placeholder={run?.status === "running" ? "For the agent’s next step" : "Write to the agent"}
            note={note}
            onSend={(text) => store.send(text)}
            onWithdraw={cards.length > 0 ? (text) => store.send(text, true) : undefined}
            onStop={live ? () => store.cancel(run.runId) : undefined}
          />
        ) : (
          <p className="compose readonly">You can read this conversation, and not write in it.</p>
        )}
      </footer>
    </>
  );
}

const skillTitle = (skills: { name: string; title: string }[] | undefined, name: string | undefined): string | undefined =>
  skills?.find((skill) => skill.name === name)?.title ?? name;

/** The card that the address names. */
function useHash(): string | null {
  const read = () => (location.hash.length > 1 ? decodeURIComponent(location.hash.slice(1)) : null);
  const [hash, setHash] = useState(read);
  useEffect(() => {
    const changed = () => setHash(read());
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return hash;
}

function More({ conversationId, title, onStir }: { conversationId: string; title: string; onStir(): void }) {
  const [, go] = useLocation();
  const [mode, setMode] = useState<"closed" | "menu" | "rename" | "delete">("closed");
  const [error, setError] = useState<string | null>(null);
  const attempt = async (work: Promise<unknown>, then: () => void) => {
    try {
      await work;
      setMode("closed");
      setError(null);
      onStir();
      then();
    } catch (reason) {
      setError(reason instanceof Error ? reason.message : String(reason));
    }
  };
  return (
    <div
      className="more"
      onKeyDown={(event) => {
        if (event.key === "Escape") setMode("closed");
      }}
    >
      <button type="button" className="icon-btn" aria-label="More" aria-expanded={mode !== "closed"} onClick={() => setMode(mode === "closed" ? "menu" : "closed")}>
        <Icon name="dots" />
      </button>
      {mode !== "closed" && (
        <div className="pop">
          {mode === "menu" && (
            <>
              <button type="button" className="btn bare" onClick={() => setMode("rename")}>
                Rename
              </button>
              <button type="button" className="btn bare" onClick={() => setMode("delete")}>
                Delete
              </button>
            </>
          )}
          {mode === "rename" && (
            <form action={(data) => attempt(api.rename(conversationId, String(data.get("title") ?? "").trim()), () => {})}>
              <label>
                Title
                <input name="title" defaultValue={title} maxLength={200} required autoFocus />
              </label>
              <button type="submit" className="btn solid">
                Save
              </button>
            </form>
          )}
          {mode === "delete" && (
            <>
              <p>Delete this conversation, its run and its open cards, for everybody?</p>
              <button type="button" className="btn solid" onClick={() => attempt(api.remove(conversationId), () => go("/"))}>
                Delete for good
              </button>
              <button type="button" className="btn" onClick={() => setMode("closed")}>
                Keep it
              </button>
            </>
          )}
          {error && (
            <p className="fault" role="alert">
              {error}
            </p>
          )}
        </div>
      )}
    </div>
  );
}
