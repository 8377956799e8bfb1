import { expect } from "vitest";
import { ANA, BEN, VIC, actor, CONVERSATION } from "../kit/world.js";
import { propose, say } from "../kit/model.js";
import { settled } from "../kit/clock.js";
import { pausePointId } from "../../src/core/ids.js";
import { ask } from "../../src/core/tool.js";
import { makeTool } from "../kit/tools.js";
import { scenarios } from "./suite.js";

const { list, scenario } = scenarios();
export { list as decideScenarios };

const pay = (amount = 500): ReturnType<typeof propose> => propose("pay", { to: "bob", amount });

scenario("[H3] a decided pause point never changes", async (world) => {
  world.model.plan(pay(), say("Paid."));
  await world.text("pay bob");
  expect((await world.approve(1)).code).toBe("decided");
  const decided = world.card(1);
  for (const decision of ["approve", "reject"] as const) {
    await world.decide(1, { decision }, ANA);
    await world.decide(1, { decision, payloadOverride: { to: "eve", amount: 1 } }, ANA);
  }
  await world.clock.advance(48 * 3600_000);
  world.engine.reconcile();
  expect(world.card(1)).toEqual(decided);
  expect(world.runs).toHaveLength(1);
});

scenario("[H3] the one statement refuses a row that is settled, or is not the version that was judged", async (world) => {
  world.model.plan([...pay(1), ...pay(2)], say("Paid."));
  await world.text("pay");
  const stale = world.card(1);
  await world.approve(1);
  const settled = world.card(1);
  expect(world.journal.transaction("late", (tx) => tx.updatePausePoint(stale, { state: "rejected" }))).toBe(false);
  expect(world.card(1)).toEqual(settled);
  expect(world.journal.transaction("late", (tx) => tx.updatePausePoint({ ...world.card(2), version: 7 }, { state: "rejected" }))).toBe(false);
  expect(world.card(2).state).toBe("pending");
});

scenario("[H3] [C1] [C2] of many decisions in one tick one wins, and the others are told who", async (world) => {
  world.model.plan(pay(), say("Paid."));
  await world.text("pay bob");
  const outcomes = Array.from(
    { length: 10 },
    (_, place) =>
      world.engine.decide(actor(place % 2 ? "ana" : "ben"), [{ pausePointId: pausePointId(CONVERSATION, 1), version: 1, decision: place === 9 ? "reject" : "approve" }])[0]!,
  );
  await settled();
  expect(outcomes.map((outcome) => outcome.code)).toEqual(["decided", ...Array(8).fill("same"), "conflict"]);
  expect(outcomes[9]).toMatchObject({ row: { decidedBy: "ben", decidedDevice: "ben's laptop", decidedAt: world.card(1).decidedAt } });
  expect(world.runs).toHaveLength(1);
});

scenario("[C3] [C44] a late answer of the other kind changes nothing and starts nothing", async (world) => {
  world.model.plan(pay(), say("Paid."));
  await world.text("pay bob");
  await world.approve(1);
  const before = world.transcript;
  const requests = world.model.requests.length;
  expect((await world.reject(1, {})).code).toBe("conflict");
  await world.clock.advance(86_400_000);
  expect((await world.approve(1)).code).toBe("same");
  expect(world.transcript).toEqual(before);
  expect(world.model.requests).toHaveLength(requests);
});

scenario("[C4] the same decision twice in one batch is applied once", async (world) => {
  world.model.plan(pay(), say("Paid."));
  await world.text("pay bob");
  const one = { pausePointId: pausePointId(CONVERSATION, 1), decision: "approve" } as const;
  const outcomes = world.engine.decide(BEN, [one, one]);
  await settled();
  expect(outcomes.map((outcome) => outcome.code)).toEqual(["decided", "same"]);
  expect(world.runs).toHaveLength(1);
});

scenario("[C5] three more turns and a restart after an approved call do not run it again", async (world) => {
  world.model.plan(pay(), say("Paid."), say("One."), say("Two."), say("Three."));
  await world.text("pay bob");
  await world.approve(1);
  for (const text of ["a", "b", "c"]) await world.text(text);
  world.restart();
  await settled();
  expect(world.runs).toHaveLength(1);
});

