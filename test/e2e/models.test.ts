import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startServer, type Server } from "../kit/server.js";
import { startOpenAiStandIn, type OpenAiStandIn } from "../../src/cli/stand-in/openai.js";
import { api, Client, history, newConversation, transfers } from "./ai-sdk-kit.js";

// The Worker in a real workerd, its model behind the real provider package, over HTTP: what a deployment with an
// OpenAI-compatible server does. The odd behaviours are those that workerd's own fetch has a part in.

let standIn: OpenAiStandIn;
let server: Server;
beforeAll(async () => {
  standIn = await startOpenAiStandIn({ apiKey: "sk-e2e" });
  server = await startServer({
    vars: { MODEL: "openai-compatible/stand-in", OPENAI_BASE_URL: standIn.url, OPENAI_API_KEY: "sk-e2e", MODEL_STALL_SECONDS: "3" },
  });
});
afterEach(() => expect(standIn.broken.splice(0)).toEqual([]));
afterAll(async () => {
  await server.stop();
  await standIn.close();
});

const ASK = "Transfer 250 EUR from operations to savings";

async function newClient(): Promise<Client> {
  return new Client(server, { id: await newConversation(server) });
}

/** The newest message: what was kept of its text, and the notice under it. */
async function ending(client: Client): Promise<{ text: string; notice: string }> {
  const parts = (await history(server, client.id)).at(-1)?.parts ?? [];
  return {
    text: parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(""),
    notice: parts.flatMap((part) => (part.type === "data-notice" ? [(part.data as { text: string }).text] : [])).join(""),
  };
}

async function isUsable(client: Client): Promise<void> {
  await client.say(ASK);
  expect(client.asked).toHaveLength(1);
  client.answer(client.asked[0]!, true);
  await client.rested(client.posts + 1);
  expect(await transfers(server, client.id)).toEqual([250]);
}

describe("a model behind an OpenAI-compatible server", () => {
  it("names itself, and is not marked as a demo", async () => {
    expect((await api(server, "ana", "GET", "/healthz")).body).toMatchObject({ ok: true, model: "openai-compatible/stand-in" });
  });

  it("[C5] approve: the whole cycle, and the money moves once", async () => {
    const client = await newClient();
    await isUsable(client);
    await client.expectInStep({ posts: 2 });
    expect(client.text).toContain("execute_transfer: succeeded. ana on ana's laptop decided.");
  });

  it("[H13] reject with words, [H7] two calls in one step, [H12] an edit", async () => {
    const client = await newClient();
    await client.say(`${ASK} and transfer 300 EUR from savings to payroll`);
    const [first, second] = client.asked;
    await api(server, "ana", "POST", "/api/chat/resume", { pausePointId: second, decision: "reject", reply: "Not this month." });
    const payloadOverride = { from: "operations", to: "savings", amount: 120, currency: "EUR" };
    await api(server, "ana", "POST", "/api/chat/resume", { pausePointId: first, decision: "approve", payloadOverride });
    await expect.poll(async () => (await ending(client)).text).toContain('Their words: "Not this month."');
    expect(await transfers(server, client.id)).toEqual([120]);
  });
});

describe("[H18] what goes wrong on the way is said, and the conversation can be used afterwards", () => {
  it.each([
    ["be cut", /^I am a stand-in/, /cut off before its end\. Write again/],
    ["be cut at once", /^$/, /cut off before its end/],
    ["end early", /^I am a stand-in/, /cut off before its end/],
    ["stall", /^I am a stand-in/, /sent nothing for 3 seconds/],
    ["fail with 429, wait 3600", /^$/, /\(429\)\. Write again in 60 minutes/],
    ["fail with 401", /^$/, /must check OPENAI_API_KEY/],
    ["be filtered", /^I am a stand-in/, /content filter/],
    ["say nothing", /^$/, /empty answer/],
  ])("“%s”", async (text, kept, notice) => {
    const client = await newClient();
    await client.say(text);
    const end = await ending(client);
    expect(end.notice).toMatch(notice);
    expect(end.text).toMatch(kept);
    await isUsable(client);
  });

  it("a short Retry-After is waited for, and nobody sees it", async () => {
    const client = await newClient();
    await client.say("fail once with 429, wait 1");
    expect(await ending(client)).toEqual({ text: expect.stringMatching(/^I am a stand-in/), notice: "" });
  });
});

describe("a model of Workers AI, its binding a stand-in inside the Worker", () => {
  let other: Server;
  beforeAll(async () => {
    other = await startServer({ vars: { MODEL: "workers-ai/@cf/stand-in/native" }, main: join(import.meta.dirname, "workers-ai-entry.ts") });
  });
  afterAll(() => other.stop());

  it.each(["in a stream", "as a whole"])("%s: ask, approve, answer", async (how) => {
    const client = new Client(other, { id: await newConversation(other) });
    await client.say(`${ASK}, ${how}`);
    expect(client.asked).toHaveLength(1);
    client.answer(client.asked[0]!, true);
    await client.rested(client.posts + 1);
    expect(client.text).toContain("execute_transfer: succeeded.");
    expect(await transfers(other, client.id)).toEqual([250]);
  });

  it("[H18] a cut is said, what came is kept, and the next text is answered", async () => {
    const client = new Client(other, { id: await newConversation(other) });
    await client.say("be cut");
    expect(JSON.stringify((await history(other, client.id)).at(-1))).toMatch(/I am a stand-in.*cut off before its end/);
    await client.say(ASK);
    expect(client.asked).toHaveLength(1);
  });
});

it("a server that is not there is named as unreachable", async () => {
  const other = await startServer({ vars: { MODEL: "openai-compatible/llama", OPENAI_BASE_URL: "http://127.0.0.1:9/v1" } });
  try {
    const { body } = await api(other, "ana", "POST", "/api/conversations", {});
    const client = new Client(other, { id: body.id });
    await client.say("hello");
    const messages = (await api(other, "ana", "GET", `/api/conversations/${body.id}/messages`)).body.messages;
    expect(JSON.stringify(messages.at(-1))).toMatch(/could not be reached: .*must check OPENAI_BASE_URL/);
  } finally {
    await other.stop();
  }
});
