import { expect } from "vitest";
import { OutcomeUnknown } from "../../src/core/tool.js";
import { ANA, BEN } from "../kit/world.js";
import { propose, say } from "../kit/model.js";
import { settled } from "../kit/clock.js";
import { gate } from "../kit/gate.js";
import { makeTool } from "../kit/tools.js";
import { scenarios } from "./suite.js";

const { list, scenario } = scenarios();
export { list as limitScenarios };

const pay = (amount = 500): ReturnType<typeof propose> => propose("pay", { to: "bob", amount });

scenario("[H18] a model that stalls is given up, and the run ends saying so", async (world) => {
  world.model.plan({ hang: true });
  await world.text("hi");
  await world.clock.advance(world.limits.modelStallMs - 1);
  expect(world.status).toBe("running");
  await world.clock.advance(1);
  await settled();
  expect(world.status).toBe("failed");
  expect(world.journal.run(1)?.detail).toContain("120 seconds");
});

scenario("[H18] [C34] a model that fails after some words leaves the words and the error, once", async (world) => {
  world.model.plan({ throws: "The provider answered 500.", after: say("These words stay.") });
  await world.text("hi");
  expect(world.transcript).toEqual(["hi", "These words stay.", "[error]"]);
  expect(world.journal.run(1)).toMatchObject({ status: "failed", detail: "The provider answered 500." });
  await world.text("go on");
  expect(world.status).toBe("completed");
});

scenario("[H18] a run has at most 16 steps", async (world) => {
  for (let step = 0; step < 20; step += 1) world.model.plan(propose("look", { step }));
  await world.text("look");
  expect(world.model.requests).toHaveLength(16);
  expect(world.journal.run(1)).toMatchObject({ status: "failed", stopReason: "step_limit" });
});

scenario("[H18] a tool that is out of time: failed when idempotent, a recovery card when not; a late end changes nothing", async (world) => {
  const slow = gate();
  world.tools.set("set", makeTool(world.runs, { name: "set", idempotent: true, timeoutMs: 1000, execute: slow.execute }));
  world.tools.set("erase", makeTool(world.runs, { name: "erase", timeoutMs: 2000, execute: slow.execute }));
  world.model.plan([...propose("set", {}), ...propose("erase", {})], say("Hm."));
  await world.text("both");
  await world.approve(1);
  await world.approve(2);
  await world.clock.advance(2000);
  await settled();
  expect(world.call(1, 0, 0)).toMatchObject({ state: "failed", cause: "timed_out" });
  expect(world.card(3)).toMatchObject({ kind: "recovery", state: "pending" });
  await slow.open("late");
  await slow.open("late");
  expect(world.call(1, 0, 0).state).toBe("failed");
  expect(world.call(1, 0, 1).state).toBe("awaiting");
});

scenario("[H18] a tool that can't tell what happened gets a recovery card", async (world) => {
  world.tools.set("erase", makeTool(world.runs, { name: "erase", execute: async () => Promise.reject(new OutcomeUnknown("lost")) }));
  world.model.plan(propose("erase", {}), say("Hm."));
  await world.text("erase");
  await world.approve(1);
  expect(world.card(2)).toMatchObject({ kind: "recovery" });
  expect(world.status).toBe("suspended");
});

scenario("[H19] [C23] cancelling with a card open cancels the card, and the next message works", async (world) => {
  world.model.plan(pay(), say("Hello."));
  await world.text("pay");
  expect(world.engine.cancel(BEN, { opId: "c", runId: "r1" }).status).toBe("applied");
  expect(world.engine.cancel(BEN, { opId: "c", runId: "r1" }).status).toBe("duplicate");
  expect(world.card(1).state).toBe("cancelled");
  expect(await world.approve(1)).toMatchObject({ code: "conflict" });
  await world.text("hi");
  expect(world.transcript.at(-1)).toBe("Hello.");
  expect(world.model.lastResult()).toMatchObject({ outcome: "cancelled" });
});

scenario("[H19] [C23] a cancelled tool gets the signal; its true end is recorded and told in the next run", async (world) => {
  let signal: AbortSignal | undefined;
  const slow = gate();
  world.tools.set("erase", makeTool(world.runs, { name: "erase", execute: (_, context) => ((signal = context.signal), slow.execute()) }));
  world.model.plan(propose("erase", {}), say("It did happen."));
  await world.text("erase");
  await world.approve(1);
  world.engine.cancel(ANA, { opId: "c", runId: "r1" });
  expect(signal?.aborted).toBe(true);
  expect(world.call(1, 0, 0).state).toBe("started");
  await slow.open("erased anyway");
  expect(world.call(1, 0, 0)).toMatchObject({ state: "succeeded", output: JSON.stringify("erased anyway") });
  await world.text("and?");
  expect(world.model.lastResult()).toMatchObject({ outcome: "succeeded", result: "erased anyway" });
  expect(world.journal.conversation().lingering).toBeNull();
});

