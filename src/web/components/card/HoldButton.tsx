import { useEffect, useRef, useState } from "react";

/** How long a dangerous approval is held. The same number draws the filling bar (`--m-hold`). */
export const HOLD_MS = 1_200;

/** Approves only when held down, by pointer or by Space; letting go stops it. */
export function HoldButton({ label, disabled, mayStart, onHeld }: { label: string; disabled: boolean; mayStart(): boolean; onHeld(): void }) {
  const [holding, setHolding] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const stop = () => {
    clearTimeout(timer.current);
    setHolding(false);
  };
  const start = () => {
    if (disabled || !mayStart()) return;
    clearTimeout(timer.current);
    setHolding(true);
    timer.current = setTimeout(() => {
      setHolding(false);
      onHeld();
    }, HOLD_MS);
  };
  useEffect(() => stop, []);
  useEffect(() => {
    if (disabled) stop();
  }, [disabled]);
  return (
    <button
      type="button"
      className={`btn solid btn-hold grow${holding ? " holding" : ""}`}
      aria-label={label}
      disabled={disabled}
      onPointerDown={(event) => {
        if (event.button === 0) start();
      }}
      onPointerUp={stop}
      onPointerLeave={stop}
      onPointerCancel={stop}
      onBlur={stop}
      onContextMenu={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        if (event.key !== " " && event.key !== "Enter") return;
        event.preventDefault();
        if (!event.repeat) start();
      }}
      onKeyUp={stop}
    >
      <svg className="ring" viewBox="0 0 16 16" aria-hidden="true">
        <circle className="bg" cx="8" cy="8" r="6.5" />
        <circle className="fg" cx="8" cy="8" r="6.5" pathLength="100" />
      </svg>
      {holding ? "Keep holding…" : label}
    </button>
  );
}
