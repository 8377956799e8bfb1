import { SimulatedConversation, type Report } from "./conversation.js";
import { installGlobals } from "./globals.js";

// What a thread does: it lives through one conversation after another.

export interface Asked {
  /** The first seed, and how far it is to the next one: threads share them out. */
  seed: number;
  step: number;
  /** Ends after so many conversations, or so many minutes, whichever comes first. */
  conversations: number;
  minutes: number;
}

export interface Lived {
  conversations: number;
  report: Report;
  /** The seed whose life broke a rule. */
  broken: { seed: number; rule: string } | null;
}

installGlobals();
// Most errors of a simulation are meant, and nobody reads where they come from.
Error.stackTraceLimit = 0;

/** Lives until a rule is broken, or there has been enough. */
export async function live({ seed: first, step, conversations, minutes }: Asked): Promise<Lived> {
  const end = Date.now() + minutes * 60_000;
  const lived: Lived = { conversations: 0, report: { commands: 0, crashes: 0, effects: 0, decided: 0, batches: 0 }, broken: null };
  while (lived.conversations < conversations && Date.now() < end && !lived.broken) {
    const seed = first + lived.conversations * step;
    const conversation = new SimulatedConversation(seed);
    try {
      await conversation.live();
    } catch (error) {
      lived.broken = { seed, rule: error instanceof Error ? (error.name === "Violation" ? error.message : String(error.stack)) : String(error) };
    }
    lived.conversations += 1;
    for (const key of Object.keys(lived.report) as (keyof Report)[]) lived.report[key] += conversation.report[key];
  }
  return lived;
}

/** The life of one seed, line by line. */
export async function replay(seed: number): Promise<string[]> {
  const lines: string[] = [];
  Error.stackTraceLimit = 20;
  await new SimulatedConversation(seed, (line) => void lines.push(line))
    .live()
    .catch((error: unknown) => void lines.push("", error instanceof Error ? String(error.stack) : String(error)));
  return lines;
}
