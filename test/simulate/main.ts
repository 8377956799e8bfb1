import { SimulatedConversation, type Report } from "./conversation.js";

export interface Asked {
  seed: number;
  /** Ends after so many conversations, or so many minutes, whichever comes first. */
  conversations: number;
  minutes: number;
}

/** Lives through one conversation after another, from `seed` on. True when no rule was broken. */
export async function simulate({ seed: first, conversations, minutes }: Asked): Promise<boolean> {
  const begun = Date.now();
  const end = begun + minutes * 60_000;
  const sum: Report = { commands: 0, crashes: 0, effects: 0, decided: 0, batches: 0 };
  let lived = 0;
  for (; lived < conversations && Date.now() < end; lived += 1) {
    const seed = first + lived;
    const conversation = new SimulatedConversation(seed);
    try {
      await conversation.live();
    } catch (error) {
      await replay(seed);
      console.log(`\nBroken by seed ${seed}, after ${lived} conversations. Replay it with: npm run simulate -- --seed ${seed} --conversations 1`);
      console.log(error instanceof Error ? (error.name === "Violation" ? error.message : error.stack) : String(error));
      return false;
    }
    for (const key of Object.keys(sum) as (keyof Report)[]) sum[key] += conversation.report[key];
  }
  const seconds = Math.max(0.001, (Date.now() - begun) / 1000);
  console.log(
    `${lived} conversations from seed ${first} in ${seconds.toFixed(1)} s (${Math.round(lived / seconds)} a second): ${sum.commands} commands, ${sum.decided} decisions, ${sum.effects} effects, ${sum.batches} batches to D1, ${sum.crashes} crashes. No rule was broken.`,
  );
  return true;
}

export interface Found {
  seed: number;
  conversations: number;
  rule: string;
}

/** Lives until a rule is broken; null when none was in so many conversations. */
export async function search(first: number, conversations: number): Promise<Found | null> {
  for (let lived = 1; lived <= conversations; lived += 1) {
    const seed = first + lived - 1;
    try {
      await new SimulatedConversation(seed).live();
    } catch (error) {
      return { seed, conversations: lived, rule: error instanceof Error ? error.message : String(error) };
    }
  }
  return null;
}

/** The life of one seed, line by line. */
async function replay(seed: number): Promise<void> {
  const lines: string[] = [];
  await new SimulatedConversation(seed, (line) => void lines.push(line)).live().catch(() => {});
  console.log(lines.join("\n"));
}