scenario("[C10] [C11] three cards answered in the order 3, 1, 2 each run with their own input", async (world) => {
  world.model.plan([...pay(1), ...pay(2), ...pay(3)], say("Paid."));
  await world.text("pay thrice");
  for (const n of [3, 1, 2]) await world.approve(n);
  expect(world.runs.map((run) => (run.input as { amount: number }).amount)).toEqual([3, 1, 2]);
  expect(world.runs.map((run) => run.key)).toEqual([2, 0, 1].map((index) => `${CONVERSATION}.r1.0.${index}`));
  expect(world.model.requests).toHaveLength(2);
});

scenario("[C12] the model's own call ids may repeat and may be anything", async (world) => {
  const ids = ["call_1", "call_1", "constructor", "__proto__", "a::b", "x".repeat(300), "🙂", ""];
  world.model.plan(
    ids.flatMap((id, place) => propose("set", { place }, id)),
    say("Set."),
    propose("set", { place: 99 }, "call_1"),
    say("Again."),
  );
  await world.text("set all");
  for (const n of ids.keys()) await world.approve(n + 1);
  expect(world.runs.map((run) => (run.input as { place: number }).place)).toEqual([...ids.keys()]);
  await world.text("again");
  await world.approve(ids.length + 1);
  expect(world.runs.at(-1)?.input).toEqual({ place: 99 });
});

scenario("[C13] an old card's approval says how it ended and leaves the new card alone", async (world) => {
  world.model.plan(pay(1), pay(2));
  await world.text("pay");
  await world.reject(1);
  expect(await world.approve(1)).toMatchObject({ code: "conflict", row: { state: "rejected", decidedBy: "ben" } });
  expect(world.card(2).state).toBe("pending");
});

scenario("[C14] an unknown id and a foreign one get the same answer", async (world) => {
  world.model.plan(pay());
  await world.text("pay");
  const ids = [pausePointId(CONVERSATION, 99), `c_${"f".repeat(32)}.1`, "x", `${CONVERSATION}.1.1`, `${CONVERSATION}.0`];
  const outcomes = ids.map((id) => world.engine.decide(BEN, [{ pausePointId: id, decision: "approve" }])[0]);
  outcomes.push(world.engine.decide(actor("mallory"), [{ pausePointId: pausePointId(CONVERSATION, 1), decision: "approve" }])[0]);
  for (const outcome of outcomes) expect(outcome).toEqual({ code: "not_found", message: expect.any(String), row: null });
  expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1);
  expect(world.card(1).state).toBe("pending");
});

scenario("[C42] [H1] a viewer's every command is refused and changes nothing", async (world) => {
  world.model.plan(pay());
  await world.text("pay");
  const seq = world.journal.conversation().seq;
  expect((await world.decide(1, { decision: "approve" }, VIC)).code).toBe("forbidden");
  expect(world.engine.send(VIC, { opId: "o1", messageId: "x", text: "hi" }).code).toBe("forbidden");
  expect(world.engine.cancel(VIC, { opId: "o2", runId: "r1" }).code).toBe("forbidden");
  expect(world.engine.send(VIC, { opId: "o3", messageId: "x", text: "hi", withdraw: true }).code).toBe("forbidden");
  expect(world.journal.conversation().seq).toBe(seq);
});

scenario("[H11] [C21] past the deadline an approval is refused and the card expires, alarm or no alarm", async (world) => {
  world.model.plan(pay(), say("Nobody answered."));
  await world.text("pay");
  await world.clock.advance(world.limits.expiresInMs + 1);
  expect(await world.approve(1)).toMatchObject({ code: "expired", row: { state: "expired", decision: null, decidedBy: null } });
  expect(world.runs).toEqual([]);
  expect(world.model.lastResult()).toMatchObject({ outcome: "expired", message: expect.stringContaining("Nobody decided") });
  expect((await world.approve(1)).code).toBe("expired");
});

