import { describe, expect, test } from "vitest";
import type { ServerFrame } from "../../../src/protocol/frames.js";
import { applyFrame, emptyState, withPausePoint, type SyncState } from "../../../src/web/sync/state.js";
import { pendingCards, transcript } from "../../../src/web/sync/transcript.js";
import { conversation, delta, pausePoint, run, step, text, welcome } from "./fixtures.js";

const take = (state: SyncState, ...frames: ServerFrame[]): SyncState => frames.reduce((current, frame) => applyFrame(current, frame, 0).state, state);
const liveText = (state: SyncState) => state.live?.parts.map((part) => ("text" in part ? part.text : part.type)).join("|");

describe("welcome and change", () => {
  test("a snapshot replaces, a delta merges", () => {
    const first = take(emptyState, welcome({ messages: [step(), step({ messageId: "u_2", position: 2 })], pausePoints: [pausePoint()] }));
    const merged = take(first, welcome({ mode: "delta", seq: 2, messages: [step({ messageId: "u_3", position: 3 })] }));
    expect(merged.steps.size).toBe(3);
    expect(merged.pausePoints.size).toBe(1);
    const replaced = take(merged, welcome({ epoch: "e2", messages: [step()] }));
    expect([replaced.steps.size, replaced.pausePoints.size, replaced.epoch]).toEqual([1, 0, "e2"]);
  });

  test("only the last frame of a change moves seq", () => {
    const state = take(emptyState, welcome({ seq: 4 }), { type: "change", seq: 5, now: 1, more: true, messages: [step()] });
    expect([state.seq, state.steps.size]).toEqual([4, 1]);
    expect(take(state, { type: "change", seq: 5, now: 1 }).seq).toBe(5);
  });

  test("entities are merged by their keys; a removed step goes", () => {
    const state = take(emptyState, welcome({ messages: [step({ messageId: "m2", role: "assistant" })], pausePoints: [pausePoint()] }), {
      type: "change",
      seq: 2,
      now: 1,
      messages: [step({ messageId: "m2", role: "assistant", step: 1 })],
      pausePoints: [pausePoint({ state: "approved", version: 2 })],
    });
    expect(state.steps.size).toBe(2);
    expect(state.pausePoints.get("c_1.1")?.state).toBe("approved");
    expect(take(state, { type: "change", seq: 3, now: 1, messages: [step({ messageId: "m2", step: 1, removed: true })] }).steps.size).toBe(1);
  });

  test("[S9] the clock's difference is taken from the server's now", () => {
    expect(applyFrame(emptyState, welcome({ now: 700_000 }), 100_000).state.clockOffset).toBe(600_000);
  });

  test("run: null ends it, an absent run leaves it", () => {
    const state = take(emptyState, welcome({ run: run() }));
    expect(take(state, { type: "change", seq: 2, now: 1 }).run).not.toBeNull();
    expect(take(state, { type: "change", seq: 2, now: 1, run: null }).run).toBeNull();
  });

  test("a card fetched late does not undo a newer one", () => {
    const state = take(emptyState, welcome({ pausePoints: [pausePoint({ version: 3, state: "rejected" })] }));
    expect(withPausePoint(state, pausePoint({ version: 2 })).pausePoints.get("c_1.1")?.state).toBe("rejected");
  });
});

