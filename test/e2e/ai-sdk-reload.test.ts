import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startServer, type Server } from "../../src/cli/server.js";
import { api, Client, history, newConversation, transfers, until } from "./ai-sdk-kit.js";

let server: Server;
beforeAll(async () => {
  server = await startServer({ vars: { DEMO_DELAY_MS: "5" } });
});
afterAll(() => server.stop());

const ONE = "Transfer 250 EUR from operations to savings";

const fresh = async (more: Partial<ConstructorParameters<typeof Client>[1]> = {}): Promise<Client> => new Client(server, { id: await newConversation(server), ...more });

/** The same conversation in a page that has just been loaded: the history, then a resumed stream. */
async function reload(client: Client): Promise<Client> {
  const page = new Client(server, { id: client.id, messages: await history(server, client.id) });
  await page.chat.resumeStream();
  return page;
}

describe("a stock AI SDK client over HTTP: reload and resume", () => {
  it("[C28] nothing has run yet: 204, and the page stays ready", async () => {
    const client = await fresh();
    await client.chat.resumeStream();
    await client.expectInStep({ posts: 0, gets: 1 });
    expect(client.statuses).toEqual([204]);
  });

  it("[H4] [C28] a reload in mid-answer gets the whole of it, while the first page goes on or goes away", async () => {
    const client = await fresh();
    const first = client.say("say 60 words");
    await until("the first words", () => client.text.split(" ").length > 5);
    const page = await reload(client);
    await page.expectInStep({ posts: 0, gets: 1 });
    expect(page.text.split(" ")).toHaveLength(60);
    await first;
    await client.expectInStep({ posts: 1 });
  });

  it("[C28] a reload while a card waits shows the same card, which can be approved there", async () => {
    const client = await fresh();
    await client.say(ONE);
    const page = await reload(client);
    expect(page.asked).toEqual(client.asked);
    page.answer(page.asked[0]!, true);
    await page.rested(1);
    await page.expectInStep({ posts: 1, gets: 1 });
    expect(await transfers(server, client.id)).toEqual([250]);
  });

  it("[C28] history read in mid-run, and the run settles before the resume: the page is made whole all the same", async () => {
    const client = await fresh();
    const first = client.say("list the accounts");
    const half = await until("the question in the history", async () => {
      const messages = await history(server, client.id);
      return messages.length > 0 ? messages : null;
    });
    await first;
    const page = new Client(server, { id: client.id, messages: half });
    await page.chat.resumeStream();
    await page.expectInStep({ posts: 0, gets: 1 });
    expect(page.statuses).toEqual([200]);
  });

  it("[C28] a page that shows a waiting card learns by resuming that it was decided elsewhere, by whom, and what came of it", async () => {
    const client = await fresh();
    await client.say(ONE);
    await api(server, "ana", "POST", "/api/chat/resume", { pausePointId: client.asked[0], decision: "reject", reply: "not this week" });
    await client.chat.resumeStream();
    await client.expectInStep({ posts: 1, gets: 1 });
    expect(client.states).toEqual(["output-denied"]);
    expect(client.text).toContain("not this week");
  });

  it("[H9] a page reloaded while a text waits sees both answers in one resumed stream", async () => {
    const client = await fresh();
    await client.say(ONE);
    await client.say("say 5 words");
    const page = await reload(client);
    page.answer(page.asked[0]!, true);
    await page.chat.sendMessage();
    await page.chat.resumeStream();
    await page.expectInStep({ posts: 1, gets: 2 });
    await client.chat.resumeStream();
    await client.expectInStep({ posts: 2, gets: 1 });
    expect(client.chat.messages).toHaveLength(4);
  });
});

describe("a stock AI SDK client over HTTP: cuts and errors", () => {
  it("[C33] a text whose answer was cut before its first byte is sent again by the client: one message, one run", async () => {
    const client = await fresh({ cutAfter: (request) => (request === 1 ? 0 : null) });
    await client.say(ONE);
    expect(client.chat.status).toBe("error");
    await client.chat.sendMessage();
    await client.expectInStep({ posts: 2 });
    expect(client.asked).toHaveLength(1);
  });

  it("[C31] an answer cut in mid-word is made whole by sending again, every part once", async () => {
    const client = await fresh({ cutAfter: (request) => (request === 1 ? 600 : null) });
    await client.say("say 40 words");
    expect(client.chat.status).toBe("error");
    expect(client.text.length).toBeGreaterThan(0);
    await client.chat.sendMessage();
    await client.expectInStep({ posts: 2 });
    expect(client.text.split(" ")).toHaveLength(40);
  });

  it("[C31] an answer cut in mid-word is made whole by resuming", async () => {
    const client = await fresh({ cutAfter: (request) => (request === 1 ? 600 : null) });
    await client.say("say 40 words");
    await client.chat.resumeStream();
    await client.expectInStep({ posts: 1, gets: 1 });
    expect(client.text.split(" ")).toHaveLength(40);
  });

  it("[C5] an approval whose answer was cut is sent again: the money moves once", async () => {
    const client = await fresh({ cutAfter: (request) => (request === 2 ? 150 : null) });
    await client.say(ONE);
    client.answer(client.asked[0]!, true);
    await client.rested(2);
    expect(client.chat.status).toBe("error");
    await client.chat.sendMessage();
    await client.expectInStep({ posts: 3 });
    expect(await transfers(server, client.id)).toEqual([250]);
  });

  it("[C34] a model that fails in mid-answer leaves its words and a sentence about it; the next text works", async () => {
    const client = await fresh();
    await client.say("fail after 5 words");
    await client.expectInStep({ posts: 1 });
    expect(client.chat.messages.at(-1)?.parts.at(-1)).toMatchObject({ type: "data-notice", data: { code: "error" } });
    await client.say("fail at once");
    await client.say("say 5 words");
    await client.expectInStep({ posts: 3 });
  });

  it("[H14] calls that can't work end as errors on the screen, without more requests", async () => {
    const client = await fresh();
    await client.say("broken call");
    await client.say("unknown tool");
    await client.say("say nothing");
    await client.expectInStep({ posts: 3 });
    expect(client.states).toEqual(["output-error", "output-error"]);
  });

  it("[C14] a chat id that isn't ours is the caller's own: two people with the same one have different conversations", async () => {
    const ana = new Client(server, { id: "my chat" });
    const ben = new Client(server, { id: "my chat", person: "ben" });
    await ana.chat.resumeStream();
    expect(ana.statuses).toEqual([204]);
    await Promise.all([ana.say("say 5 words"), ben.say(ONE)]);
    ben.answer(ben.asked[0]!, true);
    await ben.rested(2);
    expect([ana.states, ben.states]).toEqual([[], ["output-available"]]);
    await ana.say("say 6 words");
    expect(ana.chat.messages.map(({ id }) => id).filter((id) => /^m\d+$/.test(id))).toEqual(["m2", "m4"]);
    const again = new Client(server, { id: "my chat" });
    await again.chat.resumeStream();
    expect(again.chat.messages.at(-1)).toEqual(ana.chat.messages.at(-1));
  });
});
