import { useEffect, useState } from "react";
import type { ConnectionStatus } from "../../sync/connection.js";
import type { Kept } from "../../sync/outbox.js";
import type { DecisionNote } from "../../sync/store.js";
import { Icon } from "../Icon.js";

/** How long an answer may take before the card says that there is none. */
const PATIENCE_MS = 8_000;

/** Whether a decision that has no answer yet has waited too long to keep quiet about it. */
export function useOverdue(kept: Kept | undefined, status: ConnectionStatus): boolean {
  const [overdue, setOverdue] = useState(false);
  const at = kept?.at;
  useEffect(() => {
    setOverdue(false);
    if (at === undefined) return;
    const timer = setTimeout(() => setOverdue(true), Math.max(0, at + PATIENCE_MS - Date.now()));
    return () => clearTimeout(timer);
  }, [at]);
  return kept !== undefined && (status === "offline" || status === "refused" || overdue);
}

const named = (kept: Kept): string => (kept.command.type === "decide" && kept.command.decision === "reject" ? "rejection" : "approval");

/** A decision that has not been acknowledged. Whether it arrived is not known, so nothing is claimed (C52). */
export function NotSent({ kept, status }: { kept: Kept; status: ConnectionStatus }) {
  return (
    <div className="tag-note bad" role="alert">
      <Icon name="off" />
      <span>
        <b>Your {named(kept)} was not sent.</b>{" "}
        {status === "live"
          ? "The server has not answered. It may have arrived; sending it again does it once."
          : "There is no connection. It is kept, and sent once when there is one."}
      </span>
    </div>
  );
}

/** What the server answered, when the decision changed nothing. */
export function Refusal({ note }: { note: DecisionNote }) {
  if (note.status === "conflict" && note.code !== "changed") return null;
  return (
    <div className="tag-note bad" role="alert">
      <Icon name={note.code === "changed" ? "edit" : "fail"} />
      <span>
        <b>{note.code === "changed" ? "This card has changed since you saw it." : `Your ${note.answer.decision === "reject" ? "rejection" : "approval"} was not sent.`}</b>{" "}
        {note.message} {note.code === "changed" && "Nothing was decided. Look again."}
      </span>
    </div>
  );
}
