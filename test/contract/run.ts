import { expect } from "vitest";
import { OutcomeUnknown, ask } from "../../src/core/tool.js";
import { ANA, BEN } from "../kit/world.js";
import { propose, say, type Answer } from "../kit/model.js";
import { settled } from "../kit/clock.js";
import { makeTool } from "../kit/tools.js";
import { scenarios } from "./suite.js";

const { list, scenario } = scenarios();
export { list as runScenarios };

const pay = (amount = 500): ReturnType<typeof propose> => propose("pay", { to: "bob", amount });

/** A tool whose execution ends when the test says so. */
function gate(): { execute: () => Promise<unknown>; open: (result: unknown) => Promise<void>; fail: (error: Error) => Promise<void>; begun: () => number } {
  const waiting: { resolve: (value: unknown) => void; reject: (error: Error) => void }[] = [];
  let begun = 0;
  return {
    execute: () =>
      new Promise((resolve, reject) => {
        begun += 1;
        waiting.push({ resolve, reject });
      }),
    open: async (result) => (waiting.shift()?.resolve(result), settled()),
    fail: async (error) => (waiting.shift()?.reject(error), settled()),
    begun: () => begun,
  };
}

scenario("[H1] one transaction, one seq, one broadcast after it", async (world) => {
  world.model.then(say("Hello."));
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
  world.model.then(propose("erase", { path: "/" }));
  await world.text("erase");
  for (const tool of world.model.requests[0]!.tools) expect(Object.keys(tool).toSorted()).toEqual(["description", "inputSchema", "name"]);
  expect(world.runs).toEqual([]);
  expect(world.card(1).state).toBe("pending");
});

scenario("[H4] [C6] the intent survives the process at each place between card and answer", async (world) => {
  world.model.then(propose("set", { a: 1 }), { hang: true }, say("Set."));
  await world.text("set");
  world.restart();
  expect(world.status).toBe("suspended");
  world.engine.decide(BEN, [{ pausePointId: `${world.journal.conversation().id}.1`, decision: "approve" }]);
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
  world.model.then(propose("set", { a: 1 }));
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
  world.model.then(propose("erase", { path: "/" }), say("Erased."));
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
    world.model.then(propose("erase", { path: "/" }), say("I see."));
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
  world.model.then(propose("erase", { path: "/" }), say("I don't know."));
  await world.text("erase");
  await world.approve(1);
  world.restart();
  await settled();
  await world.text("never mind", ANA, { withdraw: true });
  expect(world.call(1, 0, 0).state).toBe("unknown");
  expect(world.model.lastResult()).toMatchObject({ outcome: "unknown", message: expect.stringContaining("nobody knows") });
});

scenario("[H7] [C15] approved, rejected and ungated siblings each have their own end, then one model call", async (world) => {
  world.model.then([...pay(1), ...pay(2), ...propose("look", { at: 1 })], say("Done."));
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
  world.model.then([...pay(1), ...propose("notify", { a: 1 })], say("Ok."), [...pay(2), ...propose("notify", { a: 2 }), ...propose("look", { b: 1 })], say("Ok."));
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
  world.model.then([...pay(1), ...pay(2)], say("Done."));
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
  world.model.then(Array.from({ length: 56 }, (_, n) => propose("set", { n })).flat(), say("Done."));
  await world.text("many");
  const id = world.journal.conversation().id;
  world.engine.decide(BEN, Array.from({ length: 56 }, (_, n) => ({ pausePointId: `${id}.${n + 1}`, decision: n % 2 ? "reject" : "approve" })));
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
  world.model.then(half, say("All of it."));
  await world.text("hi");
  expect(world.journal.run(1)).toMatchObject({ attempt: 1, step: 0 });
  world.restart();
  await settled();
  expect(world.flushes.map((flush) => [flush.attempt, flush.n])[0]).toEqual([1, 1]);
  expect(world.flushes.filter((flush) => flush.attempt === 2)[0]).toMatchObject({ n: 1, step: 0 });
  expect(world.transcript).toEqual(["hi", "All of it."]);
});

