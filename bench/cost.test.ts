import { env } from "cloudflare:test";
import { beforeAll, expect, it, vi } from "vitest";
import { api, Device, migrateD1 } from "../test/worker/kit.js";
import { cost, resetCost, rowsWritten } from "./entry.js";

// `npm run bench`: what things cost in rows written and alarms set, counted by the storage itself. Rows
// written are the bill, so each has a limit here.

beforeAll(migrateD1);

const results: { measure: string; value: number; limit: number }[] = [];

function measure(name: string, value: number, limit: number): void {
  results.push({ measure: name, value, limit });
  console.log(JSON.stringify({ measure: name, value, limit, verdict: value <= limit ? "reached" : "missed" }));
  expect(value, name).toBeLessThanOrEqual(limit);
}

const created = async (): Promise<string> => (await api("ana", "POST", "/api/conversations", {})).body.id as string;

/** Waits until D1 has everything, so that delivering counts too. */
async function delivered(id: string, state: string): Promise<void> {
  await vi.waitUntil(async () => (await env.DB.prepare("SELECT state FROM conversations WHERE id = ?").bind(id).first<{ state: string }>())?.state === state);
  await scheduler.wait(5);
}

it("rows written when a conversation is created, schema included", async () => {
  resetCost();
  const id = await created();
  await delivered(id, "idle");
  measure("rows: create a conversation", rowsWritten(), 40);
});

for (const words of [40, 400]) {
  it(`rows written for a text turn of ${words} deltas`, async () => {
    const id = await created();
    const laptop = await Device.connect(id, "ana");
    await delivered(id, "idle");
    resetCost();
    await laptop.say(`say ${words} words`);
    await laptop.rest("completed");
    await delivered(id, "idle");
    measure(`rows: text turn of ${words} deltas`, rowsWritten(), 10);
  });
}

it("rows written and alarms set for a whole approval cycle", async () => {
  const id = await created();
  const laptop = await Device.connect(id, "ana");
  await delivered(id, "idle");
  resetCost();
  await laptop.say("Transfer 250 EUR from operations to savings");
  const card = await laptop.card();
  await laptop.rest("suspended");
  await delivered(id, "paused");
  await laptop.decide(card, "approve");
  await laptop.rest("completed");
  await delivered(id, "idle");
  measure("rows: approval cycle", rowsWritten(), 26);
  measure("alarms: approval cycle", cost.alarms, 4);
});
