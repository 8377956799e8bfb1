import { expect } from "vitest";
import { ANA, BEN } from "../kit/world.js";
import { propose, say, type Answer } from "../kit/model.js";
import { settled } from "../kit/clock.js";
import { gate } from "../kit/gate.js";
import { makeTool } from "../kit/tools.js";
import { scenarios } from "./suite.js";

const { list, scenario } = scenarios();
export { list as runScenarios };

const pay = (amount = 500): ReturnType<typeof propose> => propose("pay", { to: "bob", amount });

scenario("[H1] one transaction, one seq, one broadcast after it", async (world) => {
  world.model.plan(say("Hello."));
  await world.text("hi");
  const seqs = world.changes.map((change) => change.seq);
  expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
  expect(new Set(seqs).size).toBe(seqs.length);
  expect(world.journal.conversation().seq).toBe(seqs.at(-1));
});

scenario("[H1] a transaction that throws changes nothing and says nothing", async (world) => {
  const before = JSON.stringify(world.journal.conversation());
  const said = world.changes.length;
  expect(() =>
    world.journal.transaction("broken", (tx) => {
      tx.patchConversation({ title: "x" });
      tx.putMember("eve", "owner", false);
      throw new Error("broken");
    }),
  ).toThrow("broken");
  expect(JSON.stringify(world.journal.conversation())).toBe(before);
  expect(world.store.get("members", "eve")).toBeNull();
  expect(world.changes).toHaveLength(said);
});

scenario("[H2] the model is given tools without execute, and never sees one run ungated", async (world) => {
  world.model.plan(propose("erase", { path: "/" }));
  await world.text("erase");
  for (const tool of world.model.requests[0]!.tools) expect(Object.keys(tool).toSorted()).toEqual(["description", "inputSchema", "name"]);
  expect(world.runs).toEqual([]);
  expect(world.card(1).state).toBe("pending");
});

scenario("[H4] [C6] the intent survives the process at each place between card and answer", async (world) => {
  world.model.plan(propose("set", { a: 1 }), { hang: true }, say("Set."));
  await world.text("set");
  world.restart();
  expect(world.status).toBe("suspended");
  // The process dies with the commit of the decision.
  const dies = (): never => {
    throw new Error("dead");
  };
  world.journal.events = { ...world.journal.events, committed: dies, untold: dies };
  expect(() => world.engine.decide(BEN, [{ pausePointId: `${world.journal.conversation().id}.1`, decision: "approve" }])).toThrow("dead");
  expect(world.runs).toHaveLength(0);
  world.restart();
  await settled();
  expect(world.runs).toHaveLength(1);
  world.restart();
  await settled();
  expect(world.status).toBe("completed");
  expect(world.transcript).toEqual(["set", "Set."]);
  expect(world.runs).toHaveLength(1);
});

scenario("[H5] an idempotent call found started is tried again with the same key, three times at most", async (world) => {
  world.tools.set("set", makeTool(world.runs, { name: "set", idempotent: true, execute: () => new Promise(() => {}) }));
  world.model.plan(propose("set", { a: 1 }));
  await world.text("set");
  await world.approve(1);
  for (let crash = 0; crash < 5; crash += 1) {
    world.restart();
    await settled();
  }
  expect(world.runs).toHaveLength(3);
  expect(new Set(world.runs.map((run) => run.key)).size).toBe(1);
  expect(world.call(1, 0, 0)).toMatchObject({ state: "unknown", cause: "interrupted" });
  expect(world.status).toBe("failed");
  expect(world.transcript.at(-1)).toBe("[error]");
});

scenario("[H5] [C6] any other call found started gets a recovery card, and runs again only when a person says so", async (world) => {
  const first = gate();
  world.tools.set("erase", makeTool(world.runs, { name: "erase", execute: first.execute }));
  world.model.plan(propose("erase", { path: "/" }), say("Erased."));
  await world.text("erase");
  await world.approve(1);
  world.restart();
  await settled();
  expect(world.runs).toHaveLength(1);
  expect(world.card(2)).toMatchObject({ kind: "recovery", state: "pending", expiresAt: null, options: JSON.stringify(["retry", "happened", "did_not_happen"]) });
  expect(world.card(2).description).toContain(new Date(world.call(1, 0, 0).startedAt ?? 0).toISOString());
  expect((await world.approve(2)).code).toBe("invalid");
  await world.approve(2, { choice: "retry" });
  expect(world.runs).toHaveLength(2);
  await first.open("too late"); // the dead process's own try
  await first.open("erased");
  expect(world.status).toBe("completed");
  expect(world.model.lastResult()).toMatchObject({ outcome: "succeeded", result: "erased" });
});

