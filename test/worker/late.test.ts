import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import type { Journal } from "../../src/core/journal.js";
import { propose, say } from "../kit/model.js";
import { until } from "../kit/until.js";
import { useScript } from "./chat-kit.js";
import { control } from "./entry.js";
import { api, Device, newConversation, stubOf } from "./kit.js";

// Time that does not do what it should: alarms that come late, twice, never, or whose handler throws, and clocks that jump.

const HOUR = 60 * 60_000;
const script = useScript();

const alarmOf = (id: string): Promise<number | null> => runInDurableObject(stubOf(id), (_, { storage }) => storage.getAlarm());
/** Everything has reached D1, so that nothing but the clock is owed anything. */
const told = (id: string): Promise<unknown> =>
  until(() => runInDurableObject(stubOf(id), (object) => (object as unknown as { journal: Journal }).journal.read.backlog().undelivered === 0));
const jumpTo = (now: number): void => void vi.useFakeTimers({ toFake: ["Date"], now });

/** A run that waits for a card, on ana's laptop and ben's phone. */
async function waiting(): Promise<{ id: string; laptop: Device; phone: Device; expiresAt: number; pausePointId: string }> {
  script.model.plan(propose("pay", { to: "bob", amount: 5 }));
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  const phone = await Device.connect(id, "ben");
  await laptop.say("go");
  await laptop.rest("suspended");
  const card = await phone.card();
  return { id, laptop, phone, expiresAt: card.expiresAt ?? 0, pausePointId: card.id };
}

describe("an alarm that", () => {
  it("[C21] [H11] is held back: at the deadline and one millisecond an approval is 410, nothing is recorded of it, and every device loses the buttons", async () => {
    const at = await waiting();
    jumpTo(at.expiresAt + 1);
    const answer = await api("ben", "POST", "/api/chat/resume", { pausePointId: at.pausePointId, decision: "approve", reply: "too late" });
    expect(answer).toMatchObject({ status: 410, body: { code: "expired", pausePoint: { state: "expired", decision: null, decidedBy: null, reply: null } } });
    for (const device of [at.laptop, at.phone]) await device.until(() => device.cards.get(at.pausePointId)?.state === "expired");
    await at.laptop.rest("completed");
    expect(script.runs).toEqual([]);
    expect(JSON.stringify(script.model.lastResult("pay"))).toMatch(/nobody decided/i);
    expect(JSON.stringify(script.model.lastResult("pay"))).not.toMatch(/denied|rejected/i);
  });

  it("[C22] comes a day late expires the card once, and comes a second and a third time changes nothing", async () => {
    const at = await waiting();
    jumpTo(at.expiresAt + 24 * HOUR);
    expect(await runDurableObjectAlarm(stubOf(at.id))).toBe(true);
    await at.laptop.rest("completed");
    expect(at.laptop.cards.get(at.pausePointId)).toMatchObject({ state: "expired", version: 2 });
    const { seq } = at.laptop;
    for (let twice = 0; twice < 2; twice += 1) await runInDurableObject(stubOf(at.id), (object) => object.alarm());
    const fresh = await Device.connect(at.id, "ana", "fresh");
    expect([fresh.seq, fresh.cards.get(at.pausePointId)?.version, script.model.requests.length]).toEqual([seq, 2, 2]);
  });

  it("[C22] comes early changes nothing, and the deadline stays armed", async () => {
    const at = await waiting();
    const { seq } = at.laptop;
    await told(at.id);
    expect(await runDurableObjectAlarm(stubOf(at.id))).toBe(true);
    const fresh = await Device.connect(at.id, "ana", "fresh");
    expect([fresh.seq, fresh.cards.get(at.pausePointId)?.state]).toEqual([seq, "pending"]);
    expect(await alarmOf(at.id)).toBe(at.expiresAt);
  });

  it("[C22] [H4] never comes is not missed: the first event of the object's next life, whatever it is, does its work", async () => {
    const at = await waiting();
    await runInDurableObject(stubOf(at.id), (_, { storage }) => storage.deleteAlarm());
    await abortAllDurableObjects();
    jumpTo(at.expiresAt + 1);
    // A stranger's look is an event too.
    expect((await api("eve", "GET", `/api/conversations/${at.id}`)).status).toBe(404);
    const again = await Device.connect(at.id, "ana", "again");
    await again.rest("completed");
    expect(again.cards.get(at.pausePointId)?.state).toBe("expired");
  });

  it("[C22] [H4] never comes while a run is in progress: it goes on in the object's next life", async () => {
    script.model.plan({ hang: true }, say("Here I am."));
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    await laptop.say("go");
    await until(() => script.model.requests.length === 1);
    await runInDurableObject(stubOf(id), (_, { storage }) => storage.deleteAlarm());
    await abortAllDurableObjects();
    expect((await api("eve", "GET", `/api/conversations/${id}`)).status).toBe(404);
    const again = await Device.connect(id, "ana", "again");
    await again.rest("completed");
    expect(again.text).toContain("Here I am.");
  });

  it("[C22] throws each time is armed again each time, and the card expires once when it no longer does", async () => {
    const at = await waiting();
    jumpTo(at.expiresAt + 1);
    let thrown = 0;
    control.transaction = (name, when, conversation) => {
      if (conversation !== at.id || name !== "expire" || when !== "before") return "live";
      thrown += 1;
      throw new Error("the handler throws");
    };
    for (let tries = 1; tries <= 8; tries += 1) {
      expect(await runDurableObjectAlarm(stubOf(at.id))).toBe(true);
      expect([thrown, await alarmOf(at.id)]).toEqual([tries, Date.now() + 10_000]);
    }
    control.transaction = null;
    await runDurableObjectAlarm(stubOf(at.id));
    await at.laptop.rest("completed");
    expect(at.laptop.cards.get(at.pausePointId)).toMatchObject({ state: "expired", version: 2 });
  });
});

