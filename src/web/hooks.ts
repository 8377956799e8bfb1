import { createContext, useContext, useEffect, useState, useSyncExternalStore } from "react";
import type { Me } from "../protocol/http.js";
import type { ConversationStore, Snapshot } from "./sync/store.js";

/** Who uses this page, and where from. */
export interface Session {
  me: Me | null;
  deviceName: string;
  /** Counts up whenever somebody else uses this page. */
  generation: number;
  refresh(): void;
}

export const SessionContext = createContext<Session>({ me: null, deviceName: "", generation: 0, refresh: () => {} });
export const useSession = (): Session => useContext(SessionContext);

export const StoreContext = createContext<ConversationStore | null>(null);

export function useStore(): ConversationStore {
  const store = useContext(StoreContext);
  if (!store) throw new Error("There is no conversation here");
  return store;
}

export function useSnapshot(store: ConversationStore): Snapshot {
  return useSyncExternalStore(store.subscribe, store.getSnapshot);
}

/** The server's time, again and again until `deadline` is over; often enough for what is drawn from it. */
export function useServerNow(store: ConversationStore, deadline: number | null): number {
  const [now, setNow] = useState(() => store.now());
  const left = deadline === null ? Infinity : deadline - now;
  useEffect(() => {
    if (left <= 0 || deadline === null) return;
    // Under ten minutes the seconds are shown; otherwise a minute is enough, but the end is met exactly.
    const wait = Math.min(left < 600_000 ? 1_000 - (store.now() % 1_000) : 15_000, Math.max(left, 20));
    const timer = setTimeout(() => setNow(store.now()), wait);
    return () => clearTimeout(timer);
  }, [store, deadline, left, now]);
  return now;
}

/** Does something now, every so often while the page is looked at, and when it is looked at again. */
export function usePolling(work: () => void, everyMs: number): void {
  useEffect(() => {
    work();
    const look = () => {
      if (document.visibilityState === "visible") work();
    };
    const timer = setInterval(look, everyMs);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, [work, everyMs]);
}

/** Fetches once on mount and again whenever `key` changes. */
export function useFetched<T>(fetch: () => Promise<T>, key: unknown): { value: T | null; error: string | null; again(): void } {
  const [value, setValue] = useState<T | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [count, setCount] = useState(0);
  useEffect(() => {
    let gone = false;
    fetch().then(
      (fetched) => {
        if (gone) return;
        setValue(fetched);
        setError(null);
      },
      (reason: unknown) => {
        if (!gone) setError(reason instanceof Error ? reason.message : String(reason));
      },
    );
    return () => {
      gone = true;
    };
    // `fetch` is a new function at each render; `key` says when it means something else.
  }, [key, count]);
  return { value, error, again: () => setCount((before) => before + 1) };
}
