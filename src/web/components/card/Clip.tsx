import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { PlainText } from "../PlainText.js";

/** How much of a clipped text the person has had in view. */
export type Seen = "clipped" | "open" | "seen";

export interface SeenReport {
  /** Set when everything was asked for at once. */
  openAll: boolean;
  report(id: string, seen: Seen | null): void;
}

const CHARACTERS = 400;
const LINES = 8;

export const isLong = (text: string): boolean => text.length > CHARACTERS || text.split("\n", LINES + 1).length > LINES;

function head(text: string): string {
  const lines = text.split("\n", LINES).join("\n");
  const cut = lines.slice(0, CHARACTERS);
  // Never half a character.
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut;
}

const thousands = new Intl.NumberFormat("en-GB");

/** A long text in a bounded well. What is hidden is said, and shown whole when asked for (C48). */
export function Clip({ id, text, caption, seen }: { id: string; text: string; caption?: string; seen: SeenReport }) {
  const long = isLong(text);
  const [opened, setOpened] = useState(false);
  const open = opened || seen.openAll;
  const [reachedEnd, setReachedEnd] = useState(false);
  const well = useRef<HTMLPreElement>(null);
  const shown = long && !open ? head(text) : text;
  const hidden = text.length - shown.length;
  const { report } = seen;

  const look = () => {
    const element = well.current;
    if (element && element.scrollTop + element.clientHeight >= element.scrollHeight - 4) setReachedEnd(true);
  };
  useLayoutEffect(() => {
    if (open) look();
  }, [open]);
  useEffect(() => {
    report(id, !long ? null : reachedEnd ? "seen" : open ? "open" : "clipped");
    return () => report(id, null);
  }, [report, id, long, open, reachedEnd]);

  return (
    <div className="tag-raw">
      {caption && (
        <p className="cap">
          <PlainText text={caption} />
          {long && `, ${thousands.format(text.length)} characters`}
        </p>
      )}
      <pre
        ref={well}
        className={open && long ? "open" : undefined}
        tabIndex={open && long ? 0 : undefined}
        role={open && long ? "region" : undefined}
        aria-label={open && long ? (caption ?? "Whole text") : undefined}
        onScroll={look}
        data-unseen={(long && open && !reachedEnd) || undefined}
      >
        <PlainText text={shown} />
      </pre>
      {hidden > 0 && (
        <p className="cap more">
          <span>+{thousands.format(hidden)} characters not shown</span>
          <button type="button" className="link" onClick={() => setOpened(true)}>
            View all
          </button>
        </p>
      )}
      {long && open && !seen.openAll && (
        <p className="cap">
          <button type="button" className="link" onClick={() => setOpened(false)}>
            Show less
          </button>
        </p>
      )}
    </div>
  );
}
