import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { propose, say } from "../kit/model.js";
import { makeTool } from "../kit/tools.js";
import { until } from "../kit/until.js";
import { useScript } from "./chat-kit.js";
import { control } from "./entry.js";
import { Device, newConversation, stubOf } from "./kit.js";

// What dies, or hangs, under a tool or a model, once or again and again. One object that dies alone: test/e2e/hibernation.test.ts.

const script = useScript();

const tool = (name: string, idempotent: boolean, execute: () => Promise<unknown>): void =>
  void control.tools?.set(name, makeTool(script.runs, { name, idempotent, execute, policy: () => ({ verdict: "allow" }) }));

/**
 * A tool whose tries end once the test lets them, the first ones first. Each asks by its own object's clock, for one
 * object can't wake another; those of a dead object still run where the runtime lets them.
 */
function gate(): { execute: () => Promise<string>; begun: () => number; open: () => void } {
  let [begun, open] = [0, 0];
  return {
    execute: async () => {
      const mine = (begun += 1);
      while (open < mine) await scheduler.wait(1);
      return `try ${mine}`;
    },
    begun: () => begun,
    open: () => void (open += 1),
  };
}

/** A conversation whose run has begun. */
async function begun(): Promise<{ id: string; laptop: Device }> {
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  await laptop.say("go");
  return { id, laptop };
}

/** The object dies where it is, and its alarm makes another. */
async function dies(id: string): Promise<void> {
  await abortAllDurableObjects();
  await runDurableObjectAlarm(stubOf(id));
}

it("[H5] a tool that ends after its object died changes nothing: a person is asked, and what they say counts", async () => {
  const slow = gate();
  tool("erase", false, slow.execute);
  script.model.plan(propose("erase", {}), say("I see."));
  const { id } = await begun();
  await until(() => slow.begun() === 1);
  await dies(id);
  const again = await Device.connect(id, "ana", "again");
  const card = await again.card();
  expect(card).toMatchObject({ kind: "recovery", action: "erase" });
  slow.open();
  expect(again.cards.get(card.id)?.state).toBe("pending");
  expect((await again.decide(card, "approve", { choice: "did_not_happen" })).status).toBe("applied");
  await again.rest("completed");
  expect(JSON.stringify(script.model.lastResult("erase"))).not.toContain("try 1");
  expect(script.runs).toHaveLength(1);
});

it("[H5] the late end of an idempotent tool's first try does not overwrite its second, which has the same key", async () => {
  const slow = gate();
  tool("set", true, slow.execute);
  script.model.plan(propose("set", {}), say("Set."));
  const { id } = await begun();
  await until(() => slow.begun() === 1);
  await dies(id);
  await until(() => slow.begun() === 2);
  slow.open();
  slow.open();
  const again = await Device.connect(id, "ana", "again");
  await again.rest("completed");
  expect(script.model.lastResult("set")).toBe("try 2");
  expect(new Set(script.runs.map(({ key }) => key)).size).toBe(1);
});

it("[H18] [C8] an object that dies in each attempt ends its run after three, says so, and calls no script.model any more", async () => {
  script.model.plan({ hang: true }, { hang: true }, { hang: true });
  const { id } = await begun();
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    await until(() => script.model.requests.length === attempt);
    await dies(id);
  }
  const again = await Device.connect(id, "ana", "again");
  expect(await again.rest("failed")).toMatchObject({ stopReason: "error", detail: expect.stringContaining("interrupted 3 times") });
  await dies(id);
  await runDurableObjectAlarm(stubOf(id));
  expect([script.model.requests.length, script.model.left]).toEqual([3, 0]);
  const last = await Device.connect(id, "ana", "last");
  await last.say("hello?");
  await last.until(() => last.run?.runId === "r2" && last.run.status === "completed");
});

it("[H18] [C8] an object that dies in each try of an idempotent tool ends its run after three, and does not know what happened", async () => {
  const slow = gate();
  tool("set", true, slow.execute);
  script.model.plan(propose("set", {}));
  const { id } = await begun();
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    await until(() => slow.begun() === attempt);
    await dies(id);
  }
  const again = await Device.connect(id, "ana", "again");
  expect(await again.rest("failed")).toMatchObject({ detail: expect.stringContaining("Nobody knows whether it happened") });
  await dies(id);
  expect([slow.begun(), new Set(script.runs.map(({ key }) => key)).size]).toEqual([3, 1]);
});

it("[H18] [C8] ten deaths in a run that makes progress do not end it", async () => {
  for (let step = 0; step < 10; step += 1) script.model.plan({ hang: true }, propose("look", { step }));
  const { id } = await begun();
  for (let step = 0; step < 10; step += 1) {
    await until(() => script.model.requests.length === 2 * step + 1);
    await dies(id);
  }
  const again = await Device.connect(id, "ana", "again");
  await again.rest("completed");
  expect(script.runs.map(({ input }) => input)).toEqual(Array.from({ length: 10 }, (_, step) => ({ step })));
});

it("[H18] a script.model that stalls for ever and heeds no signal is given up: the run says so, its object rests, and the next text is answered", async () => {
  control.limits = { modelStallMs: 30 };
  script.model.plan(async function* () {
    yield* say("Half an answer");
    await new Promise(() => {});
  });
  const { id, laptop } = await begun();
  expect(await laptop.rest("failed")).toMatchObject({ stopReason: "error", detail: expect.stringContaining("sent nothing for") });
  expect(laptop.text).toContain("Half an answer");
  await until(async () => {
    await runDurableObjectAlarm(stubOf(id));
    return (await runInDurableObject(stubOf(id), (_, { storage }) => storage.getAlarm())) === null;
  });
  await laptop.say("hello?");
  await laptop.until(() => laptop.run?.runId === "r2" && laptop.run.status === "completed");
});
