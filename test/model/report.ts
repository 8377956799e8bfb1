import { COMMANDS, STATES, type Command, type State, type Tally } from "./tally.js";

// What `npm run model` prints of what was done.

/** How often each pair must have been tried. */
const LEAST = 100;

const ABOUT_NONE = "names no card, so it finds the newest one";
/** Pairs that there can't be, and why. */
const IMPOSSIBLE: Partial<Record<State, Partial<Record<Command, string>>>> = {
  "no such card": { ask: ABOUT_NONE, expire: ABOUT_NONE, cancel: ABOUT_NONE, withdraw: ABOUT_NONE, evict: ABOUT_NONE, "clock jump": ABOUT_NONE },
};

/** The table, and the pairs that were tried too seldom. */
export function table(tally: Tally): { text: string; seldom: string[] } {
  const widths = COMMANDS.map((command) => Math.max(command.length, 7));
  const row = (name: string, cells: string[]): string => `  ${name.padEnd(13)}${cells.map((cell, n) => cell.padStart((widths[n] ?? 0) + 2)).join("")}`;
  const counts = STATES.map((state) => COMMANDS.map((command) => (IMPOSSIBLE[state]?.[command] === undefined ? (tally.pairs[`${state} | ${command}`] ?? 0) : null)));
  const lines = [row("", [...COMMANDS]), ...STATES.map((state, n) => row(state, (counts[n] ?? []).map((count) => (count === null ? "-" : String(count)))))];
  const seldom = STATES.flatMap((state, n) => COMMANDS.filter((_, m) => (counts[n]?.[m] ?? LEAST) < LEAST).map((command) => `${state} × ${command}`));
  const least = Math.min(...counts.flat().filter((count) => count !== null));
  const reasons = STATES.flatMap((state) => Object.entries(IMPOSSIBLE[state] ?? {}).map(([command, reason]) => `${state} × ${command}: ${reason}`));
  return { text: [...lines, `  The least often tried pair: ${least}. Impossible (-): ${reasons.join("; ")}.`].join("\n"), seldom };
}

const listed = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");

/** What was answered, where processes died, and what deliveries met. */
export const details = ({ answers, deaths, retries }: Tally): string =>
  [`  Answers: ${listed(answers)}.`, `  Deaths: ${listed(deaths)}.`, `  Deliveries that went wrong: ${listed(retries)}.`].join("\n");
