import type { ModelMessage } from "ai";
import { expect } from "vitest";
import { branchUp } from "../../src/core/branches.js";
import { ANA, BEN, VIC, type World } from "../kit/world.js";
import { propose, say } from "../kit/model.js";
import { settled } from "../kit/clock.js";
import { scenarios } from "./suite.js";

const { list, scenario } = scenarios();
export { list as branchScenarios };

const pay = (amount = 500): ReturnType<typeof propose> => propose("pay", { to: "bob", amount });

/** Message ids from the root to the head. */
const branch = (world: World): string[] =>
  [...branchUp(world.store, world.journal.conversation().head)].toReversed().map((position) => world.store.message(position)[0]?.messageId ?? "?");

const texts = (messages: ModelMessage[]): string[] =>
  messages.flatMap(({ content }) => (Array.isArray(content) ? content.flatMap((part) => (part.type === "text" ? part.text : [])) : content));

/** Two turns: hi, Hi., how are you, Well. */
async function twoTurns(world: World): Promise<void> {
  world.model.plan(say("Hi."), say("Well."));
  await world.text("hi");
  await world.text("how are you");
  expect(branch(world)).toEqual(["u-1", "m2", "u-2", "m4"]);
}

const applied = async (outcome: { status: string; code?: string }): Promise<void> => {
  expect(outcome).toMatchObject({ status: "applied" });
  await settled();
};

scenario("[H22] an edit is a sibling of the text that it replaces, and the model reads its branch only", async (world) => {
  await twoTurns(world);
  world.model.plan(say("Where?"));
  await applied(world.engine.send(ANA, { opId: "e1", messageId: "e-1", text: "where are you", parentId: "m2" }));
  expect(branch(world)).toEqual(["u-1", "m2", "e-1", "m6"]);
  expect(texts(world.model.requests.at(-1)!.messages)).toEqual(["hi", "Hi.", "where are you"]);
  expect(world.store.userStep("u-2")).toMatchObject({ parentId: "m2", delivery: "sent" });
  // The beginning can be edited too.
  world.model.plan(say("Bonjour."));
  await applied(world.engine.send(ANA, { opId: "e2", messageId: "e-2", text: "salut", parentId: null }));
  expect(branch(world)).toEqual(["e-2", "m8"]);
  expect(texts(world.model.requests.at(-1)!.messages)).toEqual(["salut"]);
  await world.text("go on");
  expect(branch(world)).toEqual(["e-2", "m8", "u-3", "m10"]);
});

scenario("[H22] [C40] a stock client's edit keeps the id; the older version goes on under another, with what hangs below it", async (world) => {
  await twoTurns(world);
  world.model.plan(say("Hello again."));
  await applied(world.engine.send(ANA, { opId: null, messageId: "u-1", text: "hello", replaces: "u-1" }));
  expect(branch(world)).toEqual(["u-1", "m6"]);
  expect(world.store.message(1)[0]).toMatchObject({ messageId: "u1-5", parentId: null });
  expect(world.store.message(2)[0]).toMatchObject({ parent: 1, parentId: "u1-5" });
  await applied(world.engine.head(ANA, { opId: "h", messageId: "u1-5" }));
  expect(branch(world)).toEqual(["u1-5", "m2", "u-2", "m4"]);
  // What a client holds under that id can be edited as well.
  await applied(world.engine.send(ANA, { opId: null, messageId: "u1-5", text: "hey", replaces: "u1-5" }));
  expect(branch(world)).toEqual(["u1-5", "m8"]);
  expect(world.store.message(1)[0]?.messageId).toBe("u1-7");
});

