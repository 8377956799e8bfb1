import { expect } from "vitest";
import { ask, ChangedSinceShown, type Tool } from "../../src/core/tool.js";
import { ANA, type World } from "../kit/world.js";
import { propose, say } from "../kit/model.js";
import { settled } from "../kit/clock.js";
import { makeTool } from "../kit/tools.js";
import { scenarios } from "./suite.js";

// A call that was begun and whose end is not known may have had its effect. Whatever stops its next try, nobody is
// told that it has not run.

const { list, scenario } = scenarios();
export { list as interruptedScenarios };

const NEVER = (): Promise<never> => new Promise(() => {});

/** A `set` that was approved and begun when its process died; `change` is what the next process finds changed. */
async function interrupted(world: World, idempotent: boolean, change: (tool: Tool) => Tool | null): Promise<void> {
  const tool = makeTool(world.runs, { name: "set", idempotent, execute: NEVER });
  world.tools.set("set", tool);
  world.model.plan(propose("set", { a: 1 }), say("I see."));
  await world.text("set");
  await world.approve(1);
  const next = change(tool);
  if (next) world.tools.set("set", next);
  else world.tools.delete("set");
  world.restart();
  await settled();
}

const CHANGES: [string, RegExp, (tool: Tool) => Tool | null][] = [
  ["its input", /input has changed/, (tool) => ({ ...tool, parse: () => ({ ok: true, value: {} }) })],
  ["its policy, which forbids it", /frozen/, (tool) => ({ ...tool, policy: () => ({ verdict: "deny", reason: "frozen" }) })],
  ["everything: it is gone", /is gone/, () => null],
];

for (const idempotent of [true, false])
  for (const [what, said, change] of CHANGES)
    scenario(
      `[H5] [H6] a call that ${idempotent ? "may" : "can't"} be tried again was interrupted, and its tool has changed ${what}: a person is asked, and isn't offered another try`,
      async (world) => {
        await interrupted(world, idempotent, change);
        expect(world.card(2)).toMatchObject({ kind: "recovery", state: "pending", options: JSON.stringify(["happened", "did_not_happen"]) });
        expect(world.card(2).description).toMatch(said);
        expect(world.status).toBe("suspended");
        expect((await world.approve(2, { choice: "retry" })).code).toBe("invalid");
        await world.approve(2, { choice: "happened" });
        expect(world.runs).toHaveLength(1);
        expect(world.status).toBe("completed");
        expect(world.model.lastResult()).toMatchObject({ outcome: "succeeded" });
      },
    );

scenario("[H5] [H6] a tool that changes between the answer to try again and the try: a person is asked once more", async (world) => {
  await interrupted(world, false, (tool) => tool);
  world.tools.set("set", { ...world.tools.get("set")!, policy: () => ({ verdict: "deny", reason: "frozen" }) });
  await world.approve(2, { choice: "retry" });
  expect(world.runs).toHaveLength(1);
  expect(world.card(3)).toMatchObject({ kind: "recovery", state: "pending", options: JSON.stringify(["happened", "did_not_happen"]) });
  await world.approve(3, { choice: "did_not_happen" });
  expect(world.status).toBe("completed");
  expect(world.model.lastResult()).toMatchObject({ outcome: "failed" });
});

scenario("[H5] [H6] a second try that finds itself changed says nothing of the first: a person is asked", async (world) => {
  await interrupted(world, true, (tool) => ({ ...tool, execute: () => Promise.reject(new ChangedSinceShown("The server offers another tool by that name.")) }));
  expect(world.card(2)).toMatchObject({ kind: "recovery", state: "pending" });
  await world.approve(2, { choice: "happened" });
  expect(world.status).toBe("completed");
});

scenario("[H5] [H19] cancelled between a try that was interrupted and the next one, a call is unknown, not denied", async (world) => {
  world.tools.set("erase", makeTool(world.runs, { name: "erase", policy: () => ask(), execute: NEVER }));
  world.model.plan(propose("erase", { path: "/" }), say("I don't know."));
  await world.text("erase");
  await world.approve(1);
  world.restart();
  await settled();
  // The decision is kept, and what would follow of it in this process does not.
  const { events } = world.journal;
  const fails = (): never => {
    throw new Error("out of memory");
  };
  world.journal.events = { ...events, committed: fails, untold: fails };
  const again = { pausePointId: `${world.journal.conversation().id}.2`, decision: "approve", choice: "retry" } as const;
  expect(() => world.engine.decide(ANA, [again])).toThrow("out of memory");
  world.journal.events = events;
  expect(world.call(1, 0, 0)).toMatchObject({ state: "ready", tries: 1 });
  world.engine.cancel(ANA, { opId: null, runId: "r1" });
  await settled();
  expect(world.runs).toHaveLength(1);
  expect(world.call(1, 0, 0)).toMatchObject({ state: "unknown", cause: "interrupted" });
  await world.text("and?");
  expect(world.model.lastResult("erase")).toMatchObject({ outcome: "unknown" });
});