describe("[S3] deltas", () => {
  const started = take(emptyState, welcome({ run: run() }), delta({ n: 1, chunks: text("t", "a") }));

  test("the next one is applied, a repeated one is dropped", () => {
    const twice = take(started, delta({ n: 2, chunks: [{ type: "text-delta", id: "t", delta: "b" }] }), delta({ n: 2, chunks: [{ type: "text-delta", id: "t", delta: "b" }] }));
    expect(liveText(twice)).toBe("ab");
  });

  test("what was drawn does not change under the reader", () => {
    const before = started.live?.parts[0];
    take(started, delta({ n: 2, chunks: [{ type: "text-delta", id: "t", delta: "b" }] }));
    expect(before).toMatchObject({ text: "a" });
  });

  test("a gap asks for a hello and changes nothing", () => {
    const { state, resync } = applyFrame(started, delta({ n: 3, chunks: text("x", "lost") }), 0);
    expect([resync, liveText(state)]).toEqual([true, "a"]);
  });

  test("an unknown attempt that does not begin at 1 asks for a hello", () => {
    expect(applyFrame(emptyState, delta({ n: 2 }), 0).resync).toBe(true);
    expect(applyFrame(started, delta({ attempt: 2, n: 5 }), 0).resync).toBe(true);
  });

  test("[H8] a new attempt replaces the partial output before it; the old one's stragglers are dropped", () => {
    const second = take(started, delta({ attempt: 2, n: 1, chunks: text("t", "again") }));
    expect(liveText(second)).toBe("again");
    const late = applyFrame(second, delta({ attempt: 1, n: 2, chunks: text("z", "old") }), 0);
    expect([late.resync, liveText(late.state)]).toEqual([false, "again"]);
  });

  test("welcome.live replaces what was here, with the n it includes", () => {
    const state = take(started, welcome({ mode: "delta", run: run(), live: delta({ n: 9, chunks: text("t", "whole") }) }));
    expect([state.live?.n, liveText(state)]).toEqual([9, "whole"]);
    expect(liveText(take(state, delta({ n: 10, chunks: [{ type: "text-delta", id: "t", delta: "!" }] })))).toBe("whole!");
  });

  test("the change that commits a step ends its deltas, and stragglers of it are dropped", () => {
    const committed = take(started, { type: "change", seq: 2, now: 1, messages: [step({ messageId: "m2", role: "assistant", parts: [{ type: "text", text: "ab" }] })] });
    expect(committed.live).toBeNull();
    const late = applyFrame(committed, delta({ n: 2, chunks: text("t", "b") }), 0);
    expect([late.resync, late.state.live]).toEqual([false, null]);
  });

  test("a change of another step leaves them; a run that stops writing ends them", () => {
    expect(take(started, { type: "change", seq: 2, now: 1, messages: [step()] }).live).not.toBeNull();
    expect(take(started, { type: "change", seq: 2, now: 1, run: run({ status: "cancelled" }) }).live).toBeNull();
  });
});

describe("transcript", () => {
  test("follows the head through the parents and leaves siblings out", () => {
    const state = take(
      emptyState,
      welcome({
        conversation: { ...conversation, head: "m3" },
        messages: [
          step({ messageId: "u_1", position: 1 }),
          step({ messageId: "m2", position: 2, role: "assistant", parentId: "u_1" }),
          step({ messageId: "m3", position: 3, role: "assistant", parentId: "u_1" }),
        ],
      }),
    );
    expect(transcript(state).map(({ messageId }) => messageId)).toEqual(["u_1", "m3"]);
  });

  test("[H9] queued texts come last, after what is being written", () => {
    const state = take(
      emptyState,
      welcome({
        conversation: { ...conversation, head: "m2" },
        run: run(),
        messages: [step(), step({ messageId: "u_q", position: 3, delivery: "queued" })],
      }),
      delta({ n: 1, chunks: text("t", "hi") }),
    );
    expect(transcript(state).map(({ messageId }) => messageId)).toEqual(["u_1", "m2", "u_q"]);
  });

  test("pending cards in the order in which they were asked", () => {
    const cards = [pausePoint({ id: "c_1.10", createdAt: 5 }), pausePoint({ id: "c_1.9", createdAt: 5 }), pausePoint({ id: "c_1.1", state: "approved" })];
    expect(pendingCards(new Map(cards.map((card) => [card.id, card]))).map(({ id }) => id)).toEqual(["c_1.9", "c_1.10"]);
  });
});
