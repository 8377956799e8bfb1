import { expect } from "vitest";
import { OutcomeUnknown, ask } from "../../src/core/tool.js";
import { ANA, BEN } from "../kit/world.js";
import { propose, say, type Answer } from "../kit/model.js";
import { settled } from "../kit/clock.js";
import { makeTool } from "../kit/tools.js";
import { scenarios } from "./suite.js";

const { list, scenario } = scenarios();
export { list as textScenarios };

const pay = (amount = 500): ReturnType<typeof propose> => propose("pay", { to: "bob", amount });

scenario("[H9] [C24] [C25] text typed while a card waits is queued, decides nothing, and is delivered at the next step", async (world) => {
  world.model.plan(pay(), say("Paid, and noted."));
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
  world.model.plan(answer, say("Second."));
  await world.text("one");
  await world.text("two");
  await world.clock.advance(1000);
  await settled();
  expect(world.journal.conversation().turn).toBe(2);
  expect(world.transcript).toEqual(["one", "First.", "two", "Second."]);
  expect(world.store.get("steps", 3, 0)).toMatchObject({ delivery: "sent", parentId: "m2" });
});

scenario("[H9] a run that is cancelled or fails leaves waiting texts in the transcript, unanswered", async (world) => {
  world.model.plan(pay(), say("Hello again."));
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
  world.model.plan([...pay(1), ...pay(2)], say("Fine, no payment."));
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
  world.model.plan(say("Hi."));
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
    world.model.plan(proposed, say("I see."));
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
  for (const [place, word] of ["fine", "edited", "rejected", "expired", "withdrawn", "no such account", "nobody knows", "no tool named", "policy forbids"].entries())
    expect(told[place]).toContain(word);
  expect(world.status).toBe("completed");
});

scenario("[H16] what happens is logged with ids, never with texts, payloads or replies", async (world) => {
  world.model.plan(propose("pay", { to: "secret-payee", amount: 5 }), { throws: "secret-failure" });
  await world.text("secret-text");
  await world.approve(1, { reply: "secret-reply" });
  const logged = JSON.stringify(world.logs);
  expect(world.logs.map((line) => line.event)).toEqual([
    "conversation.created",
    "member.set",
    "member.set",
    "member.set",
    "text.taken",
    "run.started",
    "step.committed",
    "call.awaiting",
    "pause_point.opened",
    "run.suspended",
    "pause_point.settled",
    "call.ready",
    "run.resumed",
    "call.started",
    "call.succeeded",
    "step.failed",
    "step.committed",
    "run.ended",
  ]);
  expect(logged).toContain("r1-0-0");
  expect(logged).not.toContain("secret");
});

scenario("[H14] a long conversation is cut at a person's turn, newest first, with calls still paired", async (world) => {
  world.limits.contextTokens = 600;
  for (let turn = 0; turn < 8; turn += 1) {
    world.model.plan(propose("look", { turn, pad: "x".repeat(200) }), say("word ".repeat(40)));
    await world.text(`turn ${turn}`);
  }
  const last = world.model.requests.at(-1)!.messages;
  expect(last[0]).toMatchObject({ role: "user" });
  expect(JSON.stringify(last)).toContain("turn 7");
  expect(JSON.stringify(last)).not.toContain("turn 0");
});