scenario("[H22] a retry of an edit is a duplicate, and another's text or an agent's can't be edited", async (world) => {
  await twoTurns(world);
  await applied(world.engine.send(ANA, { opId: "e", messageId: "u-2", text: "edited", replaces: "u-2" }));
  expect(world.engine.send(ANA, { opId: "e", messageId: "u-2", text: "edited", replaces: "u-2" }).status).toBe("duplicate");
  expect(world.engine.send(ANA, { opId: null, messageId: "u-2", text: "edited", replaces: "u-2" }).status).toBe("duplicate");
  expect(world.engine.send(ANA, { opId: "send-2", messageId: "u-2", text: "how are you" }).status).toBe("duplicate");
  expect(world.engine.send(BEN, { opId: null, messageId: "b", text: "mine now", replaces: "u-2" }).code).toBe("not_found");
  expect(world.engine.send(BEN, { opId: null, messageId: "u-2", text: "mine now", replaces: "u-2" }).code).toBe("message_id_taken");
  expect(world.engine.send(ANA, { opId: null, messageId: "m2", text: "forged", replaces: "m2" }).code).toBe("not_found");
  expect(world.engine.send(ANA, { opId: null, messageId: "x", text: "lost", parentId: "m99" }).code).toBe("not_found");
  expect(world.journal.conversation().turn).toBe(3);
});

scenario("[H22] a regenerated answer is a sibling, in a run of its own, and both are kept", async (world) => {
  await twoTurns(world);
  world.model.plan(say("Very well."));
  await applied(world.engine.regenerate(ANA, { opId: "g", messageId: "m4" }));
  expect(branch(world)).toEqual(["u-1", "m2", "u-2", "m5"]);
  expect(texts(world.model.requests.at(-1)!.messages)).toEqual(["hi", "Hi.", "how are you"]);
  expect(world.engine.regenerate(ANA, { opId: "g", messageId: "m4" }).status).toBe("duplicate");
  expect(world.engine.regenerate(ANA, { opId: "g", messageId: "m2" }).code).toBe("op_reused");
  expect(world.engine.head(ANA, { opId: "g", messageId: "m2" }).code).toBe("op_reused");
  expect(world.store.message(4)[0]).toMatchObject({ parentId: "u-2" });
  expect(world.journal.conversation().turn).toBe(3);
});

scenario("[H22] [S5] choosing a message leads to the newest leaf below it, the same choice again changes nothing", async (world) => {
  await twoTurns(world);
  await applied(world.engine.regenerate(ANA, { opId: "g", messageId: "m2" }));
  expect(branch(world)).toEqual(["u-1", "m5"]);
  await applied(world.engine.head(BEN, { opId: "h", messageId: "m2" }));
  expect(branch(world)).toEqual(["u-1", "m2", "u-2", "m4"]);
  const { seq } = world.journal.conversation();
  expect(world.engine.head(BEN, { opId: "h", messageId: "m2" }).status).toBe("duplicate");
  expect(world.journal.conversation().seq).toBe(seq);
  expect(world.engine.head(BEN, { opId: "h2", messageId: "nowhere" }).code).toBe("not_found");
  world.restart();
  expect(branch(world)).toEqual(["u-1", "m2", "u-2", "m4"]);
});

scenario("[H22] while a run is live, edit, regenerate and head are refused, and none of its cards is lost", async (world) => {
  await twoTurns(world);
  world.model.plan(pay());
  await world.text("pay");
  const tries = [
    world.engine.send(ANA, { opId: "a", messageId: "a", text: "other", parentId: "m2" }),
    world.engine.send(ANA, { opId: null, messageId: "u-2", text: "other", replaces: "u-2" }),
    world.engine.regenerate(ANA, { opId: "b", messageId: "m4" }),
    world.engine.head(ANA, { opId: "c", messageId: "m2" }),
  ];
  // The last one is where the head is already.
  expect(tries.map(({ code, status }) => code ?? status)).toEqual(["run_live", "run_live", "run_live", "duplicate"]);
  expect([world.card(1).state, world.status]).toEqual(["pending", "suspended"]);
  // A text under the head is no edit.
  expect(world.engine.send(ANA, { opId: "d", messageId: "d", text: "and hurry", parentId: "m6" })).toMatchObject({ status: "applied", queued: true });
  expect(world.engine.head(ANA, { opId: "e", messageId: "u-1" }).status).toBe("duplicate");
});

