import { abortAllDurableObjects } from "cloudflare:test";
import { expect, vi } from "vitest";
import { resetControl } from "../worker/entry.js";
import { migrateD1 } from "../worker/kit.js";
import { each } from "./each.js";
import { HONEST, type Entry } from "./honest.js";
import { Inside } from "./inside.js";
import { inputs } from "./inputs.js";

/** Throws a share of all inputs at one entry: the honest ones as they are, then the others. */
export async function fuzzEntry(entry: Entry, share: number): Promise<void> {
  await migrateD1();
  try {
    await fuzz(entry, share);
  } finally {
    vi.useRealTimers();
    vi.restoreAllMocks();
    resetControl();
    await abortAllDurableObjects();
  }
}

async function fuzz(entry: Entry, share: number): Promise<void> {
  const inside = new Inside();
  for (const honest of HONEST.filter((one) => one.entry === entry)) {
    await inside.anew();
    await inside.feed([honest]);
    expect([honest, inside.refusal]).toEqual([honest, undefined]);
  }
  await each(inputs(entry), share, async (some, now) => {
    // Frames of one person together, which the object then handles in one turn.
    const queue = some.toSorted((a, b) => (a.person < b.person ? -1 : Number(a.person > b.person)));
    try {
      while (queue.length > 0) queue.splice(0, await inside.feed(queue));
    } finally {
      if (inside.current) now(inside.current);
    }
  });
  vi.restoreAllMocks();
  console.info(`FUZZ ${entry}: ${JSON.stringify(inside.tally)}`);
  expect(inside.tally.inputs).toBeGreaterThan(2 * inside.tally.taken);
}