scenario("[H8] [H18] [C8] three attempts without progress end the run, saying so; progress begins the count anew", async (world) => {
  world.model.then({ hang: true }, { hang: true }, propose("look", {}), { hang: true }, { hang: true }, say("Done."));
  await world.text("hi");
  for (let crash = 0; crash < 4; crash += 1) {
    world.restart();
    await settled();
  }
  expect(world.status).toBe("completed");
  world.model.then({ hang: true }, { hang: true }, { hang: true }, say("never asked"));
  await world.text("again");
  for (let crash = 0; crash < 6; crash += 1) {
    world.restart();
    await settled();
  }
  expect(world.status).toBe("failed");
  expect(world.model.left).toBe(1);
  expect(world.transcript.at(-1)).toBe("[error]");
});

scenario("[H9] [C24] [C25] text typed while a card waits is queued, decides nothing, and is delivered at the next step", async (world) => {
  world.model.then(pay(), say("Paid, and noted."));
  await world.text("pay bob");
  for (const text of ["yes", "approved", "go ahead"]) await world.text(text, BEN);
  expect(world.card(1).state).toBe("pending");
  expect(world.runs).toEqual([]);
  expect(world.model.requests).toHaveLength(1);
  world.restart();
  expect(world.store.queued(0).map((row) => row.delivery)).toEqual(["queued", "queued", "queued"]);
  await world.approve(1);
  expect(world.model.requests).toHaveLength(2);
  expect(world.model.requests[1]!.messages.at(-1)).toMatchObject({ role: "user", content: [{ text: "yes" }, { text: "approved" }, { text: "go ahead" }] });
  expect(world.status).toBe("completed");
  expect(world.journal.run(1)).toMatchObject({ messageId: "m6", parentId: "u-4" });
  expect(world.transcript).toEqual(["pay bob", "yes", "approved", "go ahead", "Paid, and noted."]);
  expect(world.store.queued(0)).toEqual([]);
});

scenario("[H9] texts that wait when a run finishes start the next in the same transaction", async (world) => {
  const answer: Answer = async function* (request) {
    await new Promise((resolve) => world.clock.after(1000, () => resolve(request)));
    yield* say("First.");
  };
  world.model.then(answer, say("Second."));
  await world.text("one");
  await world.text("two");
  await world.clock.advance(1000);
  await settled();
  expect(world.journal.conversation().turn).toBe(2);
  expect(world.transcript).toEqual(["one", "First.", "two", "Second."]);
  expect(world.store.get("steps", 3, 0)).toMatchObject({ delivery: "sent", parentId: "m2" });
});

scenario("[H9] a run that is cancelled or fails leaves waiting texts in the transcript, unanswered", async (world) => {
  world.model.then(pay(), say("Hello again."));
  await world.text("pay");
  await world.text("are you there?");
  world.engine.cancel(ANA, { opId: "c", runId: "r1" });
  await settled();
  expect(world.store.userStep("u-2")).toMatchObject({ delivery: "unanswered" });
  expect(world.journal.conversation()).toMatchObject({ state: "idle", turn: 1, headId: "u-2" });
  await world.text("hello?");
  expect(world.model.requests[1]!.messages.at(-1)).toMatchObject({ role: "user", content: [{ text: "are you there?" }, { text: "hello?" }] });
});

scenario("[H22] [C26] withdraw-and-send cancels the cards, tells the model, and the run goes on with the text", async (world) => {
  world.model.then([...pay(1), ...pay(2)], say("Fine, no payment."));
  await world.text("pay");
  await world.text("stop, forget it", ANA, { withdraw: true });
  expect([world.card(1).state, world.card(2).state]).toEqual(["cancelled", "cancelled"]);
  expect(world.model.requests).toHaveLength(2);
  expect(world.model.lastResult()).toMatchObject({ outcome: "cancelled", message: expect.stringContaining("withdrawn") });
  expect(world.model.requests[1]!.messages.at(-1)).toMatchObject({ content: [{ text: "stop, forget it" }] });
  expect(world.runs).toEqual([]);
  expect(world.journal.conversation()).toMatchObject({ state: "idle", pausePointId: null });
});

scenario("[H10] [C40] a message id of an agent, of another person, or with another text is refused", async (world) => {
  world.model.then(say("Hi."));
  await world.text("hi");
  for (const [who, messageId, text] of [
    [ANA, "m2", "x"],
    [ANA, "m999", "x"],
    [BEN, "u-1", "hi"],
    [ANA, "u-1", "other"],
  ] as const) {
    expect(world.engine.send(who, { opId: null, messageId, text })).toMatchObject({ status: "rejected", code: "message_id_taken" });
  }
  expect(world.engine.send(ANA, { opId: "send-1", messageId: "u-1", text: "hi" }).status).toBe("duplicate");
  expect(world.engine.send(ANA, { opId: "send-1", messageId: "u-9", text: "hi" })).toMatchObject({ code: "op_reused" });
  expect(world.journal.conversation().turn).toBe(1);
});

