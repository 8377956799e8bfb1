import { describe, expect, it } from "vitest";
import { Client, history, newConversation, WIRES, type Server } from "../e2e/ai-sdk-kit.js";
import { say } from "../kit/model.js";
import { over, pay, useScript } from "./chat-kit.js";
import { api, Device } from "./kit.js";

// Branches as a stock `useChat` makes them, and as every device sees them (H22).

const scripted = useScript();

async function twoTurns(server: Server): Promise<Client> {
  scripted.model.plan(say("Hi."), say("Well."));
  const client = new Client(server, { id: await newConversation(server) });
  await client.say("hi");
  await client.say("how are you");
  return client;
}

const ids = (client: Client): string[] => client.chat.messages.map(({ id }) => id);
const firstId = (client: Client): string => client.chat.messages[0]?.id ?? "";
const code = (client: Client): unknown => JSON.parse(client.chat.error?.message ?? "{}").code;

/** The branch in use as a device draws it: from the head up through the parents. */
function branchOf(device: Device): string[] {
  const conversation = device.frames.findLast((frame) => (frame.type === "welcome" || frame.type === "change") && frame.conversation);
  const branch: string[] = [];
  const head = conversation && "conversation" in conversation ? conversation.conversation?.head : null;
  for (let id = head ?? null; id !== null;) {
    const message = [...device.messages.values()].find(({ messageId }) => messageId === id);
    if (!message) break;
    branch.unshift(message.messageId);
    id = message.parentId;
  }
  return branch;
}

describe.each(WIRES)("a stock client over %s", (wire) => {
  const { server } = over(wire);

  it("[H22] [C40] edits its text under the same id, and has the new branch as the server has it", async () => {
    const client = await twoTurns(server);
    scripted.model.plan(say("Bonjour."));
    await client.chat.sendMessage({ text: "salut", messageId: firstId(client) });
    expect(client.text).toBe("Bonjour.");
    await client.expectInStep({ posts: 3 });
    // A retry of that very request is the same turn.
    await client.chat.sendMessage({ text: "salut", messageId: firstId(client) });
    await client.expectInStep({ posts: 4 });
    expect(scripted.model.requests).toHaveLength(3);
  });

  it("[H22] regenerates the last answer and an earlier one; each is kept as a sibling", async () => {
    const client = await twoTurns(server);
    scripted.model.plan(say("Very well."), say("Hello."));
    await client.chat.regenerate();
    expect(client.text).toBe("Hi.\nVery well.");
    await client.expectInStep({ posts: 3 });
    await client.chat.regenerate({ messageId: "m2" });
    expect(client.text).toBe("Hello.");
    await client.expectInStep({ posts: 4 });
    const laptop = await Device.connect(client.id, "ana");
    expect([...laptop.messages.values()].filter(({ role, parentId }) => role === "assistant" && parentId === firstId(client)).map(({ messageId }) => messageId)).toEqual([
      "m2",
      "m6",
    ]);
  });

  it("[H22] is told that the agent is at work when it edits or regenerates meanwhile, unless it withdraws", async () => {
    const client = await twoTurns(server);
    scripted.model.plan(pay("bob"), say("Forget it."));
    await client.say("pay bob");
    const [card = ""] = client.asked;
    await client.chat.sendMessage({ text: "salut", messageId: firstId(client) });
    expect([client.chat.status, code(client)]).toEqual(["error", "run_live"]);
    client.chat.messages = await history(server, client.id);
    client.chat.clearError();
    await client.chat.regenerate();
    expect([client.chat.status, code(client)]).toEqual(["error", "run_live"]);
    expect((await api("ana", "GET", `/api/approvals/${card}`)).body.state).toBe("pending");
    client.chat.clearError();
    await client.chat.regenerate({ body: { withdraw: true } });
    expect((await api("ana", "GET", `/api/approvals/${card}`)).body.state).toBe("cancelled");
    expect(client.text).toContain("Forget it.");
    await client.expectInStep({ posts: 6 });
    expect(scripted.runs).toEqual([]);
  });

  it("[H22] goes on with the branch that another device has chosen, after a reload", async () => {
    const client = await twoTurns(server);
    scripted.model.plan(say("Bonjour."), say("Fine."));
    await client.chat.sendMessage({ text: "salut", messageId: firstId(client) });
    const phone = await Device.connect(client.id, "ana", "phone");
    expect((await phone.command({ type: "head", messageId: "m2" })).status).toBe("applied");
    const reloaded = new Client(server, { id: client.id, messages: await history(server, client.id) });
    await reloaded.expectInStep({ posts: 0 });
    expect(reloaded.text).toBe("Hi.\nWell.");
    await reloaded.say("and now");
    expect(reloaded.text).toBe("Hi.\nWell.\nFine.");
    await reloaded.expectInStep({ posts: 1 });
    // Its first text has the id that the server gave the older version, and can be edited all the same.
    scripted.model.plan(say("Hey."));
    await reloaded.chat.sendMessage({ text: "hey", messageId: firstId(reloaded) });
    expect(reloaded.text).toBe("Hey.");
    await reloaded.expectInStep({ posts: 2 });
  });

  it("[H22] edits under a new id, and regenerates a text that had never arrived", async () => {
    const client = await twoTurns(server);
    const edited = { id: "u9", role: "user", parts: [{ type: "text", text: "salut" }] };
    expect((await api("ana", "POST", "/api/chat", { id: client.id, messages: [edited], messageId: firstId(client) })).status).toBe(200);
    expect((await history(server, client.id)).map(({ id }) => id)[0]).toBe("u9");
    const lost = { id: "u10", role: "user", parts: [{ type: "text", text: "lost" }] };
    await api("ana", "POST", "/api/chat", { id: client.id, messages: [lost], trigger: "regenerate-message" });
    expect((await history(server, client.id)).map(({ id }) => id)).toEqual(["u9", "m6", "u10", "m8"]);
  });
});