scenario("[H19] a cancelled tool that has not ended after 10 s is unknown, without a card; a result that still comes is recorded", async (world) => {
  const slow = gate();
  world.tools.set("erase", makeTool(world.runs, { name: "erase", execute: slow.execute }));
  world.model.plan(propose("erase", {}));
  await world.text("erase");
  await world.approve(1);
  world.engine.cancel(ANA, { opId: "c", runId: "r1" });
  await world.clock.advance(9_999);
  expect(world.call(1, 0, 0).state).toBe("started");
  await world.clock.advance(1);
  expect(world.call(1, 0, 0)).toMatchObject({ state: "unknown", cause: "cancelled" });
  expect(world.store.pausePointsFrom(1)).toHaveLength(1);
  await slow.open("done after all");
  expect(world.call(1, 0, 0)).toMatchObject({ state: "succeeded" });
});

scenario("[H19] after a crash, a call of a cancelled run is unknown at once and is not run again", async (world) => {
  world.tools.set("set", makeTool(world.runs, { name: "set", idempotent: true, execute: () => new Promise(() => {}) }));
  world.model.plan(propose("set", {}));
  await world.text("set");
  await world.approve(1);
  world.engine.cancel(ANA, { opId: "c", runId: "r1" });
  world.restart();
  await settled();
  expect(world.call(1, 0, 0)).toMatchObject({ state: "unknown" });
  expect(world.runs).toHaveLength(1);
});

scenario("[H20] [C59] a user's text and a tool's input at the limit are taken, over it refused; the run goes on", async (world) => {
  const size = world.limits.userTextBytes;
  world.limits.contextTokens = 1_000_000;
  expect(world.engine.send(ANA, { opId: null, messageId: "a", text: "é".repeat(size / 2) + "x" })).toMatchObject({ status: "rejected", code: "too_large" });
  expect(world.engine.send(ANA, { opId: null, messageId: "a", text: " \n" })).toMatchObject({ code: "empty" });
  const overhead = JSON.stringify({ x: "" }).length;
  const room = world.limits.toolInputBytes - overhead;
  world.model.plan([...propose("set", { x: "x".repeat(room) }), ...propose("set", { x: "x".repeat(room + 1) })], say("Done."));
  await world.text("é".repeat(size / 2));
  expect(world.call(1, 0, 0).state).toBe("awaiting");
  expect(world.call(1, 0, 1)).toMatchObject({ state: "failed", cause: "invalid" });
  await world.approve(1);
  expect(world.status).toBe("completed");
  expect(world.model.lastResult()).toMatchObject({ outcome: "failed", message: expect.stringContaining("too large") });
});

scenario("[H18] a driver that fails for a reason of its own ends the run after a few tries, and the next text works", async (world) => {
  world.model.plan(say("Hello again."));
  const { agent } = world;
  world.agent = () => {
    throw new Error("a skill that throws");
  };
  await world.text("hi");
  for (let tries = 0; tries < 5 && world.status === "running"; tries += 1) {
    world.engine.reconcile();
    await settled();
  }
  expect(world.status).toBe("failed");
  expect(world.transcript.at(-1)).toBe("[error]");
  expect(world.logs.filter(({ event }) => event === "driver.failed").length).toBeLessThanOrEqual(4);
  world.agent = agent;
  await world.text("again");
  expect(world.transcript.at(-1)).toBe("Hello again.");
});

scenario("[H20] [C59] a tool's result over the limit is cut with a note", async (world) => {
  const limit = world.limits.toolResultBytes;
  world.tools.set("look", makeTool(world.runs, { name: "look", policy: () => ({ verdict: "allow" }), execute: async (input) => "x".repeat((input as { n: number }).n) }));
  world.model.plan([...propose("look", { n: limit - 2 }), ...propose("look", { n: limit - 1 })], say("Done."));
  await world.text("look");
  expect(world.call(1, 0, 0).output).toHaveLength(limit);
  const cut = world.call(1, 0, 1).output ?? "";
  expect(cut.length).toBeLessThanOrEqual(limit);
  expect(JSON.parse(cut)).toMatchObject({ note: expect.stringContaining("was cut") });
});

scenario("[H20] a step over 1 MiB is cut, kept so far, and said", async (world) => {
  world.limits.stepBytes = 1000;
  world.model.plan(say("word ".repeat(500)));
  await world.text("hi");
  expect(world.status).toBe("failed");
  expect(world.transcript.at(-1)).toBe("[error]");
  expect(world.transcript.at(-2)?.length).toBeGreaterThan(10);
});

scenario("[H18] an answer of nothing is said, and the conversation stays usable", async (world) => {
  world.model.plan([], say("Here I am."));
  await world.text("hi");
  expect(world.journal.run(1)).toMatchObject({ status: "failed", detail: expect.stringContaining("empty") });
  await world.text("hi again");
  expect(world.status).toBe("completed");
});
