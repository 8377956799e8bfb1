import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { getLocation } from "../../src/tools/get-location.js";
import { propose, say } from "../kit/model.js";
import { control } from "./entry.js";
import { over, pay, useScript } from "./chat-kit.js";
import { api, Device, migrateD1, newConversation, stubOf } from "./kit.js";

const scripted = useScript();
beforeEach(migrateD1);
afterEach(() => void vi.restoreAllMocks());

it("[H10] over HTTP: a decision that was applied is not answered with 403", async () => {
  control.tools?.set(getLocation.name, getLocation);
  scripted.model.plan([...propose("get_location", { reason: "x" }), ...pay("bob")], say("Thanks."));
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  await laptop.say("where am I", { messageId: "u1" });
  await laptop.until(() => laptop.cards.size === 2);
  const { messages } = (await api("ben", "GET", `/api/conversations/${id}/messages`)).body;
  const last = messages.at(-1);
  // What Ben's stock client sends: he approved the payment, and its own onToolCall answered the question to Ana's device.
  const parts = last.parts.map((part: { type: string; approval?: object }) =>
    part.type === "tool-get_location"
      ? { ...part, state: "output-available", output: { latitude: 1, longitude: 2, accuracyMeters: 3 } }
      : part.type === "tool-pay"
        ? { ...part, state: "approval-responded", approval: { ...part.approval, approved: true } }
        : part,
  );
  const answer = await api("ben", "POST", "/api/chat", { id, messages: [{ ...last, parts }] });
  await laptop.until(() => [...laptop.cards.values()].some((card) => card.state === "approved"));
  expect(answer.status).toBe(200);
});

it("[H18] [H20] forty-five long refusals in one step of RESUME_MODE=message, on the real store", async () => {
  control.resume = { mode: "message", auto: true };
  const cards = 45;
  scripted.model.plan(Array.from({ length: cards }, (_, n) => pay("bob", n + 1)).flat(), say("Done."));
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  await laptop.say("go", { messageId: "u1" });
  await laptop.until(() => laptop.cards.size === cards);
  for (let n = 1; n <= cards; n += 1) {
    const { status } = await api("ben", "POST", "/api/chat/resume", { pausePointId: `${id}.${n}`, decision: "reject", reply: "x".repeat(120 * 1024) });
    expect(status).toBe(200);
  }
  const newestRun = () =>
    runInDurableObject(stubOf(id), (_, state) => state.storage.sql.exec<{ turn: number; status: string }>("SELECT turn, status FROM runs ORDER BY turn DESC LIMIT 1").one());
  await expect.poll(newestRun).toEqual({ turn: 2, status: "completed" });
  const largest = await runInDurableObject(stubOf(id), (_, state) => state.storage.sql.exec<{ n: number }>("SELECT max(length(parts)) AS n FROM steps").one().n);
  expect(largest).toBeLessThanOrEqual(1024 * 1024);
}, 60_000);

it("[H16] what went wrong on a chat socket is logged without a person's words", async () => {
  const lines: string[] = [];
  for (const level of ["log", "error"] as const) vi.spyOn(console, level).mockImplementation((line: unknown) => void lines.push(String(line)));
  const client = await over("WebSocket").asked(scripted, say("Hi."));
  // A stored text that can't be read any more (C58), and its client sends it once more.
  const [row] = await runInDurableObject(stubOf(client.id), (_, state) =>
    state.storage.sql.exec<{ message_id: string }>("UPDATE steps SET parts = 'my secret plan' WHERE role = 'user' RETURNING message_id").toArray(),
  );
  await client.chat.sendMessage({ text: "go", messageId: row!.message_id } as never).catch(() => {});
  await expect.poll(() => lines.some((line) => line.includes("chat_socket.failed"))).toBe(true);
  expect(lines.filter((line) => line.includes("secret"))).toEqual([]);
});
