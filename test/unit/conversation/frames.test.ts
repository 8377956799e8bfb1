import { expect, it } from "vitest";
import { changeFrames, encode, page, welcome } from "../../../src/conversation/snapshot.js";
import { pageBefore } from "../../../src/conversation/pages.js";
import { MemoryStore } from "../../../src/core/memory-store.js";
import { propose, say } from "../../kit/model.js";
import { World } from "../../kit/world.js";

const YOU = { person: "ana", role: "owner" } as const;

/** A run of so many steps, each with text and calls whose inputs and results are large. */
async function longMessage(steps: number): Promise<World> {
  const world = new World(new MemoryStore());
  for (let step = 0; step < steps; step += 1)
    world.model.plan([...say("z".repeat(15_000)), ...[1, 2, 3].flatMap((call) => propose("look", { step, call, big: "y".repeat(12_000) }))]);
  return world;
}

it("[H20] [S1] as many cards as a step may have fit a welcome and a change", async () => {
  const world = new World(new MemoryStore());
  world.model.plan(Array.from({ length: world.limits.callsPerStep }, (_, n) => propose("set", { n, why: "x".repeat(10_000) })).flat());
  await world.text("many");
  const frame = welcome(world.journal, {}, YOU, [], null);
  expect(() => encode(frame)).not.toThrow();
  expect(frame.pausePoints).toHaveLength(world.limits.callsPerStep);
  for (const change of world.changes) for (const one of changeFrames(world.journal, change)) expect(() => encode(one)).not.toThrow();
});

it("[H20] a message larger than a page is alone on it, with every step, and its parts say what was cut", async () => {
  const world = await longMessage(14);
  await world.text("before");
  world.model.plan(say("after"));
  await world.text("after");
  const seen: string[] = [];
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const one = page(world.journal, before);
    expect(() => encode({ type: "page", opId: "p", ...one })).not.toThrow();
    seen.push(...one.messages.map((step) => `${step.position}:${step.step}`));
    if (!one.hasOlder) break;
    before = one.messages[0]!.position;
  }
  const all = world.store.stepsBefore(Number.MAX_SAFE_INTEGER, 1000).map((row) => `${row.position}:${row.step}`);
  expect(seen.toSorted()).toEqual(all.toSorted());
  expect(JSON.stringify(page(world.journal, 3).messages)).toContain('"cut":{');
});

it("[C59] an answer over HTTP has whole messages, none of them cut while it fits", async () => {
  const world = await longMessage(3);
  await world.text("go");
  const { steps, hasOlder } = pageBefore(world.journal, Number.MAX_SAFE_INTEGER, 2, 16 * 1024 * 1024);
  expect(steps.map((step) => step.step)).toEqual([0, 1, 2, 3]);
  expect(hasOlder).toBe(true);
  expect(JSON.stringify(steps)).not.toContain('"cut":{');
});

it("[S3] [H20] a device may join while a tool input of the largest size streams", async () => {
  const world = await longMessage(12);
  world.model.plan(async function* () {
    yield* propose("look", { big: "y".repeat(900_000) });
    await new Promise(() => {});
  });
  await world.text("go");
  const live = world.engine.live()!;
  expect(live).toHaveLength(1);
  for (const flush of world.flushes) expect(() => encode({ type: "delta", ...flush })).not.toThrow();
  expect(() => encode(welcome(world.journal, {}, YOU, [], { ...live[0]!, n: live[0]!.n - 1, chunks: [] }))).not.toThrow();
});
