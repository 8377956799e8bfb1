import { abortAllDurableObjects, env, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { control, resetControl } from "./entry.js";
import { until } from "../kit/until.js";
import { api, Device, migrateD1, newConversation, stubOf } from "./kit.js";
import { batches } from "./broken-d1.js";

beforeEach(migrateD1);
afterEach(async () => {
  vi.useRealTimers();
  resetControl();
  await abortAllDurableObjects();
});

const TRANSFER = "Transfer 250 EUR from operations to savings";

const listed = async (id: string): Promise<Record<string, unknown> | undefined> =>
  (await env.DB.prepare("SELECT id, state, version, decided_by FROM pause_points WHERE conversation_id = ?").bind(id).all()).results[0];
const undelivered = (id: string): Promise<number> =>
  runInDurableObject(stubOf(id), (_, state) => state.storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM pause_points WHERE version > mirrored").one().n);

it("[H21] a card and its decision reach D1, each with its version", async () => {
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  await laptop.say(TRANSFER);
  const card = await laptop.card();
  await until(async () => (await listed(id))?.["state"] === "pending");
  expect((await api("ben", "GET", "/api/approvals?state=pending")).body.items.map((item: { id: string }) => item.id)).toContain(card.id);
  await laptop.decide(card, "approve");
  await laptop.rest("completed");
  await until(async () => (await listed(id))?.["state"] === "approved");
  expect(await listed(id)).toEqual({ id: card.id, state: "approved", version: 2, decided_by: "ana" });
  await until(async () => (await undelivered(id)) === 0);
});

it("[H21] [H4] D1 that throws delays the list, never the decision, and catches up by the alarm", async () => {
  control.db = batches(() => Promise.reject(new Error("D1_ERROR: storage is down")));
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  await laptop.say("ask me for my name");
  const card = await laptop.card();
  expect((await laptop.command({ type: "decide", pausePointId: card.id, version: 1, decision: "approve", reply: "Ana" })).status).toBe("applied");
  await laptop.rest("completed");
  expect(await listed(id)).toBeUndefined();
  expect(await undelivered(id)).toBe(1);
  expect(await runInDurableObject(stubOf(id), (_, state) => state.storage.getAlarm())).not.toBeNull();
  control.db = null;
  await abortAllDurableObjects();
  await runDurableObjectAlarm(stubOf(id));
  await until(async () => (await listed(id))?.["state"] === "approved");
  await until(async () => (await undelivered(id)) === 0);
});

it("[H21] D1 that applies a write and then throws is written again, which changes nothing", async () => {
  let failures = 0;
  control.db = batches(async (real) => {
    const results = await real();
    if ((failures += 1) <= 2) throw new Error("D1_ERROR: connection lost");
    return results;
  });
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  await laptop.say("ask me for my name");
  await laptop.card();
  for (let round = 0; round < 10 && (await undelivered(id)) > 0; round += 1) {
    vi.setSystemTime(Date.now() + 60_000);
    await runDurableObjectAlarm(stubOf(id));
    await scheduler.wait(1);
  }
  expect(await undelivered(id)).toBe(0);
  expect(failures).toBeGreaterThan(2);
  expect(await listed(id)).toMatchObject({ state: "pending", version: 1 });
});

it("[H21] what advances is the version that was sent, though the row has changed meanwhile", async () => {
  let holding = false;
  let held = 0;
  control.db = batches(async (real) => {
    const results = await real();
    if (holding) held += 1;
    while (holding) await scheduler.wait(1);
    return results;
  });
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  await until(
    async () => (await runInDurableObject(stubOf(id), (_, state) => state.storage.sql.exec<{ n: number }>("SELECT version > mirrored AS n FROM conversation").one().n)) === 0,
  );
  holding = true;
  await laptop.say("ask me for my name");
  const card = await laptop.card();
  await until(() => held === 1);
  await laptop.decide(card, "reject");
  await laptop.rest("completed");
  holding = false;
  await until(async () => (await listed(id))?.["state"] === "rejected");
  expect(await listed(id)).toMatchObject({ version: 2 });
});

it("[H21] an older version never replaces a newer one in D1", async () => {
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  await laptop.say("ask me for my name");
  await laptop.card();
  await until(async () => (await listed(id))?.["state"] === "pending");
  await env.DB.prepare("UPDATE pause_points SET version = 99, title = 'newer' WHERE conversation_id = ?").bind(id).run();
  await laptop.decide(await laptop.card(), "reject");
  await laptop.rest("completed");
  await until(async () => (await undelivered(id)) === 0);
  expect(await listed(id)).toMatchObject({ version: 99, state: "pending" });
});

it("[H11] [H21] a list shows a card past its deadline as expired, though nothing has told D1", async () => {
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  await laptop.say(TRANSFER);
  const card = await laptop.card();
  await until(async () => (await listed(id))?.["state"] === "pending");
  vi.useFakeTimers({ toFake: ["Date"], now: (card.expiresAt ?? 0) + 1 });
  expect((await api("ana", "GET", "/api/approvals?state=expired")).body.items.map((item: { id: string }) => item.id)).toContain(card.id);
  expect((await api("ana", "GET", "/api/approvals?state=pending")).body.items.map((item: { id: string }) => item.id)).not.toContain(card.id);
});

it("[H15] deleting cancels the run, closes the sockets, leaves a tombstone in D1 and one row in the object", async () => {
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  await laptop.say(TRANSFER);
  const card = await laptop.card();
  expect((await api("ben", "DELETE", `/api/conversations/${id}`)).status).toBe(403);
  expect((await api("ana", "DELETE", `/api/conversations/${id}`)).status).toBe(204);
  await laptop.until(() => laptop.closedWith !== null).catch(() => {});
  expect(laptop.closedWith).toBe(4404);
  expect((await api("ana", "GET", `/api/conversations/${id}`)).status).toBe(404);
  expect((await api("ana", "POST", "/api/chat/resume", { pausePointId: card.id, decision: "approve" })).status).toBe(404);
  await until(async () => (await env.DB.prepare("SELECT deleted_at FROM conversations WHERE id = ?").bind(id).first<{ deleted_at: number | null }>())?.deleted_at);
  await until(
    async () =>
      (await runInDurableObject(
        stubOf(id),
        (_, state) =>
          state.storage.sql.exec<{ n: number }>("SELECT (SELECT count(*) FROM steps) + (SELECT count(*) FROM calls) + (SELECT count(*) FROM pause_points) AS n").one().n,
      )) === 0,
  );
  expect((await api("ana", "GET", "/api/conversations")).body.items.map((item: { id: string }) => item.id)).not.toContain(id);
  expect(await listed(id)).toMatchObject({ state: "cancelled" });
});
