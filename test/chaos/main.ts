import { join } from "node:path";
import { freePort } from "../../src/cli/server.ts";
import { Random } from "../simulate/random.js";
import { act } from "./activity.js";
import { check, quiet } from "./check.js";
import { World, type Paths } from "./world.js";

// Kills and looks, until as many kills as were asked for have been survived.

export type { Paths };

export interface Asked {
  seed: number;
  kills: number;
  minutes: number;
  worlds: number;
  points: string[];
}

/** How long people do things before a point that is not reached is given up for a kill at that moment. */
const ACTIVE_MS = 5_000;
const PAUSE_MS = 60;
const RANDOM = "at random";

interface Tally {
  kills: number;
  counted: Map<string, number>;
  inVain: Map<string, number>;
  states: Map<string, number>;
  quietMs: number[];
}

const add = (map: Map<string, number>, key: string): void => void map.set(key, (map.get(key) ?? 0) + 1);

/** True when every rule held. Prints a summary, or the seed, the point and what happened. */
export async function chaos(asked: Asked, paths: Paths, folder: string): Promise<boolean> {
  const began = Date.now();
  const until = began + asked.minutes * 60_000;
  const tally: Tally = { kills: 0, counted: new Map(), inVain: new Map(), states: new Map(), quietMs: [] };
  const worlds: World[] = [];
  for (let n = 0; n < asked.worlds; n += 1) worlds.push(new World(paths, join(folder, `world-${n}`), await freePort()));
  const alive = (): boolean => tally.kills < asked.kills && Date.now() < until && worlds.every(({ broken }) => broken.length === 0);
  await Promise.all(worlds.map((world, n) => lifeOf(world, new Random(asked.seed * 1000 + n), asked, tally, alive)));
  const broken = worlds.filter((world) => world.broken.length > 0);
  for (const world of broken) {
    console.error(`\nSeed ${asked.seed} broke: ${world.broken.join("\n  ")}\n\nWhat happened before:\n${world.timeline.slice(-60).join("\n")}`);
  }
  summary(asked, tally, Date.now() - began);
  return broken.length === 0 && tally.kills > 0;
}

async function lifeOf(world: World, random: Random, asked: Asked, tally: Tally, alive: () => boolean): Promise<void> {
  try {
    await world.serve();
    while (alive()) {
      const point = random.chance(0.2) ? RANDOM : leastHit(asked.points, tally, random);
      await liveUntilKilled(world, random, point, tally);
      await world.serve();
      // Sometimes what was begun dies again before it has come to rest.
      if (random.chance(0.15)) continue;
      tally.quietMs.push(await quiet(world));
      await check(world);
      world.readLog();
    }
  } catch (error) {
    world.break(error instanceof Error ? error.message : String(error));
  }
  await world.end();
}

function leastHit(points: string[], { counted, inVain }: Tally, random: Random): string {
  const tries = (point: string): number => (counted.get(point) ?? 0) + (inVain.get(point) ?? 0) * 0.5;
  const least = Math.min(...points.map(tries));
  return random.pick(points.filter((point) => tries(point) <= least + 0.5));
}

async function liveUntilKilled(world: World, random: Random, point: string, tally: Tally): Promise<void> {
  const wanted = /^(?:tx|tool|d1):(\w+)|^(alarm)/.exec(point);
  world.tell(`armed: ${point}`);
  // The point may be reached before the answer to this has left. One that was missed is taken at its first coming.
  const nth = tally.inVain.has(point) ? 1 : 1 + random.int(3);
  if (point !== RANDOM) void world.api("ana", "GET", `/chaos/arm?point=${point}&nth=${nth}`).catch(() => {});
  const giveUp = Date.now() + (point === RANDOM ? 100 + random.int(1500) : ACTIVE_MS);
  let reached: string | null = null;
  let doing: Promise<void> | null = null;
  // A request may hang at the armed point, so nobody waits for it. Without work in flight a kill would prove nothing.
  while (!(reached = world.readLog()) && (Date.now() < giveUp || !inFlight(world)) && Date.now() < giveUp + ACTIVE_MS) {
    doing ??= act(world, random, wanted?.[1] ?? wanted?.[2] ?? null).finally(() => (doing = null));
    await new Promise((resolve) => setTimeout(resolve, random.int(PAUSE_MS)));
  }
  const state = stateOf(world);
  const counts = reached !== null || inFlight(world);
  world.tell(`killed ${reached ?? RANDOM}, ${state}`);
  await world.kill();
  await doing;
  if (reached === null && point !== RANDOM) add(tally.inVain, point);
  if (!counts) return;
  tally.kills += 1;
  add(tally.counted, reached ?? RANDOM);
  add(tally.states, state);
}

const inFlight = (world: World): boolean =>
  world.devices().some(({ store }) => {
    const { sync, unacknowledged } = store.getSnapshot();
    return unacknowledged.length > 0 || sync.run?.status === "running";
  });

function stateOf(world: World): string {
  const states = new Set(world.devices().map(({ store }) => store.getSnapshot().sync.run?.status ?? "none"));
  const order = ["running", "suspended", "completed", "cancelled", "failed"] as const;
  return order.find((state) => states.has(state)) ?? "none";
}

function summary({ seed, points }: Asked, { kills, counted, states, quietMs }: Tally, tookMs: number): void {
  console.log(`\nSeed ${seed}: ${kills} kills in ${Math.round(tookMs / 1000)} s.`);
  console.log("\nKills by point:");
  for (const point of [...points, RANDOM]) console.log(`  ${String(counted.get(point) ?? 0).padStart(5)}  ${point}`);
  const least = Math.min(...points.map((point) => counted.get(point) ?? 0));
  console.log(`\nThe least often hit point was hit ${least} times.`);
  console.log(`\nBy the state of the run: ${[...states].map(([state, times]) => `${state} ${times}`).join(", ")}`);
  const sorted = quietMs.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  console.log(`Time to quiet after a restart: median ${at(0.5)} ms, p95 ${at(0.95)} ms, longest ${at(1)} ms (${sorted.length} looks).`);
}
