import { abortAllDurableObjects, env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { control, resetControl } from "./entry.js";
import { until } from "../kit/until.js";
import { api, Device, migrateD1, newConversation, stubOf } from "./kit.js";

beforeEach(migrateD1);
afterEach(async () => {
  vi.useRealTimers();
  resetControl();
  await abortAllDurableObjects();
});

const TRANSFER = "Transfer 250 EUR from operations to savings";

const balance = async (account: string): Promise<number> => (await api("ana", "GET", "/api/ledger")).body.accounts.find((one: { id: string }) => one.id === account).balanceMinor;
const entriesSum = async (): Promise<number> => (await env.DB.prepare("SELECT sum(amount_minor) AS sum FROM entries").first<{ sum: number }>())?.sum ?? NaN;

describe("an approval cycle", () => {
  it("[H4] [C9] shows the card on both devices, runs the edited call once, and both see the answer and who decided", async () => {
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    const phone = await Device.connect(id, "ben", "ben's phone");
    const before = await balance("savings");
    expect((await laptop.say(TRANSFER)).status).toBe("applied");
    const card = await phone.card();
    expect(await laptop.card()).toEqual(card);
    expect((await phone.decide(card, "approve", { payloadOverride: { ...(card.payload as object), amount: 50 } })).status).toBe("applied");
    await Promise.all([laptop.rest("completed"), phone.rest("completed")]);
    expect(laptop.cards.get(card.id)).toMatchObject({ state: "approved", decidedBy: "ben", decidedDevice: "ben's phone", payloadOverride: { amount: 50 } });
    expect(laptop.text).toBe(phone.text);
    expect(laptop.text).toContain("50 EUR");
    expect((await balance("savings")) - before).toBe(5000);
    expect(await entriesSum()).toBe(0);
  });

  it("[C1] ten sockets approve the same card within a tick: one is applied, nine are duplicates, the money moves once", async () => {
    const id = await newConversation();
    const devices = await Promise.all(Array.from({ length: 10 }, (_, n) => Device.connect(id, n % 2 ? "ana" : "ben", `device ${n}`)));
    await devices[0]!.say(TRANSFER);
    const card = await devices[0]!.card();
    const before = await balance("savings");
    const acks = await Promise.all(devices.map((device) => device.decide(card, "approve")));
    expect(acks.map((ack) => ack.status).toSorted()).toEqual(["applied", ...Array(9).fill("duplicate")]);
    await Promise.all(devices.map((device) => device.rest("completed")));
    expect(new Set(devices.map((device) => JSON.stringify(device.cards.get(card.id)))).size).toBe(1);
    expect((await balance("savings")) - before).toBe(25_000);
  });

  it("[C2] HTTP and a socket decide at the same moment: one wins, the other is told who, where and when", async () => {
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    await laptop.say(TRANSFER);
    const card = await laptop.card();
    const [http, socket] = await Promise.all([
      api("ben", "POST", "/api/chat/resume", { pausePointId: card.id, decision: "approve" }, { "x-device-id": "p1", "x-device-name": "ben's phone" }),
      laptop.decide(card, "reject"),
    ]);
    const won = http.status === 200 ? { by: "ben", device: "ben's phone", state: "approved" } : { by: "ana", device: "ana's laptop", state: "rejected" };
    const loser = http.status === 200 ? socket.current : http.body.pausePoint;
    expect([http.status === 200, socket.status === "applied"].filter(Boolean)).toHaveLength(1);
    expect(loser).toMatchObject({ state: won.state, decidedBy: won.by, decidedDevice: won.device, decidedAt: expect.any(Number) });
    await laptop.rest("completed");
  });

  it("[H4] an object that was evicted between card and decision resumes as if it had never slept", async () => {
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    const before = await balance("savings");
    await laptop.say(TRANSFER);
    const card = await laptop.card();
    await laptop.rest("suspended");
    await evictDurableObject(stubOf(id));
    expect((await laptop.decide(card, "approve")).status).toBe("applied");
    await laptop.rest("completed");
    expect((await balance("savings")) - before).toBe(25_000);
  });

  it("[C28] [C29] a device that joins later sees the pending card and the run's status in its welcome, and after the decision who decided", async () => {
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    await laptop.say(TRANSFER);
    const card = await laptop.card();
    await laptop.rest("suspended");
    const late = await Device.connect(id, "ben", "ben's phone");
    expect(late.welcome).toMatchObject({ mode: "snapshot", run: { status: "suspended" }, pausePoints: [{ id: card.id, state: "pending", payload: card.payload }] });
    await late.decide(card, "reject", { reply: "Not today" });
    await laptop.rest("completed");
    expect(laptop.text).toContain("Not today");
    const reloaded = await Device.connect(id, "ana", "ana's tablet");
    expect(reloaded.cards.get(card.id)).toMatchObject({ state: "rejected", decidedBy: "ben", decidedDevice: "ben's phone", reply: "Not today" });
    expect(reloaded.text).toBe(laptop.text);
  });

  it("[H11] [C21] [C22] a card expires by the alarm, once, and every device sees it", async () => {
    const id = await newConversation();
    const [laptop, phone] = [await Device.connect(id, "ana"), await Device.connect(id, "ben", "phone")];
    await laptop.say(TRANSFER);
    const card = await laptop.card();
    await laptop.rest("suspended");
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    vi.setSystemTime((card.expiresAt ?? 0) - 1);
    expect(await runDurableObjectAlarm(stubOf(id))).toBe(true);
    expect(laptop.cards.get(card.id)?.state).toBe("pending");
    vi.setSystemTime(card.expiresAt ?? 0);
    expect(await runDurableObjectAlarm(stubOf(id))).toBe(true);
    await Promise.all([laptop.card("expired"), phone.card("expired")]);
    await laptop.rest("completed");
    expect(laptop.text).toMatch(/nobody decided/i);
    await runDurableObjectAlarm(stubOf(id));
    expect(laptop.cards.get(card.id)?.version).toBe(2);
  });

  it("[H11] [C21] an approval after the deadline is 410 with the alarm held back, and nothing runs", async () => {
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    await laptop.say(TRANSFER);
    const card = await laptop.card();
    await laptop.rest("suspended");
    const before = await balance("savings");
    vi.useFakeTimers({ toFake: ["Date"], now: (card.expiresAt ?? 0) + 1 });
    const late = await api("ben", "POST", "/api/chat/resume", { pausePointId: card.id, decision: "approve" });
    expect(late).toMatchObject({ status: 410, body: { code: "expired", pausePoint: { state: "expired", decision: null, decidedBy: null } } });
    await laptop.card("expired");
    expect(await balance("savings")).toBe(before);
  });

  it("[C22] an idle conversation holds no alarm once the one of its run has fired", async () => {
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    await laptop.say("say 5 words");
    await laptop.rest("completed");
    await until(async () => (await env.DB.prepare("SELECT state FROM conversations WHERE id = ?").bind(id).first<{ state: string }>())?.state === "idle");
    await runDurableObjectAlarm(stubOf(id));
    expect(await runInDurableObject(stubOf(id), (_, state) => state.storage.getAlarm())).toBeNull();
  });
});

describe("an object that is aborted", () => {
  it("[H4] [C6] [C7] at each transaction of a cycle, before it and after it, the run finishes by itself and the money moves once", async () => {
    const names = await transactionsOfACycle();
    expect(names.length).toBeGreaterThan(8);
    for (const when of ["before", "after"] as const) {
      for (const place of names.keys()) {
        const before = await balance("savings");
        const id = await newConversation();
        let count = -1;
        let died = false;
        control.transaction = (name, at, conversation) => {
          if (conversation !== id || at !== when || name === "mirrored") return "live";
          count += 1;
          if (count !== place || died) return "live";
          died = true;
          return "die";
        };
        const aborted = vi.waitUntil(() => died, { timeout: 10_000, interval: 1 }).then(() => abortAllDurableObjects());
        await Promise.all([driveToTheEnd(id), aborted]);
        control.transaction = null;
        expect((await balance("savings")) - before, `${when} ${names[place]} (${place})`).toBe(25_000);
        expect(await entriesSum()).toBe(0);
      }
    }
  }, 120_000);
});

/** The names of the transactions between a text and the end of its run. */
async function transactionsOfACycle(): Promise<string[]> {
  const id = await newConversation();
  const names: string[] = [];
  control.transaction = (name, when, conversation) => {
    if (conversation === id && when === "after" && name !== "mirrored") names.push(name);
    return "live";
  };
  await driveToTheEnd(id);
  control.transaction = null;
  return names;
}

/** Asks for the transfer and approves it over HTTP, again and again until it is done: the client of a server that may die at any time. */
async function driveToTheEnd(id: string): Promise<void> {
  const device = { "x-device-id": "d", "x-device-name": "d" };
  const message = { id, messages: [{ id: `text-${id}`, role: "user", parts: [{ type: "text", text: TRANSFER }] }], trigger: "submit-message" };
  const attempt = async <T>(what: () => Promise<T>): Promise<T | null> => what().catch(() => null);
  let sent = false;
  for (let round = 0; round < 2000; round += 1) {
    if (!sent) sent = (await attempt(() => api("ana", "POST", "/api/chat", message)))?.status === 200;
    const state = await attempt(() => api("ana", "GET", `/api/conversations/${id}`));
    // In one isolate, a loop that never yields to the clock would starve the very timers that it waits for.
    await scheduler.wait(1);
    if (round % 25 === 24) await attempt(() => runDurableObjectAlarm(stubOf(id)));
    if (state?.body.pausePointId) await attempt(() => api("ben", "POST", "/api/chat/resume", { pausePointId: state.body.pausePointId, decision: "approve" }, device));
    if (state?.body.run && state.body.run.status === "completed") return;
    if (state?.body.run && ["failed", "cancelled"].includes(state.body.run.status)) throw new Error(`the run ${state.body.run.status}: ${state.body.run.detail}`);
  }
  throw new Error("the run did not end");
}
