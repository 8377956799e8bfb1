import { loadavg } from "node:os";
import type { Measure } from "../../bench/measure.ts";
import { Random } from "../simulate/random.ts";
import { openTalks, warmUp, type Talk } from "./conversations.ts";
import { heapOf, ISOLATES, profile, type Shares } from "./inspector.ts";
import type { Server } from "./server.ts";
import { steadily, type Window } from "./window.ts";

// The highest rate of approval cycles that holds, found by trying; what a conversation and a cycle cost; and what is
// busy at the limit.

const DECIDED_MS = 250;
/** A second that must hold. */
const LEAST = 20;
const WINDOW_S = 6;
/** The rate that was found must hold for longer. */
const HELD_S = 15;
const PROFILED_S = 6;
/** Rates closer to one another than this are one. */
const NEAR = 1.12;
const TOP_FUNCTIONS = 12;

export interface Asked {
  conversations: number;
  devices: number;
  seed: number;
  /** When trying must end, by `performance.now()`. */
  until: number;
}

/** As many were done as came, and 95 of 100 decisions were on all devices in time. */
const holds = ({ rate, decided, underWay }: Window): boolean => decided < DECIDED_MS && underWay < Math.max(5, rate);

export async function highestRate(server: Server, { conversations, devices, seed, until }: Asked): Promise<Measure[]> {
  const [empty, emptyHeap] = [server.memory(), await heapOf(server.inspector, ISOLATES.holdpoint)];
  const talks = await openTalks(server.url, conversations, devices);
  await warmUp(talks);
  const perTalk = (bytes: number): number => bytes / conversations / 1024;
  const [memory, heap] = [perTalk(server.memory() - empty), perTalk((await heapOf(server.inspector, ISOLATES.holdpoint)) - emptyHeap)];
  const found = await search(server, talks, new Random(seed), until);
  const limit = found?.rate ?? LEAST;
  const shares = await profile(server.inspector, server.worker, ISOLATES, () => steadily(server, talks, limit, PROFILED_S, new Random(seed + 1)).then(tell));
  shares.forEach(tellShares);
  await booksInOrder(server, talks);
  for (const talk of talks) talk.close();
  const told = (measure: string, ours: number, unit: string): Measure => ({ measure, ours, unit });
  return [
    { measure: `highest steady rate, ${conversations} conversations of ${devices} devices`, ours: found?.done ?? 0, unit: "cycles/s", target: LEAST, least: true },
    ...(found
      ? [
          { measure: "p95 decision → all devices at that rate", ours: found.decided, unit: "ms", target: DECIDED_MS },
          told("median decision → all devices at that rate", found.median, "ms"),
          told("p95 text → card at that rate", found.card, "ms"),
          told("p95 decision → answer finished at that rate", found.answered, "ms"),
          told("workerd's processor time for a cycle", found.cpuPerCycle, "ms"),
        ]
      : []),
    told("workerd's memory for a conversation with its devices", memory, "KiB"),
    told("of it JavaScript", heap, "KiB"),
  ];
}

/** Up by halves until a rate does not hold, then between the two. The last one that held for long, if any did. */
async function search(server: Server, talks: Talk[], random: Random, until: number): Promise<Window | null> {
  let [low, high, rate] = [0, Infinity, LEAST];
  while (high / low > NEAR && performance.now() < until) {
    const window = await steadily(server, talks, rate, WINDOW_S, random);
    tell(window);
    if (holds(window)) low = rate;
    else high = rate;
    // Nothing has held yet: less. Nothing has failed yet: more.
    rate = low === 0 ? high / 1.4 : high === Infinity ? low * 1.5 : (low + high) / 2;
    if (rate < 1) return null;
  }
  for (rate = low; rate >= 1; rate *= 0.9) {
    const window = await steadily(server, talks, rate, HELD_S, random);
    tell(window);
    if (holds(window)) return window;
  }
  return null;
}

function tell(window: Window): void {
  const rounded = Object.fromEntries(Object.entries(window).map(([name, value]) => [name, Math.round(value * 100) / 100]));
  console.log(JSON.stringify({ window: rounded, held: holds(window), load: Number(loadavg()[0]!.toFixed(2)) }));
}

function tellShares({ isolate, idle, functions }: Shares): void {
  const percent = (share: number): string => `${(share * 100).toFixed(1).padStart(5)} %`;
  console.log(`\nProfile of ${isolate} at that rate, time in a function without what it calls:`);
  console.log(`  ${percent(idle)}  idle`);
  for (const { name, share } of functions.slice(0, TOP_FUNCTIONS)) if (share >= 0.005) console.log(`  ${percent(share)}  ${name}`);
}

/** Every cycle has moved its money once: what was carried there and not yet back is missing here. */
async function booksInOrder(server: Server, talks: Talk[]): Promise<void> {
  const { accounts } = (await (await fetch(`${server.url}/api/ledger`)).json()) as { accounts: { id: string; balanceMinor: number }[] };
  const away = talks.filter(({ turns }) => turns % 2 === 1).length;
  const balance = accounts.find(({ id }) => id === "operations")?.balanceMinor;
  if (balance !== 1_284_050 - 10_001 * away) throw new Error(`Money moved otherwise than it was approved: operations has ${balance} cents, ${away} transfers are away.`);
}
