import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { say } from "../kit/model.js";
import { useScript } from "./chat-kit.js";
import { api, Device, migrateD1, newConversation, stubOf } from "./kit.js";

const scripted = useScript();
beforeEach(migrateD1);
afterEach(() => void vi.restoreAllMocks());

it("[H15] a text that crosses the deletion on its way starts nothing in a conversation that is deleted", async () => {
  scripted.model.plan(say("Hi."));
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  await laptop.say("hi", { messageId: "u1" });
  await laptop.rest("completed");
  // D1 is down, so the rows stay until it has taken the tombstone.
  await runInDurableObject(stubOf(id), (instance, state) => {
    const [socket] = state.getWebSockets();
    const outcome = instance.remove({ person: "ana", device: { id: "p", name: "phone" }, via: "http" });
    expect(outcome).toMatchObject({ status: "applied" });
    // The frame was on its way when the other device deleted: it is handled in the next turn.
    instance.webSocketMessage(socket!, JSON.stringify({ type: "send", opId: "late", messageId: "late", text: "and then?" }));
  });
  const found = await runInDurableObject(stubOf(id), (_, state) => state.storage.sql.exec<{ state: string }>("SELECT state FROM conversation").one());
  expect(found.state).toBe("idle");
  expect(scripted.model.requests).toHaveLength(1);
});

it("[H15] the same, as it comes over the wire", async () => {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line: unknown) => void lines.push(String(line)));
  for (let round = 0; round < 20; round += 1) {
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    const deleted = api("ana", "DELETE", `/api/conversations/${id}`);
    let gone = false;
    void deleted.then(() => (gone = true));
    for (let n = 0; n < 150 && !gone; n += 1) {
      try {
        laptop.socket.send(JSON.stringify({ type: "send", opId: `late${n}`, messageId: `late${n}`, text: "and then?" }));
      } catch {
        break;
      }
      if (n % 3 === 0) await new Promise((resolve) => void setTimeout(resolve, 0));
    }
    await deleted;
    await expect.poll(() => laptop.closedWith).toBe(4404);
    const mine = lines.filter((line) => line.includes(id)).map((line) => (JSON.parse(line) as { event: string }).event);
    expect(mine).toContain("conversation.deleted");
    expect(mine.slice(mine.indexOf("conversation.deleted")).filter((event) => event === "text.taken" || event === "run.started")).toEqual([]);
  }
}, 60_000);