for (const [choice, outcome, state] of [
  ["happened", "succeeded", "succeeded"],
  ["did_not_happen", "failed", "failed"],
] as const) {
  scenario(`[H5] a person who looked says ${choice}, with words for the model`, async (world) => {
    world.tools.set("erase", makeTool(world.runs, { name: "erase", execute: () => new Promise(() => {}) }));
    world.model.plan(propose("erase", { path: "/" }), say("I see."));
    await world.text("erase");
    await world.approve(1);
    world.restart();
    await settled();
    await world.approve(2, { choice, reply: "I looked." });
    expect(world.call(1, 0, 0)).toMatchObject({ state, cause: "told" });
    expect(world.model.lastResult()).toMatchObject({ outcome, decision: { by: "ben", reply: "I looked." } });
    expect(world.runs).toHaveLength(1);
  });
}

scenario("[H5] a recovery card that is cancelled leaves the call unknown", async (world) => {
  world.tools.set("erase", makeTool(world.runs, { name: "erase", execute: () => new Promise(() => {}) }));
  world.model.plan(propose("erase", { path: "/" }), say("I don't know."));
  await world.text("erase");
  await world.approve(1);
  world.restart();
  await settled();
  await world.text("never mind", ANA, { withdraw: true });
  expect(world.call(1, 0, 0).state).toBe("unknown");
  expect(world.model.lastResult()).toMatchObject({ outcome: "unknown", message: expect.stringContaining("nobody knows") });
});

scenario("[H7] [C15] approved, rejected and ungated siblings each have their own end, then one model call", async (world) => {
  world.model.plan([...pay(1), ...pay(2), ...propose("look", { at: 1 })], say("Done."));
  await world.text("three");
  expect(world.runs.map((run) => run.tool)).toEqual(["look"]);
  await world.reject(2);
  expect(world.model.requests).toHaveLength(1);
  await world.approve(1);
  expect(world.model.requests).toHaveLength(2);
  const results = world.model.requests[1]!.messages.flatMap((message) => (message.role === "tool" ? message.content : []));
  expect(results).toMatchObject([{ output: { value: { outcome: "succeeded" } } }, { output: { value: { outcome: "rejected" } } }, { output: { value: { did: { at: 1 } } } }]);
});

scenario("[H7] afterSiblings runs only when all calls before it succeeded", async (world) => {
  world.model.plan([...pay(1), ...propose("notify", { a: 1 })], say("Ok."), [...pay(2), ...propose("notify", { a: 2 }), ...propose("look", { b: 1 })], say("Ok."));
  await world.text("one");
  expect(world.runs).toEqual([]);
  await world.approve(1);
  expect(world.runs.map((run) => run.tool)).toEqual(["pay", "notify"]);
  await world.text("two");
  expect(world.runs.map((run) => run.tool)).toEqual(["pay", "notify", "look"]);
  await world.reject(2);
  expect(world.call(2, 0, 1)).toMatchObject({ state: "denied", cause: "siblings" });
  expect(world.model.lastResult("notify")).toMatchObject({ outcome: "denied", message: expect.stringContaining("calls before it") });
});

scenario("[H7] [C17] one of two cards answered: no model call and nothing at work; the second: exactly one", async (world) => {
  world.model.plan([...pay(1), ...pay(2)], say("Done."));
  await world.text("two");
  await world.approve(1);
  expect(world.status).toBe("suspended");
  expect(world.engine.busy).toBe(false);
  await world.clock.advance(3600_000);
  expect(world.model.requests).toHaveLength(1);
  await world.approve(2);
  expect(world.model.requests).toHaveLength(2);
});

scenario("[H7] [C18] 56 cards answered at once: 56 outcomes, one continuation", async (world) => {
  world.model.plan(Array.from({ length: 56 }, (_, n) => propose("set", { n })).flat(), say("Done."));
  await world.text("many");
  const id = world.journal.conversation().id;
  world.engine.decide(
    BEN,
    Array.from({ length: 56 }, (_, n) => ({ pausePointId: `${id}.${n + 1}`, decision: n % 2 ? "reject" : "approve" })),
  );
  await settled();
  expect(world.runs).toHaveLength(28);
  expect(world.model.requests).toHaveLength(2);
  expect(world.store.calls(1).every((call) => call.state === "succeeded" || call.state === "denied")).toBe(true);
});