scenario("[H13] [H14] [C27] every outcome gives the model one honest result, each another text", async (world) => {
  const told: string[] = [];
  const tool = (name: string, execute: () => Promise<unknown>): void => void world.tools.set(name, makeTool(world.runs, { name, execute, policy: () => ask({ expiresIn: "1m" }) }));
  tool("works", async () => "fine");
  tool("breaks", async () => Promise.reject(new Error("no such account")));
  tool("vague", async () => Promise.reject(new OutcomeUnknown("connection lost")));
  const one = async (proposed: ReturnType<typeof propose>, answer: (n: number) => Promise<unknown>): Promise<void> => {
    world.model.then(proposed, say("I see."));
    await world.text(`go ${told.length}`);
    await answer(world.journal.conversation().nextPausePoint - 1);
    await settled();
    told.push(JSON.stringify(world.model.lastResult()));
  };
  await one(propose("works", {}), (n) => world.approve(n));
  await one(propose("pay", { to: "bob", amount: 5 }), (n) => world.approve(n, { payloadOverride: { to: "bob", amount: 4 } }));
  await one(propose("works", { a: 1 }), (n) => world.reject(n));
  await one(propose("works", { a: 2 }), async () => (await world.clock.advance(60_000), world.engine.reconcile()));
  await one(propose("works", { a: 3 }), () => world.text("no", ANA, { withdraw: true }));
  await one(propose("breaks", {}), (n) => world.approve(n));
  await one(propose("vague", {}), async (n) => (await world.approve(n), await world.text("leave it", ANA, { withdraw: true })));
  await one(propose("nothing_like_it", {}), async () => {});
  await one(propose("pay", { to: "bob", amount: 666 }), async () => {});
  expect(new Set(told).size).toBe(told.length);
  for (const [place, word] of ["fine", "edited", "rejected", "expired", "withdrawn", "no such account", "nobody knows", "no tool named", "policy forbids"].entries()) expect(told[place]).toContain(word);
  expect(world.status).toBe("completed");
});

scenario("[H16] what happens is logged with ids, never with texts, payloads or replies", async (world) => {
  world.model.then(propose("pay", { to: "secret-payee", amount: 5 }), { throws: "secret-failure" });
  await world.text("secret-text");
  await world.approve(1, { reply: "secret-reply" });
  const logged = JSON.stringify(world.logs);
  expect(world.logs.map((line) => line.event)).toEqual(["pause_point.settled", "call.ended", "step.failed"]);
  expect(logged).toContain("r1-0-0");
  expect(logged).not.toContain("secret");
});

scenario("[H17] kicks while a model answers or a tool runs do not make a second driver", async (world) => {
  const slow = gate();
  const late: Answer = async function* () {
    await new Promise<void>((resolve) => void world.clock.after(1000, resolve));
    yield* propose("set", {});
  };
  world.tools.set("set", makeTool(world.runs, { name: "set", idempotent: true, execute: slow.execute }));
  world.model.then(late, say("Set."));
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
  world.model.then(stubborn);
  await world.text("hi");
  world.engine.cancel(ANA, { opId: "c", runId: "r1" });
  await settled();
  release();
  await settled();
  expect(world.transcript).toEqual(["hi", "Early ", "[cancelled]"]);
  expect(world.store.pausePointsFrom(1)).toEqual([]);
  expect(world.status).toBe("cancelled");
});

scenario("[H18] a model that stalls is given up, and the run ends saying so", async (world) => {
  world.model.then({ hang: true });
  await world.text("hi");
  await world.clock.advance(world.limits.modelStallMs - 1);
  expect(world.status).toBe("running");
  await world.clock.advance(1);
  await settled();
  expect(world.status).toBe("failed");
  expect(world.journal.run(1)?.detail).toContain("120 seconds");
});

