/** In what state a command finds the card that it is about. */
export const STATES = ["no card yet", "no such card", "pending", "replaced", "recovery", "overdue", "approved", "rejected", "expired", "cancelled"] as const;
export type State = (typeof STATES)[number];

export const COMMANDS = ["ask", "decide", "edit", "reject", "expire", "cancel", "withdraw", "crash", "evict", "duplicate", "reorder", "outbox retry", "clock jump"] as const;
export type Command = (typeof COMMANDS)[number];

/** What was done in how many sequences, for the table. */
export class Tally {
  sequences = 0;
  commands = 0;
  readonly pairs: Record<string, number> = {};
  readonly answers: Record<string, number> = {};
  readonly deaths: Record<string, number> = {};
  readonly retries: Record<string, number> = {};

  count(state: State, command: Command): void {
    this.commands += 1;
    add(this.pairs, `${state} | ${command}`);
  }

  answered = (answer: string): void => add(this.answers, answer);
  died = (where: string): void => add(this.deaths, where);
  retried = (fault: string): void => add(this.retries, fault);
}

const add = (counts: Record<string, number>, key: string, by = 1): void => void (counts[key] = (counts[key] ?? 0) + by);

/** The sums of several. */
export function summed(tallies: Tally[]): Tally {
  const sum = new Tally();
  for (const tally of tallies) {
    sum.sequences += tally.sequences;
    sum.commands += tally.commands;
    for (const kind of ["pairs", "answers", "deaths", "retries"] as const) for (const [key, by] of Object.entries(tally[kind])) add(sum[kind], key, by);
  }
  return sum;
}