for (const [name, leave] of [
  ["an edit", (world: World) => world.engine.send(ANA, { opId: "x", messageId: "x", text: "other", parentId: "m2", withdraw: true })],
  ["a regeneration", (world: World) => world.engine.regenerate(ANA, { opId: "x", messageId: "m4", withdraw: true })],
  ["a regeneration of what is being written", (world: World) => world.engine.regenerate(ANA, { opId: "x", messageId: "m6", withdraw: true })],
] as const) {
  scenario(`[H22] ${name} that withdraws cancels the run and its cards in the same transaction, and goes on`, async (world) => {
    await twoTurns(world);
    world.model.plan(pay(), say("Now this."));
    await world.text("pay");
    await world.text("waiting");
    const changes = world.changes.length;
    await applied(leave(world));
    expect(world.changes.length).toBeGreaterThan(changes);
    expect([world.card(1).state, world.journal.run(3)?.status, world.journal.run(4)?.status]).toEqual(["cancelled", "cancelled", "completed"]);
    expect(world.store.userStep("u-4")).toMatchObject({ delivery: "unanswered" });
    expect(world.runs).toEqual([]);
    expect(world.transcript.at(-1)).toBe("Now this.");
    expect((await world.approve(1)).code).toBe("conflict");
  });
}

scenario("[H22] [H19] a choice that withdraws stops the model at once and keeps what it had said", async (world) => {
  await twoTurns(world);
  await applied(world.engine.regenerate(ANA, { opId: "g", messageId: "m4" }));
  world.model.plan(async function* () {
    yield* say("I will now ");
    await new Promise(() => {});
  });
  await world.text("talk");
  await applied(world.engine.head(ANA, { opId: "h", messageId: "m4", withdraw: true }));
  expect(branch(world)).toEqual(["u-1", "m2", "u-2", "m4"]);
  expect(world.status).toBe("cancelled");
  expect(
    world.store
      .message(7)
      .map((row) => row.parts)
      .join(),
  ).toContain("I will now");
  expect(world.engine.busy).toBe(false);
});

scenario("[H13] [H22] what was refused on one branch is asked about anew on another", async (world) => {
  world.model.plan(pay(), say("All right."), pay(), say("Paid."));
  await world.text("pay bob");
  await world.reject(1);
  await applied(world.engine.regenerate(ANA, { opId: "g", messageId: "m2" }));
  expect(world.card(2).state).toBe("pending");
  await world.approve(2);
  expect(world.runs).toHaveLength(1);
  // The other branch keeps its own card and outcome.
  await applied(world.engine.head(ANA, { opId: "h", messageId: "m2" }));
  await world.text("why?");
  expect(world.model.lastResult("pay")).toMatchObject({ outcome: "rejected" });
});

scenario("[H22] an unanswered text can be answered after all", async (world) => {
  world.model.plan({ throws: "down" }, say("Here I am."));
  await world.text("hello");
  expect(world.status).toBe("failed");
  await applied(world.engine.regenerate(ANA, { opId: "g", messageId: "u-1" }));
  expect(branch(world)).toEqual(["u-1", "m3"]);
  expect(world.transcript.at(-1)).toBe("Here I am.");
});

scenario("[H22] [C42] a viewer moves nothing, and an outsider learns nothing", async (world) => {
  await twoTurns(world);
  const outsider = { ...VIC, person: "mallory" };
  for (const [person, code] of [
    [VIC, "forbidden"],
    [outsider, "not_found"],
  ] as const) {
    expect(world.engine.send(person, { opId: null, messageId: "x", text: "x", parentId: null }).code).toBe(code);
    expect(world.engine.regenerate(person, { opId: null, messageId: "m4" }).code).toBe(code);
    expect(world.engine.head(person, { opId: null, messageId: "m2" }).code).toBe(code);
  }
  expect(branch(world)).toEqual(["u-1", "m2", "u-2", "m4"]);
});

scenario("[S5] an opId that comes again with another withdraw is refused, and one that replaced a card is known", async (world) => {
  world.model.plan(pay(90));
  await world.text("pay");
  world.engine.send(ANA, { opId: "s", messageId: "s", text: "stop" });
  expect(world.engine.send(ANA, { opId: "s", messageId: "s", text: "stop", withdraw: true }).code).toBe("op_reused");
  expect(world.engine.send(ANA, { opId: "s", messageId: "s", text: "stop" }).status).toBe("duplicate");
});
