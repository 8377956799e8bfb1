const paths = {
  check: "M2.8 8.6l3.4 3.4L13.3 4.3",
  done: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 1 0 8 1.8M5 8.3l2.1 2.1L11 6.2",
  run: "M13.8 8A5.8 5.8 0 1 1 12 3.8M14 1.5v3.2h-3.2",
  x: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  fail: "M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3L1.5 10.7V5.3zM8 4.6v4M8 11.1v.1",
  expired: "M3.5 1.5h9M3.5 14.5h9M4.5 1.5v2.7L8 8l3.5-3.8V1.5M4.5 14.5v-2.7L8 8l3.5 3.8v2.7",
  ban: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 1 0 8 1.8M3.7 12.3l8.6-8.6",
  unknown:
    "M6.2 6.3a1.9 1.9 0 1 1 2.7 1.7c-.6.3-.9.6-.9 1.2M8 11.3v.1M8 1.7a6.3 6.3 0 0 1 3 .8M13.2 4.4a6.3 6.3 0 0 1 1 2.6M13.8 10.3a6.3 6.3 0 0 1-2 2.7M9.2 14.2a6.3 6.3 0 0 1-3 0M3.8 12.6a6.3 6.3 0 0 1-1.6-2.4M1.7 7.4a6.3 6.3 0 0 1 .9-2.7M4.6 2.7a6 6 0 0 1 .9-.5",
  clock: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 1 0 8 1.8M8 4.5V8l2.4 1.6",
  edit: "M10.8 2.5l2.7 2.7-8 8-3.3.6.6-3.3z",
  plus: "M8 3v10M3 8h10",
  send: "M8 13.5v-11M3.5 7L8 2.5 12.5 7",
  inbox: "M1.8 9.2L3.9 3h8.2l2.1 6.2V13H1.8zM1.8 9.2h3.7l1 1.8h3l1-1.8h3.7",
  right: "M6 3.5L10.5 8 6 12.5",
  left: "M10 3.5L5.5 8l4.5 4.5",
  down: "M3.5 6L8 10.5 12.5 6",
  up: "M3.5 10.5L8 6l4.5 4.5",
  laptop: "M3 3h10v7H3zM1.5 12.5h13",
  phone: "M4.5 1.5h7v13h-7zM7.2 12.3h1.6",
  list: "M5.5 4h8.5M5.5 8h8.5M5.5 12h8.5M2.3 4h.1M2.3 8h.1M2.3 12h.1",
  dots: "M3 8h.1M8 8h.1M13 8h.1",
  off: "M2 2l12 12M5.2 9.6a4 4 0 0 1 4.7-.8M3 7a7.5 7.5 0 0 1 3-1.8M8.8 4.9A7.5 7.5 0 0 1 13 7M8 12.5h.1",
  people: "M6 3a2.5 2.5 0 1 0 0 5 2.5 2.5 0 1 0 0-5M1.5 13.5c0-2.8 2-4.3 4.5-4.3s4.5 1.5 4.5 4.3M10.8 3.3a2.4 2.4 0 0 1 0 4.5M12.2 9.6c1.5.6 2.3 1.9 2.3 3.9",
  lock: "M3.5 7h9v7h-9zM5.5 7V4.5a2.5 2.5 0 0 1 5 0V7",
  panel: "M2 4h12M2 8h12M2 12h12",
  ledger: "M3 2h10v12H3zM5.5 5h5M5.5 8h5M5.5 11h2.5",
} as const;

export type IconName = keyof typeof paths;

const heavy = new Set<IconName>(["check", "x", "send", "dots", "fail"]);

/** A drawn sign beside a word; never the only carrier of a meaning. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="i" viewBox="0 0 16 16" aria-hidden="true" data-heavy={heavy.has(name) || undefined}>
      <path d={paths[name]} />
    </svg>
  );
}

/** The two bars and the point: something waits for a person. */
export function HoldIcon() {
  return (
    <svg className="i f" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M2 2h4v12H2zM10 2h4v12h-4z" />
      <circle cx="8" cy="8" r="2" />
    </svg>
  );
}

export function StopIcon() {
  return (
    <svg className="i f" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M3.5 3.5h9v9h-9z" />
    </svg>
  );
}

export function Mark({ size }: { size: number }) {
  return (
    <svg className="mark" viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
      <path d="M4 9l5-5h3v24H4zM20 4h8v24h-8z" />
      <circle cx="16" cy="16" r="5" />
    </svg>
  );
}
