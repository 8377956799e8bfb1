import { expect } from "vitest";
import { ANA, actor, type World } from "../kit/world.js";
import { propose, say } from "../kit/model.js";
import { settled } from "../kit/clock.js";
import { messageStepView } from "../../src/core/views.js";
import { getLocation } from "../../src/tools/get-location.js";
import { scenarios } from "./suite.js";

// Tools without `execute`: a device of the person answers.

const { list, scenario } = scenarios();
export { list as deviceToolScenarios };

const HERE = { latitude: 52.5, longitude: 13.4, accuracyMeters: 20 };
const locate = (): ReturnType<typeof propose> => propose("get_location", { reason: "for the weather" });
const pay = (): ReturnType<typeof propose> => propose("pay", { to: "bob", amount: 5 });

async function asked(world: World, ...proposals: ReturnType<typeof propose>[]): Promise<void> {
  world.tools.set(getLocation.name, getLocation);
  world.model.plan(proposals.flat(), say("Thanks."));
  await world.text("where am I");
}

scenario("[H5] a device's answer is the result: of the person that the call is for, and the first one only", async (world) => {
  await asked(world, locate());
  expect(world.card(1)).toMatchObject({ state: "pending", kind: "data_entry", forPerson: "ana", summary: "Share where you are: for the weather" });
  expect((await world.approve(1, { payloadOverride: HERE })).code).toBe("forbidden");
  expect((await world.decide(1, { decision: "approve", payloadOverride: HERE }, ANA)).code).toBe("decided");
  expect((await world.decide(1, { decision: "approve", payloadOverride: HERE }, actor("ana", "ana's phone"))).code).toBe("same");
  expect((await world.decide(1, { decision: "approve", payloadOverride: { ...HERE, latitude: 1 } }, actor("ana", "ana's phone"))).code).toBe("conflict");
  expect(world.model.lastResult("get_location")).toEqual({ outcome: "succeeded", result: HERE, decision: { by: "ana", device: "ana's laptop" } });
  expect(world.status).toBe("completed");
});

scenario("[H10] [H6] what a device answers must fit the tool's output schema, and is kept as that puts it out", async (world) => {
  await asked(world, locate());
  const answer = (payloadOverride?: object) => world.decide(1, { decision: "approve", ...(payloadOverride ? { payloadOverride: payloadOverride as never } : {}) }, ANA);
  expect((await answer()).faults).toMatchObject([{ path: ["payloadOverride"] }]);
  expect((await answer({ ...HERE, latitude: 1000 })).faults).toMatchObject([{ path: ["payloadOverride", "latitude"] }]);
  expect(world.card(1).state).toBe("pending");
  await answer({ ...HERE, secret: "x" });
  expect(world.call(1, 0, 0)).toMatchObject({ state: "succeeded", output: JSON.stringify(HERE) });
});

scenario("[H13] [H11] declined, expired and cancelled are told apart, and none is asked again in the run", async (world) => {
  await asked(world, locate(), pay());
  await world.decide(1, { decision: "reject", reply: "User denied Geolocation" }, ANA);
  await world.approve(2);
  expect(world.model.lastResult("get_location")).toMatchObject({
    outcome: "rejected",
    message: expect.stringContaining("did not give this"),
    decision: { reply: "User denied Geolocation" },
  });
  expect(world.runs).toHaveLength(1);
  world.model.plan(locate(), say("Nobody answered."));
  await world.text("try again");
  await world.clock.advance(60 * 60_000);
  world.engine.reconcile();
  await settled();
  expect(world.card(3).state).toBe("expired");
  expect(world.model.lastResult("get_location")).toMatchObject({ outcome: "expired" });
  world.model.plan(locate());
  await world.text("and again");
  world.engine.cancel(ANA, { opId: null, runId: "r3" });
  expect(world.card(4).state).toBe("cancelled");
});

scenario("[H4] [C28] it survives a restart, and a stock client finds a call that it may answer, without an approval", async (world) => {
  await asked(world, locate());
  world.restart();
  const part = (): object => messageStepView(world.store, "c", world.store.message(2)[0]!).parts.at(-1)!;
  expect(part()).toMatchObject({ type: "tool-get_location", state: "input-available", input: { reason: "for the weather" } });
  expect(part()).not.toHaveProperty("approval");
  await world.decide(1, { decision: "approve", payloadOverride: HERE }, ANA);
  expect(part()).toMatchObject({ state: "output-available", output: HERE });
  expect(part()).not.toHaveProperty("approval");
  expect(world.journal.conversation()).toMatchObject({ state: "idle" });
});

scenario("[C57] a tool that is gone while its question waits takes no answer, and can be declined", async (world) => {
  await asked(world, locate());
  world.tools.delete(getLocation.name);
  expect((await world.decide(1, { decision: "approve", payloadOverride: HERE }, ANA)).code).toBe("invalid");
  expect((await world.decide(1, { decision: "reject" }, ANA)).code).toBe("decided");
  expect(world.status).toBe("completed");
});

scenario("[H9] in RESUME_MODE=message a device's answer is a result, and ends no run", async (world) => {
  world.resume.mode = "message";
  await asked(world, locate());
  await world.decide(1, { decision: "approve", payloadOverride: HERE }, ANA);
  expect(world.journal.run(1)).toMatchObject({ status: "completed", stopReason: "finished" });
  expect(world.model.lastResult("get_location")).toMatchObject({ outcome: "succeeded", result: HERE });
});