scenario("[H18] [C34] a model that fails after some words leaves the words and the error, once", async (world) => {
  world.model.then({ throws: "The provider answered 500.", after: say("These words stay.") });
  await world.text("hi");
  expect(world.transcript).toEqual(["hi", "These words stay.", "[error]"]);
  expect(world.journal.run(1)).toMatchObject({ status: "failed", detail: "The provider answered 500." });
  await world.text("go on");
  expect(world.status).toBe("completed");
});

scenario("[H18] a run has at most 16 steps", async (world) => {
  for (let step = 0; step < 20; step += 1) world.model.then(propose("look", { step }));
  await world.text("look");
  expect(world.model.requests).toHaveLength(16);
  expect(world.journal.run(1)).toMatchObject({ status: "failed", stopReason: "step_limit" });
});

scenario("[H18] a tool that is out of time: failed when idempotent, a recovery card when not; a late end changes nothing", async (world) => {
  const slow = gate();
  world.tools.set("set", makeTool(world.runs, { name: "set", idempotent: true, timeoutMs: 1000, execute: slow.execute }));
  world.tools.set("erase", makeTool(world.runs, { name: "erase", timeoutMs: 2000, execute: slow.execute }));
  world.model.then([...propose("set", {}), ...propose("erase", {})], say("Hm."));
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
  world.model.then(propose("erase", {}), say("Hm."));
  await world.text("erase");
  await world.approve(1);
  expect(world.card(2)).toMatchObject({ kind: "recovery" });
  expect(world.status).toBe("suspended");
});

scenario("[H19] [C23] cancelling with a card open cancels the card, and the next message works", async (world) => {
  world.model.then(pay(), say("Hello."));
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
  world.model.then(propose("erase", {}), say("It did happen."));
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
  world.model.then(propose("erase", {}));
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
  world.model.then(propose("set", {}));
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
  world.model.then([...propose("set", { x: "x".repeat(room) }), ...propose("set", { x: "x".repeat(room + 1) })], say("Done."));
  await world.text("é".repeat(size / 2));
  expect(world.call(1, 0, 0).state).toBe("awaiting");
  expect(world.call(1, 0, 1)).toMatchObject({ state: "failed", cause: "invalid" });
  await world.approve(1);
  expect(world.status).toBe("completed");
  expect(world.model.lastResult()).toMatchObject({ outcome: "failed", message: expect.stringContaining("too large") });
});

scenario("[H20] [C59] a tool's result over the limit is cut with a note", async (world) => {
  const limit = world.limits.toolResultBytes;
  world.tools.set("look", makeTool(world.runs, { name: "look", policy: () => ({ verdict: "allow" }), execute: async (input) => "x".repeat((input as { n: number }).n) }));
  world.model.then([...propose("look", { n: limit - 2 }), ...propose("look", { n: limit - 1 })], say("Done."));
  await world.text("look");
  expect(world.call(1, 0, 0).output).toHaveLength(limit);
  const cut = world.call(1, 0, 1).output ?? "";
  expect(cut.length).toBeLessThanOrEqual(limit);
  expect(JSON.parse(cut)).toMatchObject({ note: expect.stringContaining("was cut") });
});

scenario("[H20] a step over 1 MiB is cut, kept so far, and said", async (world) => {
  world.limits.stepBytes = 1000;
  world.model.then(say("word ".repeat(500)));
  await world.text("hi");
  expect(world.status).toBe("failed");
  expect(world.transcript.at(-1)).toBe("[error]");
  expect(world.transcript.at(-2)?.length).toBeGreaterThan(10);
});

scenario("[H18] an answer of nothing is said, and the conversation stays usable", async (world) => {
  world.model.then([], say("Here I am."));
  await world.text("hi");
  expect(world.journal.run(1)).toMatchObject({ status: "failed", detail: expect.stringContaining("empty") });
  await world.text("hi again");
  expect(world.status).toBe("completed");
});

scenario("[H14] a long conversation is cut at a person's turn, newest first, with calls still paired", async (world) => {
  world.limits.contextTokens = 600;
  for (let turn = 0; turn < 8; turn += 1) {
    world.model.then(propose("look", { turn, pad: "x".repeat(200) }), say("word ".repeat(40)));
    await world.text(`turn ${turn}`);
  }
  const last = world.model.requests.at(-1)!.messages;
  expect(last[0]).toMatchObject({ role: "user" });
  expect(JSON.stringify(last)).toContain("turn 7");
  expect(JSON.stringify(last)).not.toContain("turn 0");
});
