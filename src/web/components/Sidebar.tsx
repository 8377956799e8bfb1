import { useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import type { ConversationListItem } from "../../protocol/http.js";
import { api } from "../lib/api.js";
import { short } from "../lib/time.js";
import { useSession } from "../hooks.js";
import { nameDevice } from "../sync/device.js";
import { HoldIcon, Icon, Mark, type IconName } from "./Icon.js";
import { PlainText } from "./PlainText.js";

interface Props {
  conversations: ConversationListItem[];
  error: string | null;
  waiting: number;
  open: boolean;
  onClose(): void;
}

const notes: Record<ConversationListItem["state"], string> = { idle: "", running: "Working", paused: "Waits for an answer" };

export function Sidebar({ conversations, error, waiting, open, onClose }: Props) {
  const [path] = useLocation();
  const { me } = useSession();
  const now = Date.now();
  const to = (href: string, icon: IconName, children: ReactNode) => (
    <Link href={href} aria-current={path === href ? "page" : undefined} onClick={onClose}>
      <Icon name={icon} />
      {children}
    </Link>
  );
  return (
    <aside className="side" data-open={open || undefined} aria-label="Conversations and pages">
      <div className="brand">
        <Mark size={20} />
        Holdpoint
        <button type="button" className="icon-btn close" aria-label="Close the menu" onClick={onClose}>
          <Icon name="x" />
        </button>
      </div>
      <nav className="nav" aria-label="Product">
        {to(
          "/approvals",
          "inbox",
          <>
            Approvals
            {waiting > 0 && (
              <span className="badge" aria-label={`${waiting} cards wait`}>
                {waiting}
              </span>
            )}
          </>,
        )}
        {to("/ledger", "ledger", "Ledger")}
        {me?.operator && to("/status", "list", "Status")}
      </nav>
      <div className="side-h">
        <span>Conversations</span>
        <Link href="/" className="icon-btn" aria-label="New conversation" onClick={onClose}>
          <Icon name="plus" />
        </Link>
      </div>
      <ul className="conv">
        {conversations.map((item) => (
          <li key={item.id}>
            <Link
              href={`/c/${item.id}`}
              className={item.state === "paused" ? "wait" : item.state === "running" ? "live" : ""}
              aria-current={path === `/c/${item.id}` ? "page" : undefined}
              onClick={onClose}
            >
              {item.state === "paused" ? <HoldIcon /> : item.state === "running" ? <Icon name="run" /> : <span className="nil" />}
              <b>
                <PlainText text={item.title} />
              </b>
              <time>{short(item.updatedAt, now)}</time>
              {notes[item.state] && <small>{notes[item.state]}</small>}
            </Link>
          </li>
        ))}
        {conversations.length === 0 && <li className="none">{error ?? "No conversations yet."}</li>}
      </ul>
      <Person />
    </aside>
  );
}

/** Who signs here, and from which device; both can be renamed. */
function Person() {
  const { me, deviceName, refresh } = useSession();
  const [editing, setEditing] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const person = me?.person ?? "…";
  if (!editing) {
    return (
      <div className="me">
        <span className="ini" aria-hidden="true">
          {[...person].slice(0, 2).join("").toUpperCase()}
        </span>
        <div>
          <b>
            <PlainText text={person} />
          </b>
          <span className="dev">
            <Icon name={/phone|iPhone/.test(deviceName) ? "phone" : "laptop"} />
            <PlainText text={deviceName} />
          </span>
        </div>
        <button type="button" className="icon-btn" aria-label={`You are ${person}: change name`} onClick={() => setEditing(true)}>
          <Icon name="edit" />
        </button>
      </div>
    );
  }
  const save = async (data: FormData) => {
    const name = String(data.get("name") ?? "").trim();
    nameDevice(localStorage, String(data.get("device") ?? ""));
    try {
      if (name && name !== me?.person) await api.signIn(name);
      setEditing(false);
      setError(null);
      refresh();
    } catch (reason) {
      setError(reason instanceof Error ? reason.message : String(reason));
    }
  };
  return (
    <form className="me edit" action={save}>
      <label>
        Your name
        <input name="name" defaultValue={me?.person ?? ""} maxLength={80} autoComplete="nickname" />
      </label>
      <label>
        This device
        <input name="device" defaultValue={deviceName} maxLength={80} autoComplete="off" />
      </label>
      {error && (
        <span className="fault" role="alert">
          {error}
        </span>
      )}
      <span className="ends">
        <button type="submit" className="btn solid">
          Save
        </button>
        <button type="button" className="btn" onClick={() => setEditing(false)}>
          Cancel
        </button>
      </span>
    </form>
  );
}