describe("a clock that jumps", () => {
  it("[C37] back an hour expires nothing, and the card is decided as ever", async () => {
    const at = await waiting();
    jumpTo(Date.now() - HOUR);
    await runDurableObjectAlarm(stubOf(at.id));
    expect(at.laptop.cards.get(at.pausePointId)?.state).toBe("pending");
    expect((await at.phone.decide(await at.phone.card(), "approve")).status).toBe("applied");
    await at.laptop.rest("completed");
    expect(script.runs).toHaveLength(1);
    const order = [...at.laptop.messages.values()].map(({ position }) => position);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  it("[C37] forward past the deadline and back again does not bring an expired card to life", async () => {
    const at = await waiting();
    const before = Date.now();
    jumpTo(at.expiresAt + 1);
    await runDurableObjectAlarm(stubOf(at.id));
    await at.laptop.rest("completed");
    jumpTo(before);
    const late = await api("ben", "POST", "/api/chat/resume", { pausePointId: at.pausePointId, decision: "approve" });
    expect(late).toMatchObject({ status: 410, body: { code: "expired", pausePoint: { state: "expired", version: 2 } } });
    expect(script.runs).toEqual([]);
  });

  it("[C37] back in mid-run leaves the run its alarm, and it ends", async () => {
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    script.model.plan(async function* () {
      await gate;
      yield* say("Done.");
    });
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    await laptop.say("go");
    await laptop.rest("running");
    jumpTo(Date.now() - HOUR);
    await runDurableObjectAlarm(stubOf(id));
    // The runtime's own clock has not jumped: it takes what is past by it as due at once.
    expect(await alarmOf(id)).not.toBeNull();
    release();
    await laptop.rest("completed");
  });

  it("[C37] by ten minutes on two devices does nothing: they are told the server's time with every change", async () => {
    const at = await waiting();
    const sent = [at.laptop, at.phone].map(({ welcome }) => welcome?.now ?? 0);
    for (const now of sent) expect(Math.abs(now - Date.now())).toBeLessThan(60_000);
    const changed = at.phone.frames.findLast((frame) => frame.type === "change");
    expect(changed && "now" in changed && at.expiresAt - changed.now).toBeGreaterThan(23 * HOUR);
  });
});

it("[C22] an idle conversation has no alarm within 15 s of its last run: the one that looks after the run finds nothing and sets no other", async () => {
  script.model.plan(say("Done."));
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  await laptop.say("go");
  const run = await laptop.rest("completed");
  await told(id);
  const alarm = await alarmOf(id);
  expect(alarm).toBeLessThanOrEqual((run.endedAt ?? 0) + 15_000);
  jumpTo((run.endedAt ?? 0) + 15_000);
  await runDurableObjectAlarm(stubOf(id));
  expect(await alarmOf(id)).toBeNull();
  expect(laptop.closedWith).toBeNull();
});
