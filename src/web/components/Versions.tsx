import { useState, type ReactNode } from "react";
import { useStore } from "../hooks.js";
import type { TranscriptMessage } from "../sync/transcript.js";
import { Icon } from "./Icon.js";

/** What can be done with a message besides reading it: go to another version of it, or make one (H22). */
export function Versions({ message, mayBranch, children }: { message: TranscriptMessage; mayBranch: boolean; children: ReactNode }) {
  const store = useStore();
  const { messageId, versions } = message;
  const place = versions.indexOf(messageId);
  const go = (name: "left" | "right", label: string, to: string | undefined) => (
    <button type="button" className="icon-btn" aria-label={label} disabled={!mayBranch || to === undefined} onClick={() => to !== undefined && store.choose(to)}>
      <Icon name={name} />
    </button>
  );
  if (versions.length < 2 && (!mayBranch || !children)) return null;
  return (
    <footer className="versions">
      {versions.length > 1 && (
        <span data-testid="versions">
          {go("left", "Earlier version", versions[place - 1])}
          {place + 1}/{versions.length}
          {go("right", "Later version", versions[place + 1])}
        </span>
      )}
      {mayBranch && children}
    </footer>
  );
}

export function AnswerAgain({ messageId }: { messageId: string }) {
  const store = useStore();
  return (
    <button type="button" className="link" onClick={() => store.regenerate(messageId)}>
      Regenerate
    </button>
  );
}

/** Writes a text anew. The one that was sent stays, as the version before. */
export function EditText({ message, text, onDone }: { message: TranscriptMessage; text: string; onDone(): void }) {
  const store = useStore();
  const [words, setWords] = useState(text);
  const save = () => {
    if (words.trim() !== "" && words !== text) store.edit(message.parentId, words);
    onDone();
  };
  return (
    <form
      className="edit-text"
      action={save}
      onKeyDown={(event) => {
        if (event.key === "Escape") onDone();
      }}
    >
      <textarea aria-label="Your text" value={words} rows={Math.min(8, words.split("\n").length + 1)} autoFocus onChange={(event) => setWords(event.target.value)} />
      <button type="submit" className="btn solid">
        Send
      </button>
      <button type="button" className="btn" onClick={onDone}>
        Keep as it was
      </button>
    </form>
  );
}
