import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Route, Switch } from "wouter";
import type { ApprovalListItem, ConversationListItem, Me } from "../protocol/http.js";
import { Sidebar } from "./components/Sidebar.js";
import { TopBar } from "./components/TopBar.js";
import { SessionContext, usePolling, type Session } from "./hooks.js";
import { api } from "./lib/api.js";
import { Approvals } from "./pages/Approvals.js";
import { Chat } from "./pages/Chat.js";
import { Home } from "./pages/Home.js";
import { LedgerPage } from "./pages/Ledger.js";
import { StatusPage } from "./pages/Status.js";
import { thisDevice } from "./sync/device.js";

const LISTS_EVERY_MS = 30_000;
/** The lists are mirrored, a moment after the conversation itself has changed. */
const MIRROR_MS = [300, 2_000];

export function App() {
  const session = useMe();
  const lists = useLists(session.me?.person ?? null);
  const [menu, setMenu] = useState(false);
  const onMenu = useCallback(() => setMenu(true), []);
  const closeMenu = useCallback(() => setMenu(false), []);
  useEffect(() => {
    if (!menu) return;
    const close = (event: KeyboardEvent) => {
      if (event.key === "Escape") setMenu(false);
    };
    document.addEventListener("keydown", close);
    return () => document.removeEventListener("keydown", close);
  }, [menu]);
  const titles = useMemo(() => new Map(lists.conversations.map(({ id, title }) => [id, title])), [lists.conversations]);
  const now = Date.now();
  const waiting = (lists.approvals ?? []).filter(({ expiresAt }) => expiresAt === null || expiresAt > now).length;

  return (
    <SessionContext value={session}>
      <div className="app">
        <Sidebar conversations={lists.conversations} error={lists.error} waiting={waiting} open={menu} onClose={closeMenu} />
        {menu && <div className="veil" onClick={closeMenu} />}
        <main className="main">
          <Switch>
            <Route path="/">{() => <Home onMenu={onMenu} />}</Route>
            <Route path="/c/:id">{({ id }) => <Chat key={id} conversationId={id} onMenu={onMenu} onStir={lists.stir} />}</Route>
            <Route path="/approvals">{() => <Approvals items={lists.approvals} error={lists.approvalsError} titles={titles} onMenu={onMenu} />}</Route>
            <Route path="/status">{() => <StatusPage onMenu={onMenu} />}</Route>
            <Route path="/ledger">{() => <LedgerPage onMenu={onMenu} stir={lists.stirs} />}</Route>
            <Route>
              <TopBar title="Not found" onMenu={onMenu} />
              <div className="page">
                <p>There is no such page.</p>
              </div>
            </Route>
          </Switch>
        </main>
      </div>
    </SessionContext>
  );
}

function useMe(): Session {
  const [me, setMe] = useState<Me | null>(null);
  const [count, setCount] = useState(0);
  const [generation, setGeneration] = useState(0);
  const known = useRef<string | null>(null);
  useEffect(() => {
    let gone = false;
    let timer: ReturnType<typeof setTimeout>;
    const load = () => {
      api.me().then(
        (answer) => {
          if (gone) return;
          if (known.current !== null && known.current !== answer.person) setGeneration((before) => before + 1);
          known.current = answer.person;
          setMe(answer);
        },
        () => {
          if (!gone) timer = setTimeout(load, 5_000);
        },
      );
    };
    load();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [count]);
  const refresh = useCallback(() => setCount((before) => before + 1), []);
  return useMemo(() => ({ me, deviceName: thisDevice(localStorage, navigator.userAgent).name, generation, refresh }), [me, generation, refresh, count]);
}

/** The lists of the sidebar and the approvals page: from the index, so a moment behind a conversation's own truth. */
function useLists(person: string | null) {
  const [conversations, setConversations] = useState<ConversationListItem[]>([]);
  const [approvals, setApprovals] = useState<ApprovalListItem[] | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [approvalsError, setApprovalsError] = useState<string | null>(null);
  const [stirs, setStirs] = useState(0);
  const load = useCallback(() => {
    if (person === null) return;
    const told = (set: (message: string) => void) => (reason: unknown) => set(reason instanceof Error ? reason.message : String(reason));
    api.conversations().then(({ items }) => {
      setConversations(items);
      setError(null);
    }, told(setError));
    api.pendingApprovals().then(({ items }) => {
      setApprovals(items);
      setApprovalsError(null);
    }, told(setApprovalsError));
  }, [person]);
  usePolling(load, LISTS_EVERY_MS);
  const timers = useRef<ReturnType<typeof setTimeout>[]>([]);
  const stir = useCallback(() => {
    timers.current.forEach(clearTimeout);
    timers.current = MIRROR_MS.map((delay) =>
      setTimeout(() => {
        load();
        setStirs((before) => before + 1);
      }, delay),
    );
  }, [load]);
  useEffect(() => () => timers.current.forEach(clearTimeout), []);
  return { conversations, approvals, error, approvalsError, stir, stirs };
}