describe("the tree", () => {
  const { server } = over("HTTP");

  it("[H22] is the same on every device, with a card in each branch, and survives a reload", async () => {
    const id = await newConversation(server);
    const laptop = await Device.connect(id, "ana");
    const phone = await Device.connect(id, "ana", "phone");
    scripted.model.plan(pay("bob"), say("Not paid."), pay("eve"));
    await laptop.say("pay", { messageId: "u1" });
    await laptop.decide(await laptop.card(), "reject");
    await laptop.rest("completed");
    expect((await laptop.command({ type: "regenerate", messageId: "m2" })).status).toBe("applied");
    await phone.card();
    for (const device of [laptop, phone, await Device.connect(id, "ana", "tablet")]) {
      await device.rest("suspended");
      expect(branchOf(device)).toEqual(["u1", "m3"]);
      expect([...device.cards.values()].map(({ state }) => state)).toEqual(["rejected", "pending"]);
    }
    await phone.decide(await phone.card(), "approve");
    await phone.rest("completed");
    expect((await phone.command({ type: "head", messageId: "m2" })).status).toBe("applied");
    for (const device of [laptop, phone, await Device.connect(id, "ana", "watch")]) {
      await device.until(() => branchOf(device).at(-1) === "m2");
      expect([...device.cards.values()].map(({ state }) => state)).toEqual(["rejected", "approved"]);
    }
    expect(scripted.runs.map(({ input }) => input)).toEqual([expect.objectContaining({ to: "eve", amount: 5 })]);
  });

  it("[H22] [C42] a head is chosen over HTTP by who may write, and only to a message that is there", async () => {
    const client = await twoTurns(server);
    scripted.model.plan(say("Anew."));
    await client.chat.regenerate({ messageId: "m2" });
    const patch = (person: string, body: object) => api(person, "PATCH", `/api/conversations/${client.id}`, body);
    await api("ana", "PUT", `/api/conversations/${client.id}/members/vic`, { role: "viewer" });
    expect((await patch("vic", { head: "m2" })).status).toBe(403);
    expect((await patch("mallory", { head: "m2" })).status).toBe(404);
    expect((await patch("ana", { head: "m99" })).status).toBe(404);
    expect((await patch("ana", { head: "m2" })).body.head).toBe("m4");
    expect((await history(server, client.id)).map(({ id }) => id)).toEqual([...ids(client).slice(0, 1), "m2", expect.any(String), "m4"]);
    // Pages of one branch leave out the others.
    const page = (await api("ana", "GET", `/api/conversations/${client.id}/messages?limit=2`)).body;
    expect(page.messages).toHaveLength(2);
    expect((await api("ana", "GET", `/api/conversations/${client.id}/messages?limit=2&before=${page.before}`)).body.messages.map(({ id }: { id: string }) => id)).toEqual([
      firstId(client),
      "m2",
    ]);
  });
});