scenario("[H11] [C22] the clock expires a card once, though it be asked twice", async (world) => {
  world.model.plan(pay(), say("Nobody answered."));
  await world.text("pay");
  world.engine.reconcile();
  expect(world.card(1).state).toBe("pending");
  await world.clock.advance(world.limits.expiresInMs);
  world.engine.reconcile();
  world.engine.reconcile();
  await settled();
  expect(world.card(1)).toMatchObject({ state: "expired", version: 2 });
  expect(world.status).toBe("completed");
  expect(world.model.requests).toHaveLength(2);
});

scenario("[H11] with on_expiry halt the run ends instead of the next model call", async (world) => {
  world.tools.set("vote", makeTool(world.runs, { name: "vote", policy: () => ask({ expiresIn: "1m", onExpiry: "halt" }) }));
  world.model.plan([...propose("vote", { n: 1 }), ...pay()]);
  await world.text("vote");
  await world.clock.advance(60_000);
  world.engine.reconcile();
  await settled();
  expect(world.status).toBe("suspended");
  await world.approve(2);
  expect(world.status).toBe("completed");
  expect(world.transcript.at(-1)).toMatch(/^\[halted\]$/);
  expect(world.model.requests).toHaveLength(1);
  expect(world.runs).toHaveLength(1);
});

scenario("[H12] [C54] an edit runs as it was approved, keeps its types, and the model is told both", async (world) => {
  world.model.plan(pay(500), say("Paid 50."));
  await world.text("pay");
  await world.approve(1, { payloadOverride: { to: "bob", amount: 50, note: "9007199254740993" } });
  expect(world.runs[0]?.input).toEqual({ to: "bob", amount: 50, note: "9007199254740993" });
  expect(world.call(1, 0, 0).summary).toContain('"amount":50');
  expect(world.card(1)).toMatchObject({
    payload: JSON.stringify({ to: "bob", amount: 500, note: "none" }),
    payloadOverride: JSON.stringify({ to: "bob", amount: 50, note: "9007199254740993" }),
  });
  expect(world.model.lastResult()).toMatchObject({
    outcome: "succeeded",
    decision: {
      by: "ben",
      device: "ben's phone",
      edited: {
        proposed: { amount: 500 },
        approved: { amount: 50 },
        changed: [
          { path: "amount", from: 500, to: 50 },
          { path: "note", from: "none", to: "9007199254740993" },
        ],
      },
    },
  });
});

scenario("[H12] [C55] an override that breaks the schema, the policy, or the policy's code is refused and nothing is consumed", async (world) => {
  world.model.plan(pay(500));
  await world.text("pay");
  for (const [override, path] of [
    [{ to: "bob", amount: -1 }, ["payloadOverride", "amount"]],
    [{ to: "bob", amount: "50" }, ["payloadOverride", "amount"]],
    [{ amount: 5 }, ["payloadOverride", "to"]],
    [{ to: "bob", amount: 666 }, ["payloadOverride"]],
    [{ to: "bob", amount: 667 }, ["payloadOverride"]],
    [null, ["payloadOverride"]],
  ] as const) {
    expect(await world.approve(1, { payloadOverride: override })).toMatchObject({ code: "invalid", faults: [{ path }] });
  }
  expect(world.card(1)).toMatchObject({ state: "pending", version: 1 });
  expect((await world.approve(1, { choice: "yes" })).code).toBe("invalid");
  expect(world.runs).toEqual([]);
});

scenario("[H12] [C55] an override for which a stricter rule holds becomes the card, and needs a new decision", async (world) => {
  world.model.plan(pay(500), say("Paid."));
  await world.text("pay");
  const outcome = await world.approve(1, { version: 1, payloadOverride: { to: "bob", amount: 5000 } });
  expect(outcome).toMatchObject({ code: "changed", row: { state: "pending", version: 2, risk: "high", payload: JSON.stringify({ to: "bob", amount: 5000, note: "none" }) } });
  expect((await world.approve(1, { version: 1 })).code).toBe("changed");
  expect(world.runs).toEqual([]);
  expect((await world.approve(1, { version: 2 })).code).toBe("decided");
  expect(world.runs[0]?.input).toMatchObject({ amount: 5000 });
});

