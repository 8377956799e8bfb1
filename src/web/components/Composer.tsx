import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent } from "react";
import { Icon, StopIcon } from "./Icon.js";

interface Props {
  disabled?: boolean;
  placeholder: string;
  /** What stands under the field, at its left. */
  note: string;
  /** A run is live and can be stopped. */
  onStop?: (() => void) | undefined;
  /** Cards are open and could be withdrawn with this text. */
  onWithdraw?: ((text: string) => void) | undefined;
  onSend(text: string): void;
  /** Keeps a draft over a reload. */
  draftKey: string;
}

/** Where a person writes. Enter sends the text and decides nothing. */
export function Composer({ disabled = false, placeholder, note, onStop, onWithdraw, onSend, draftKey }: Props) {
  const [text, setText] = useState(() => sessionStorage.getItem(draftKey) ?? "");
  const field = useRef<HTMLTextAreaElement>(null);
  const empty = text.trim() === "";

  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, 200)}px`;
  }, [text]);

  // Whoever has just begun a conversation goes on writing. Not where focus opens a keyboard over the page, nor on a link to a card.
  useEffect(() => {
    if (document.activeElement === document.body && !location.hash && matchMedia("(pointer: fine)").matches) field.current?.focus({ preventScroll: true });
  }, []);

  const write = (next: string) => {
    setText(next);
    if (next) sessionStorage.setItem(draftKey, next);
    else sessionStorage.removeItem(draftKey);
  };
  const give = (to: (text: string) => void) => {
    if (empty || disabled) return;
    to(text);
    write("");
    field.current?.focus();
  };
  const keyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    give(onSend);
  };

  return (
    <form
      className="compose"
      onSubmit={(event) => {
        event.preventDefault();
        give(onSend);
      }}
    >
      <div>
        <textarea
          ref={field}
          rows={1}
          aria-label="Message"
          placeholder={placeholder}
          disabled={disabled}
          value={text}
          onChange={(event) => write(event.target.value)}
          onKeyDown={keyDown}
        />
        {onStop && (
          <button type="button" className="send stop" aria-label="Stop the run" title="Stop the run, on all devices" onClick={onStop}>
            <StopIcon />
          </button>
        )}
        {(!onStop || !empty) && (
          <button type="submit" className="send" aria-label="Send" disabled={disabled || empty}>
            <Icon name="send" />
          </button>
        )}
      </div>
      <p>
        <span>{note}</span>
        {onWithdraw && !empty ? (
          <button type="button" className="link" onClick={() => give(onWithdraw)}>
            Withdraw the cards and send
          </button>
        ) : (
          <span className="hint">Enter sends</span>
        )}
      </p>
    </form>
  );
}
