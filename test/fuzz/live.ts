import fc from "fast-check";
import type { Input } from "./honest.js";
import { inputs } from "./inputs.js";
import { fault, Violation } from "./judge.js";
import { BATCH, Lane } from "./lane.js";
import { Line } from "./wire.js";

/** Conversations that are fuzzed side by side: their inputs follow from the seed and their number. */
const LANES = 8;

export interface Target {
  url: string;
  log(): string;
}

/** Throws inputs at a running server through real requests and sockets. Says how many of which kind. */
export async function live(server: Target, seed: number, count: number): Promise<Lane["tally"]> {
  const each = Math.ceil(count / LANES / BATCH) * BATCH;
  const lanes = Array.from({ length: LANES }, (_, n) => ({ lane: new Lane(server.url), all: sample(seed + n, each) }));
  const sum: Lane["tally"] = { http: 0, socket: 0, "chat socket": 0, taken: 0 };
  try {
    await Promise.all(
      lanes.map(async ({ lane, all }, n) => {
        for (let from = 0; from < all.length; from += BATCH) {
          const batch = all.slice(from, from + BATCH);
          await lane.feed(batch).catch((error: unknown) => {
            throw new Error(`Lane ${n} of seed ${seed} has a batch that broke a rule:\n${batch.map((input) => JSON.stringify(input)).join("\n")}\n${wordsOf(error)}`, {
              cause: error,
            });
          });
        }
      }),
    );
  } finally {
    for (const { lane } of lanes) {
      lane.end();
      for (const kind of Object.keys(sum) as (keyof typeof sum)[]) sum[kind] += lane.tally[kind];
    }
  }
  // wrangler's own tail of the log loses a request that its client has left; that says nothing about the Worker.
  const lines = server.log().split("\n");
  const line = fault(
    lines.filter((one) => !one.includes("this tail session was canceled")),
    /non-ASCII|Uncaught|✘|^\S+ \S+ 50\d/,
  );
  if (line) throw new Violation(`The server's log, of seed ${seed}, says: ${line}`);
  return sum;
}

const sample = (seed: number, count: number): Input[] =>
  fc.sample(fc.oneof({ weight: 5, arbitrary: inputs("http") }, { weight: 4, arbitrary: inputs("socket") }, { weight: 2, arbitrary: inputs("chat socket") }), {
    seed,
    numRuns: count,
  });

/** A thousand frames at once on one socket: how it and another one of the same conversation were closed. */
export async function flood({ url }: Target): Promise<{ flood: number | null; other: number | null }> {
  const made = (await (await fetch(`${url}/api/conversations`, { method: "POST", headers: { authorization: "Bearer local:ana" } })).json()) as { id: string };
  const lines = ["flood", "other"].map(() => new Line(url, `/api/conversations/${made.id}/socket`, "ana"));
  const [hostile, other] = lines as [Line, Line];
  for (const [n, line] of lines.entries()) {
    await line.open();
    line.send(JSON.stringify({ type: "hello", protocol: 1, device: { id: `${n}`, name: `${n}` } }));
    await line.until(() => line.frames.some(({ type }) => type === "welcome"));
  }
  for (let n = 0; n < 1000; n += 1) hostile.send("{");
  await hostile.until(() => false);
  other.send(JSON.stringify({ type: "older", opId: "still", before: "m0" }));
  await other.until(() => other.frames.some(({ opId }) => opId === "still"));
  const closed = { flood: hostile.closed, other: other.closed };
  other.close();
  return closed;
}

const wordsOf = (error: unknown): string => (error instanceof Error ? `${error.name}: ${error.message}` : String(error));