scenario("[C56] an override that changes nothing is recorded as not edited", async (world) => {
  world.model.plan(pay(500), say("Paid."));
  await world.text("pay");
  await world.approve(1, { payloadOverride: { amount: 500, to: "bob" } });
  expect(world.card(1).payloadOverride).toBeNull();
  expect(world.model.lastResult()).not.toHaveProperty("decision.edited");
  expect((await world.approve(1)).code).toBe("same");
});

scenario("[H13] [C16] [C19] rejected, expired and approved are told apart, and a reply is passed on word for word", async (world) => {
  const reply = `"No" \u{1F645}\n${"x".repeat(4096)}`;
  world.tools.set("vote", makeTool(world.runs, { name: "vote", policy: () => ask({ expiresIn: "1m" }) }));
  world.model.plan([...pay(1), ...pay(2), ...propose("vote", {})], say("So be it."));
  await world.text("do it");
  await world.approve(1);
  await world.reject(2, { reply });
  expect(world.model.requests).toHaveLength(1);
  await world.clock.advance(60_000);
  world.engine.reconcile();
  await settled();
  expect(world.model.requests).toHaveLength(2);
  const results = world.model.requests[1]!.messages.flatMap((message) => (message.role === "tool" ? message.content : []));
  expect(results).toMatchObject([
    { output: { value: { outcome: "succeeded" } } },
    { output: { value: { outcome: "rejected", decision: { reply } } } },
    { output: { value: { outcome: "expired" } } },
  ]);
  expect(world.runs).toHaveLength(1);
});

scenario("[H13] [C20] a rejected call proposed again gets no second card, and the run ends; asked anew it gets one", async (world) => {
  world.model.plan(pay(5), propose("pay", { amount: 5, note: "none", to: "bob" }), pay(5), say("Fine."));
  await world.text("pay");
  await world.reject(1);
  expect(world.status).toBe("completed");
  expect(world.journal.run(1)?.stopReason).toBe("repeated_call");
  expect(world.store.pausePointsFrom(1)).toHaveLength(1);
  expect(world.runs).toEqual([]);
  await world.text("no really, pay");
  expect(world.card(2).state).toBe("pending");
  await world.approve(2);
  expect(world.runs).toHaveLength(1);
});

scenario("[C20] ten approved repeats are never blocked", async (world) => {
  for (let n = 0; n < 10; n += 1) world.model.plan(pay(5));
  world.model.plan(say("Ten times."));
  await world.text("pay ten times");
  for (let n = 1; n <= 10; n += 1) await world.approve(n);
  expect(world.runs).toHaveLength(10);
  expect(world.status).toBe("completed");
});

scenario("[H6] what runs is the schema's output as it was shown", async (world) => {
  world.model.plan(propose("pay", { to: "bob", amount: 5, surprise: true }), say("Paid."));
  await world.text("pay");
  expect(JSON.parse(world.card(1).payload ?? "")).toEqual({ to: "bob", amount: 5, note: "none" });
  await world.approve(1);
  expect(world.runs[0]?.input).toEqual(JSON.parse(world.card(1).payload ?? ""));
});

scenario("[H6] [C57] a tool that is gone, or changed, while its card waits makes the call fail and say so", async (world) => {
  world.model.plan([...pay(1), ...propose("erase", { path: "/" })], say("Oh."));
  await world.text("pay and erase");
  world.tools.delete("erase");
  world.tools.set("pay", { ...world.tools.get("pay")!, parse: () => ({ ok: true, value: {} }) });
  await world.approve(1);
  await world.approve(2);
  expect(world.runs).toEqual([]);
  expect([world.call(1, 0, 0), world.call(1, 0, 1)]).toMatchObject([
    { state: "failed", cause: "changed" },
    { state: "failed", cause: "changed" },
  ]);
  expect(world.status).toBe("completed");
});

scenario("[H6] a policy that denies by now stops an approved call", async (world) => {
  world.model.plan(pay(1), say("Oh."));
  await world.text("pay");
  world.tools.set("pay", { ...world.tools.get("pay")!, policy: () => ({ verdict: "deny", reason: "frozen" }) });
  await world.approve(1);
  expect(world.runs).toEqual([]);
  expect(world.model.lastResult()).toMatchObject({ outcome: "failed", message: expect.stringContaining("frozen") });
});

