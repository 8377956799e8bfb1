import { expect } from "vitest";
import { allow, ask } from "../../src/core/tool.js";
import { ANA, BEN, CONVERSATION } from "../kit/world.js";
import { settled } from "../kit/clock.js";
import { propose, say } from "../kit/model.js";
import { makeTool } from "../kit/tools.js";
import { scenarios } from "./suite.js";

// What a review found, by trying to break it.

const { list, scenario } = scenarios();
export { list as edgeScenarios };

const pay = (amount = 500): ReturnType<typeof propose> => propose("pay", { to: "bob", amount });

scenario("[H22] a withdraw that the queue has no room for withdraws nothing", async (world) => {
  world.limits.queuedTexts = 1;
  world.model.plan(pay());
  await world.text("pay");
  await world.text("and this");
  expect(world.engine.send(ANA, { opId: "x", messageId: "x", text: "stop", withdraw: true }).code).toBe("queue_full");
  await settled();
  expect([world.card(1).state, world.status, world.engine.busy]).toEqual(["pending", "suspended", false]);
});

scenario("[H19] [H17] a run that is cancelled before its model was called never calls it, and the next run is not held up", async (world) => {
  const held: (() => void)[] = [];
  const go = async (): Promise<void> => {
    for (const release of held.splice(0)) release();
    await settled();
  };
  world.clock.breathe = () => new Promise<void>((resolve) => void held.push(resolve));
  world.model.plan(say("second"));
  await world.text("first");
  expect(held).toHaveLength(1);
  expect(world.journal.run(1)).toMatchObject({ attempt: 1 });
  world.engine.cancel(ANA, { opId: null, runId: "r1" });
  await go();
  expect(world.model.requests).toEqual([]);
  await world.text("again");
  for (let turn = 0; turn < 5; turn += 1) await go();
  expect(world.status).toBe("completed");
  expect(world.transcript.at(-1)).toBe("second");
});

scenario("[H3] the same rejection again is the same, whatever choice came with it", async (world) => {
  world.model.plan(pay());
  await world.text("pay");
  expect((await world.reject(1, { choice: "no" })).code).toBe("decided");
  expect((await world.reject(1, { choice: "no" })).code).toBe("same");
});

scenario("[H12] [C55] an override that needs a new decision does not get it from its own repetition", async (world) => {
  world.model.plan(pay());
  await world.text("pay");
  const override = { pausePointId: `${CONVERSATION}.1`, decision: "approve", payloadOverride: { to: "bob", amount: 5000 } } as const;
  expect(world.engine.decide(BEN, [override, override]).map((outcome) => outcome.code)).toEqual(["changed", "changed"]);
  await settled();
  expect(world.engine.decide(BEN, [override]).map((outcome) => outcome.code)).toEqual(["changed"]);
  expect(world.runs).toEqual([]);
  expect((await world.approve(1, { version: 2 })).code).toBe("decided");
});

for (const key of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
  scenario(`[H14] [C12] a field named ${key} in an override is a field like any other`, async (world) => {
    world.model.plan(propose("erase", { a: 1 }), say("Done."), say("Still fine."));
    await world.text("erase");
    await world.approve(1, { payloadOverride: JSON.parse(`{"a":1,${JSON.stringify(key)}:"x"}`) });
    expect([world.status, world.transcript.at(-1)]).toEqual(["completed", "Done."]);
    await world.text("and now?");
    expect(world.transcript.at(-1)).toBe("Still fine.");
  });
}

scenario("[H5] [C57] a tool that can't say whether it is idempotent is taken for one that is not", async (world) => {
  const hangs = makeTool(world.runs, { name: "erase", policy: allow, execute: () => new Promise(() => {}) });
  world.tools.set("erase", {
    ...hangs,
    idempotent: () => {
      throw new Error("schema changed");
    },
  });
  world.model.plan(propose("erase", {}));
  await world.text("erase");
  world.restart();
  await settled();
  expect(world.card(1)).toMatchObject({ kind: "recovery", state: "pending" });
  expect(world.status).toBe("suspended");
});

scenario("[H6] [C57] a schema that throws by now fails the approved call, and the run goes on", async (world) => {
  let broken = false;
  const tool = makeTool(world.runs, { name: "erase" });
  world.tools.set("erase", {
    ...tool,
    parse: (value) => {
      if (broken) throw new Error("schema changed");
      return tool.parse(value);
    },
  });
  world.model.plan(propose("erase", {}), say("I see."));
  await world.text("erase");
  broken = true;
  expect((await world.approve(1, { payloadOverride: { a: 1 } })).code).toBe("invalid");
  await world.approve(1);
  expect(world.call(1, 0, 0)).toMatchObject({ state: "failed", cause: "changed" });
  expect(world.status).toBe("completed");
  expect(world.runs).toEqual([]);
});

scenario("[H18] a policy whose deadline can't be read asks all the same", async (world) => {
  world.tools.set("vote", makeTool(world.runs, { name: "vote", policy: () => ask({ expiresIn: "1 week" }) }));
  world.model.plan(propose("vote", {}));
  await world.text("vote");
  expect([world.status, world.model.requests.length]).toEqual(["suspended", 1]);
});

scenario("[H20] a step with more calls than a person could look through is refused whole", async (world) => {
  const calls = (count: number): ReturnType<typeof propose> => Array.from({ length: count }, (_, n) => propose("set", { n })).flat();
  world.model.plan(calls(world.limits.callsPerStep + 1), calls(world.limits.callsPerStep));
  await world.text("many");
  expect(world.journal.run(1)).toMatchObject({ status: "failed", detail: expect.stringContaining("more than 100 calls") });
  expect(world.store.calls(1)).toEqual([]);
  await world.text("fewer");
  expect(world.store.pausePointsFrom(1)).toHaveLength(world.limits.callsPerStep);
});

scenario("[H1] what was committed goes on, though telling of it fails", async (world) => {
  world.model.plan(propose("erase", { a: 1 }), say("Done."));
  await world.text("erase");
  world.journal.events.committed = () => {
    throw new Error("frame");
  };
  await world.approve(1);
  expect(world.runs).toHaveLength(1);
  expect(world.store.get("pausePoints", 2)).toBeNull();
  expect(world.status).toBe("completed");
  expect(world.logs.some((line) => line.event === "tell.failed")).toBe(true);
});