scenario("[H8] a step interrupted in mid-stream is a new attempt, and no part appears twice", async (world) => {
  const half: Answer = async function* (request) {
    yield* say("Half of ").slice(0, 2);
    await new Promise((_, reject) => request.signal.addEventListener("abort", () => reject(new Error("dead"))));
  };
  world.model.plan(half, say("All of it."));
  await world.text("hi");
  expect(world.journal.run(1)).toMatchObject({ attempt: 1, step: 0 });
  world.restart();
  await settled();
  expect(world.flushes.map((flush) => [flush.attempt, flush.n])[0]).toEqual([1, 1]);
  expect(world.flushes.filter((flush) => flush.attempt === 2)[0]).toMatchObject({ n: 1, step: 0 });
  expect(world.transcript).toEqual(["hi", "All of it."]);
});

scenario("[H8] [H18] [C8] three attempts without progress end the run, saying so; progress begins the count anew", async (world) => {
  world.model.plan({ hang: true }, { hang: true }, propose("look", {}), { hang: true }, { hang: true }, say("Done."));
  await world.text("hi");
  for (let crash = 0; crash < 4; crash += 1) {
    world.restart();
    await settled();
  }
  expect(world.status).toBe("completed");
  world.model.plan({ hang: true }, { hang: true }, { hang: true }, say("never asked"));
  await world.text("again");
  for (let crash = 0; crash < 6; crash += 1) {
    world.restart();
    await settled();
  }
  expect(world.status).toBe("failed");
  expect(world.model.left).toBe(1);
  expect(world.transcript.at(-1)).toBe("[error]");
});

scenario("[H8] [H18] [C8] a run that makes progress is ended by no number of restarts", async (world) => {
  for (let step = 1; step <= 10; step += 1) world.model.plan({ hang: true }, propose("look", { step }));
  world.model.plan(say("Done."));
  await world.text("look ten times");
  for (let crash = 0; crash < 10; crash += 1) {
    world.restart();
    await settled();
  }
  expect(world.status).toBe("completed");
  expect(world.runs).toHaveLength(10);
  expect(world.journal.run(1)).toMatchObject({ attempt: 21, step: 11 });
});

scenario("[H17] kicks while a model answers or a tool runs do not make a second driver", async (world) => {
  const slow = gate();
  const late: Answer = async function* () {
    await new Promise<void>((resolve) => void world.clock.after(1000, resolve));
    yield* propose("set", {});
  };
  world.tools.set("set", makeTool(world.runs, { name: "set", idempotent: true, execute: slow.execute }));
  world.model.plan(late, say("Set."));
  world.engine.send(ANA, { opId: null, messageId: "x", text: "set" });
  for (let kick = 0; kick < 10; kick += 1) world.engine.kick();
  await settled();
  for (let kick = 0; kick < 10; kick += 1) world.engine.reconcile();
  await world.clock.advance(1000);
  world.engine.decide(BEN, [{ pausePointId: `${world.journal.conversation().id}.1`, decision: "approve" }]);
  for (let kick = 0; kick < 10; kick += 1) world.engine.kick();
  await settled();
  for (let kick = 0; kick < 10; kick += 1) world.engine.reconcile();
  await settled();
  expect(world.runs).toHaveLength(1);
  await slow.open("set");
  expect(world.status).toBe("completed");
  expect(world.model.requests).toHaveLength(2);
  expect(world.journal.run(1)?.attempt).toBe(2);
});

scenario("[H17] a step that ends after its run was cancelled changes nothing", async (world) => {
  let release = (): void => {};
  const stubborn: Answer = async function* () {
    yield* say("Early ").slice(0, 2);
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    yield* pay();
  };
  world.model.plan(stubborn);
  await world.text("hi");
  world.engine.cancel(ANA, { opId: "c", runId: "r1" });
  await settled();
  release();
  await settled();
  expect(world.transcript).toEqual(["hi", "Early ", "[cancelled]"]);
  expect(world.store.pausePointsFrom(1)).toEqual([]);
  expect(world.status).toBe("cancelled");
});
