import { COMMANDS, STATES, type Command, type State, type Tally } from "./tally.js";

// What `npm run model` prints of what was done.

/** How often each pair must have been tried. */
const LEAST = 100;

/** Commands that name no card: they are about the newest one, so they never meet a card that there is not. */
const ABOUT_NONE: ReadonlySet<Command> = new Set(["ask", "expire", "cancel", "withdraw", "evict", "clock jump"]);
const isPossible = (state: State, command: Command): boolean => state !== "no such card" || !ABOUT_NONE.has(command);

/** The table, and the pairs that were tried too seldom. */
export function table(tally: Tally): { text: string; seldom: string[] } {
  const widths = COMMANDS.map((command) => Math.max(command.length, 7));
  const row = (name: string, cells: string[]): string => `  ${name.padEnd(13)}${cells.map((cell, n) => cell.padStart((widths[n] ?? 0) + 2)).join("")}`;
  const counts = STATES.map((state) => COMMANDS.map((command) => (isPossible(state, command) ? (tally.pairs[`${state} | ${command}`] ?? 0) : null)));
  const lines = [
    row("", [...COMMANDS]),
    ...STATES.map((state, n) =>
      row(
        state,
        (counts[n] ?? []).map((count) => (count === null ? "-" : String(count))),
      ),
    ),
  ];
  const seldom = STATES.flatMap((state, n) => COMMANDS.filter((_, m) => (counts[n]?.[m] ?? LEAST) < LEAST).map((command) => `${state} × ${command}`));
  const least = Math.min(...counts.flat().filter((count) => count !== null));
  lines.push(
    `  The least often tried pair: ${least}. Impossible (-): ${[...ABOUT_NONE].join(", ")} name no card, so they are about the newest one and never about one that there is not.`,
  );
  return { text: lines.join("\n"), seldom };
}

const listed = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");

/** What was answered, where processes died, and what deliveries met. */
export const details = ({ answers, deaths, retries }: Tally): string =>
  [`  Answers: ${listed(answers)}.`, `  Deaths: ${listed(deaths)}.`, `  Deliveries that went wrong: ${listed(retries)}.`].join("\n");
