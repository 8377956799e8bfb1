import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ScriptedModel } from "../kit/model.js";
import { until } from "../kit/until.js";
import { control, resetControl } from "./entry.js";
import { api, Device, migrateD1, newConversation, stubOf } from "./kit.js";

beforeEach(migrateD1);
afterEach(async () => {
  vi.useRealTimers();
  resetControl();
  await abortAllDurableObjects();
});

it("[H4] [C22] an alarm whose handler crashes is set again, and the card then expires once", async () => {
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  await laptop.say("Transfer 250 EUR from operations to savings");
  const card = await laptop.card();
  await laptop.rest("suspended");
  vi.useFakeTimers({ toFake: ["Date"], now: card.expiresAt ?? 0 });
  let crashed = 0;
  control.transaction = (name, when, conversation) => {
    if (conversation !== id || name !== "expire" || when !== "before") return "live";
    crashed += 1;
    return "die";
  };
  expect(await runDurableObjectAlarm(stubOf(id))).toBe(true);
  expect(crashed).toBe(1);
  expect(await runInDurableObject(stubOf(id), (_, state) => state.storage.getAlarm())).toBe(Date.now() + 10_000);
  expect(laptop.cards.get(card.id)?.state).toBe("pending");
  control.transaction = null;
  await abortAllDurableObjects();
  await runDurableObjectAlarm(stubOf(id));
  const again = await Device.connect(id, "ana", "again");
  await again.rest("completed");
  await runDurableObjectAlarm(stubOf(id));
  expect(again.cards.get(card.id)).toMatchObject({ state: "expired", version: 2 });
  expect(again.text).toMatch(/nobody decided/i);
});

it("[H4] a deploy with wrong settings loses nothing: the object looks again every minute, and goes on when they are mended", async () => {
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  control.model = new ScriptedModel().plan({ hang: true }).model;
  await laptop.say("hello");
  await laptop.rest("running");
  await abortAllDurableObjects();
  control.wrong = true;
  control.model = null;
  for (let tries = 0; tries < 8; tries += 1) {
    expect(await runDurableObjectAlarm(stubOf(id))).toBe(true);
    const alarm = await runInDurableObject(stubOf(id), (_, state) => state.storage.getAlarm());
    expect(alarm).toBeGreaterThan(Date.now() + 50_000);
    await abortAllDurableObjects();
  }
  await expect(api("ana", "GET", `/api/conversations/${id}`)).resolves.toMatchObject({ status: 500 });
  await abortAllDurableObjects();
  control.wrong = false;
  await runDurableObjectAlarm(stubOf(id));
  const again = await Device.connect(id, "ana", "again");
  await again.rest("completed");
});

it("[H4] with wrong settings an object that owes nothing sets no alarm, and one without a conversation writes nothing", async () => {
  const idle = await newConversation();
  await until(
    async () => (await runInDurableObject(stubOf(idle), (_, { storage }) => storage.sql.exec("SELECT mirrored = version AS told FROM conversation").one()["told"])) === 1,
  );
  await abortAllDurableObjects();
  await runDurableObjectAlarm(stubOf(idle));
  await abortAllDurableObjects();
  control.wrong = true;
  for (const id of [idle, `c_${"e".repeat(32)}`]) expect(await runInDurableObject(stubOf(id), (_, { storage }) => storage.getAlarm())).toBeNull();
});
