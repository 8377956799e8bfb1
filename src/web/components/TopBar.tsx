import type { ReactNode } from "react";
import type { Presence } from "../../protocol/entities.js";
import type { ConnectionStatus } from "../sync/connection.js";
import { Icon } from "./Icon.js";
import { PlainText } from "./PlainText.js";

/** The head of every page; `onMenu` opens the sidebar where there is no room for it. */
export function TopBar({ title, sub, onMenu, children }: { title: string; sub?: string | undefined; onMenu(): void; children?: ReactNode }) {
  return (
    <header className="top">
      <button type="button" className="icon-btn menu" aria-label="Open the menu" onClick={onMenu}>
        <Icon name="panel" />
      </button>
      <div className="titles">
        <h1>
          <PlainText text={title} />
        </h1>
        {sub && <span className="sub">{sub}</span>}
      </div>
      <div className="end">{children}</div>
    </header>
  );
}

const states: Record<ConnectionStatus, { s: "live" | "wait" | "off"; text: string }> = {
  connecting: { s: "wait", text: "Connecting…" },
  live: { s: "live", text: "Live" },
  reconnecting: { s: "wait", text: "Reconnecting…" },
  offline: { s: "off", text: "Offline: what you send is kept" },
  refused: { s: "off", text: "Not connected" },
};

export function ConnectionState({ status }: { status: ConnectionStatus }) {
  const { s, text } = states[status];
  return (
    <span className="net" data-s={s} data-testid="connection" data-status={status} role="status">
      {text}
    </span>
  );
}

/** Who is here: one person on several devices is one person. */
export function Present({ devices, person }: { devices: Presence[]; person: string }) {
  const own = devices.filter((presence) => presence.person === person);
  const others = [...new Set(devices.filter((presence) => presence.person !== person).map((presence) => presence.person))];
  const title = devices.map((presence) => `${presence.person}: ${presence.device.name}`).join("\n");
  return (
    <span className="who" title={title} data-testid="presence" data-devices={devices.length}>
      {others.length > 0 && (
        <span className="who">
          <Icon name="people" />
          <PlainText text={others.slice(0, 2).join(", ")} />
          {others.length > 2 && ` and ${others.length - 2} more`}
        </span>
      )}
      {own.length > 1 && (
        <span className="who">
          <Icon name="laptop" />
          you on {own.length} devices
        </span>
      )}
    </span>
  );
}
