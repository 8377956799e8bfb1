import fc from "fast-check";
import { finish, steps, type Step } from "./moves.js";
import { Promised } from "./promise.js";
import { Tally } from "./tally.js";
import { World, type Disk } from "./world.js";

export interface Asked {
  seed: number;
  sequences: number;
  /** Of a sequence that broke, as it was printed. */
  path?: string;
  replayPath?: string;
}

export interface Checked {
  tally: Tally;
  /** Null when every sequence held. */
  broken: { seed: number; path: string | null; sequence: string; error: string } | null;
}

/** Commands of a sequence: from none to this many, so half of it on average. */
const MOST = 61;

/** Lives through sequences of the seed against the rows on a disk, and shrinks the first one that breaks. */
export async function check(disk: Disk, { seed, sequences, path, replayPath }: Asked): Promise<Checked> {
  const tally = new Tally();
  const commands = fc.commands<Promised, World, false>([steps(tally)], { maxCommands: MOST, size: "max", ...(replayPath === undefined ? {} : { replayPath }) });
  const property = fc.asyncProperty(commands, async (sequence) => {
    const promised = new Promised();
    const world = new World(disk);
    try {
      await world.rest();
      await fc.asyncModelRun(() => ({ model: promised, real: world }), sequence as Iterable<Step>);
      await finish(promised, world, tally);
      await disk.settle();
      tally.sequences += 1;
    } finally {
      world.abandon();
    }
  });
  const details = await fc.check(property, { seed, numRuns: sequences, ...(path === undefined ? {} : { path }) });
  if (!details.failed) return { tally, broken: null };
  const error = details.errorInstance;
  return {
    tally,
    broken: {
      seed,
      path: details.counterexamplePath,
      sequence: String(details.counterexample?.[0]),
      error: error instanceof Error ? (error.name === "Broken" ? error.message : (error.stack ?? error.message)) : String(error),
    },
  };
}
