import { env, runInDurableObject, SELF } from "cloudflare:test";
import { expect, it } from "vitest";
import { propose, say } from "../kit/model.js";
import { useScript } from "./chat-kit.js";
import { api, BASE, Device, newConversation, stubOf } from "./kit.js";

// What a review found, by trying to break it, where only the real object can show it.

const script = useScript();
const chat = (id: string, messageId: string, words = "x"): ReturnType<typeof api> =>
  api("ana", "POST", "/api/chat", { id, messages: [{ id: messageId, role: "user", parts: [{ type: "text", text: words }] }] });

it("[H15] an id of the caller's own whose conversation was deleted stays gone, and is no server error", async () => {
  script.model.plan(say("hi"));
  expect((await chat("my-chat", "a1")).status).toBe(200);
  const mine = async (): Promise<{ id: string }[]> => (await api("ana", "GET", "/api/conversations")).body.items.filter((item: { title: string }) => item.title === "x");
  await expect.poll(async () => (await mine()).length).toBe(1);
  const id = (await mine())[0]!.id;
  expect((await api("ana", "DELETE", `/api/conversations/${id}`)).status).toBe(204);
  expect((await chat("my-chat", "a2")).status).toBe(404);
});

it("[H20] pages of the transcript lose no step of a message", async () => {
  script.model.plan(propose("look", {}), say("done"));
  const id = await newConversation();
  await chat(id, "a1");
  const seen: string[] = [];
  for (let before = ""; ;) {
    const { body } = await api("ana", "GET", `/api/conversations/${id}/messages?limit=1${before}`);
    seen.unshift(...body.messages.flatMap((message: { parts: { type: string }[] }) => message.parts.map((part) => part.type)));
    if (body.before === null) break;
    before = `&before=${body.before}`;
  }
  expect(seen).toEqual(["text", "step-start", "tool-look", "step-start", "text"]);
});

it("a member who is removed gets nothing more of a stream that is open", async () => {
  let open = false;
  script.model.plan(async function* () {
    yield* say("one ");
    while (!open) await scheduler.wait(1);
    yield* say("SECRET ");
  });
  const id = await newConversation();
  const asking = chat(id, "a1");
  let stream = new Response();
  await expect
    .poll(async () => {
      stream = await SELF.fetch(`${BASE}/api/chat/${id}/stream`, { headers: { authorization: "Bearer local:vic" } });
      return stream.status;
    })
    .toBe(200);
  expect((await api("ana", "DELETE", `/api/conversations/${id}/members/vic`)).status).toBe(204);
  open = true;
  expect(await stream.text()).not.toContain("SECRET");
  expect((await asking).body).toContain("SECRET");
});

it("[H15] [H21] deleting tells D1 of every card, however many there are, before the rows go", async () => {
  script.model.plan(Array.from({ length: 45 }, (_, n) => propose("pay", { to: `b${n}`, amount: 5 })).flat());
  const id = await newConversation();
  await chat(id, "a1");
  const count = async (state: string): Promise<number> =>
    (await env.DB.prepare("SELECT count(*) AS n FROM pause_points WHERE conversation_id = ? AND state = ?").bind(id, state).first<{ n: number }>())?.n ?? 0;
  await expect.poll(() => count("pending")).toBe(45);
  await api("ana", "DELETE", `/api/conversations/${id}`);
  await expect.poll(() => count("cancelled")).toBe(45);
  await expect.poll(() => runInDurableObject(stubOf(id), (_, state) => state.storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM pause_points").one().n)).toBe(0);
});

it("[S1] [S3] a device joins while a large tool input streams: the welcome, then the input, without a gap", async () => {
  script.model.plan(...Array.from({ length: 8 }, () => say("z".repeat(15_000))), async function* () {
    yield* propose("look", { big: "y".repeat(700_000) });
    await scheduler.wait(60_000);
  });
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  for (let turn = 1; turn <= 8; turn += 1) {
    await laptop.say(`${turn} ${"x".repeat(12_000)}`);
    await laptop.until(() => laptop.run?.runId === `r${turn}` && laptop.run.status === "completed");
  }
  await laptop.say("look");
  await laptop.until(() => laptop.frames.find((frame) => frame.type === "delta" && frame.runId === "r9"));
  const phone = await Device.connect(id, "ben", "phone");
  const delta = await phone.until(() => phone.frames.find((frame) => frame.type === "delta"));
  const live = phone.welcome?.live;
  expect(live && delta.type === "delta" && [delta.attempt, delta.n]).toEqual([live?.attempt, (live?.n ?? 0) + 1]);
  expect(delta.type === "delta" && delta.chunks[0]).toMatchObject({ type: "tool-input-available", toolName: "look" });
  await laptop.command({ type: "cancel", runId: "r9" });
  await phone.rest("cancelled");
});

it("a member who was never there is removed without a trace, and members have a limit that outsiders do not learn of", async () => {
  const id = await newConversation();
  expect((await api("ana", "DELETE", `/api/conversations/${id}/members/nobody`)).status).toBe(204);
  await Promise.all(Array.from({ length: 197 }, (_, n) => api("ana", "PUT", `/api/conversations/${id}/members/p${n}`, { role: "viewer" })));
  expect(await api("ana", "PUT", `/api/conversations/${id}/members/one-more`, { role: "viewer" })).toMatchObject({ status: 422, body: { code: "too_many_members" } });
  expect((await api("eve", "PUT", `/api/conversations/${id}/members/one-more`, { role: "viewer" })).status).toBe(404);
});