scenario("[C58] a stored input that can't be parsed fails its call, and never runs with a default", async (world) => {
  world.model.plan(pay(1), say("Oh."));
  await world.text("pay");
  world.store.update("calls", [1, 0, 0], { input: '{"to":"bob","am' });
  await world.approve(1);
  expect(world.runs).toEqual([]);
  expect(world.call(1, 0, 0)).toMatchObject({ state: "failed", cause: "changed" });
  expect(world.status).toBe("completed");
});

scenario("[C19] a choice of false, 0 or the empty text is delivered as such", async (world) => {
  const ask = (): ReturnType<typeof propose> => propose("ask_clarification", { question: "Which?", options: [false, 0, "", "x"] });
  for (const choice of [false, 0, ""]) {
    world.model.plan(ask(), say("Thanks."));
    await world.text(`ask ${JSON.stringify(choice)}`);
    const n = world.journal.conversation().nextPausePoint - 1;
    expect((await world.approve(n, { choice: "not offered" })).code).toBe("invalid");
    expect((await world.approve(n, { choice })).code).toBe("decided");
    expect(world.model.lastResult()).toMatchObject({ outcome: "answered", answer: choice });
  }
});

scenario("[H2] [C9] a question pauses the run, its answer goes to the model and authorises no tool", async (world) => {
  world.model.plan(propose("wait_for_approval", { title: "Deploy?", description: "v3", kind: "approval" }), propose("erase", { path: "/v2" }), say("Done."));
  await world.text("deploy");
  expect(world.journal.conversation()).toMatchObject({ state: "paused", pausePointId: pausePointId(CONVERSATION, 1) });
  expect(world.call(1, 0, 0)).toMatchObject({ state: "awaiting", tries: 0, output: JSON.stringify(`__APPROVAL_REQUIRED__${CONVERSATION}.1`) });
  await world.approve(1, { reply: "go" });
  expect(world.card(2)).toMatchObject({ state: "pending", action: "erase" });
  expect(world.runs).toEqual([]);
  await world.approve(2);
  expect(world.runs).toHaveLength(1);
});

scenario("[H12] data entry keeps the fields and the types it asked for", async (world) => {
  world.model.plan(propose("wait_for_approval", { title: "Who?", description: "", kind: "data_entry", payload: { name: "", seats: 1, note: null } }), say("Thanks."));
  await world.text("ask");
  expect(await world.approve(1, { payloadOverride: { name: "Ana", seats: "2", note: null } })).toMatchObject({ code: "invalid", faults: [{ path: ["payloadOverride", "seats"] }] });
  expect(await world.approve(1, { payloadOverride: { name: "Ana", seats: 2 } })).toMatchObject({ code: "invalid", faults: [{ path: ["payloadOverride", "note"] }] });
  expect((await world.approve(1, { payloadOverride: { name: "Ana", seats: 2, note: [1] } })).code).toBe("decided");
  expect(world.model.lastResult()).toMatchObject({ outcome: "answered", answer: { name: "Ana", seats: 2, note: [1] } });
});

scenario("[C43] marker text is a marker only from a tool that pauses, for this very call", async (world) => {
  const marker = `__APPROVAL_REQUIRED__${CONVERSATION}.1`;
  world.tools.set("echo", makeTool(world.runs, { name: "echo", policy: () => ({ verdict: "allow" }), execute: async () => marker }));
  world.model.plan(propose("echo", {}), say(marker));
  await world.text(marker);
  expect(world.status).toBe("completed");
  expect(world.model.lastResult()).toBe(marker);
  expect(world.transcript).toEqual([marker, marker]);
  expect(world.store.pausePointsFrom(1)).toEqual([]);
});

scenario("[H20] [C59] override and reply together have a limit", async (world) => {
  world.model.plan(pay(1), say("Paid."));
  await world.text("pay");
  const room = world.limits.toolInputBytes - JSON.stringify([null, null]).length;
  expect((await world.approve(1, { reply: "x".repeat(room + 1) })).code).toBe("invalid");
  expect((await world.approve(1, { reply: "x".repeat(room) })).code).toBe("decided");
});
