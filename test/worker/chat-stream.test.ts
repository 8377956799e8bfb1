import { abortAllDurableObjects, evictDurableObject, SELF } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Chunk } from "../../src/protocol/frames.js";
import { Client, history, newConversation, normal, until, type Server } from "../e2e/ai-sdk-kit.js";
import { propose, say, ScriptedModel, type Answer } from "../kit/model.js";
import { makeTool, standardTools, type Run } from "../kit/tools.js";
import { control, resetControl } from "./entry.js";
import { api, BASE, migrateD1, stubOf } from "./kit.js";

// What the demo model can't bring about: steps that a script decides, seen by a stock AI SDK client.

const server: Server = { url: BASE, fetch: ((url: string, init?: RequestInit) => SELF.fetch(url, init)) as typeof fetch };

let runs: Run[];
let model: ScriptedModel;
/** Lets the slow tool end. */
let release: () => void;

beforeEach(async () => {
  await migrateD1();
  runs = [];
  model = new ScriptedModel();
  const released = new Promise<void>((resolve) => (release = resolve));
  const slow = { execute: () => released.then(() => "slow is done") };
  const tools = [
    ...standardTools(runs),
    makeTool(runs, { name: "crawl", policy: () => ({ verdict: "allow" }), ...slow }),
    makeTool(runs, { name: "crawl_if_asked", ...slow }),
    makeTool(runs, { name: "break", execute: () => Promise.reject(new Error("it broke")) }),
  ];
  control.tools = new Map(tools.map((tool) => [tool.name, tool]));
  control.model = model.model;
});
afterEach(async () => {
  release();
  vi.useRealTimers();
  resetControl();
  await abortAllDurableObjects();
});

const pay = (to: string, amount = 5): Chunk[] => propose("pay", { to, amount });

async function asked(...answers: Answer[]): Promise<Client> {
  model.then(...answers);
  const client = new Client(server, { id: await newConversation(server) });
  await client.say("go");
  return client;
}

describe("a stock AI SDK client and steps of every shape", () => {
  it("[H7] a later approval in the same run is asked and answered in the same message", async () => {
    const client = await asked([...say("First. "), ...pay("a")], [...say("Now the next. "), ...pay("b"), ...pay("c")], say("All done."));
    client.answer(client.asked[0]!, true);
    await client.rested(2);
    await client.expectInStep({ posts: 2 });
    const [b = "", c = ""] = client.asked;
    client.answer(c, false, "no");
    client.answer(b, true);
    await client.rested(3);
    await client.expectInStep({ posts: 3 });
    expect(client.chat.messages).toHaveLength(2);
    expect(client.states).toEqual(["output-available", "output-available", "output-denied"]);
    expect(runs.map(({ input }) => input)).toEqual([expect.objectContaining({ to: "a" }), expect.objectContaining({ to: "b" })]);
  });

  it("[C13] a client that is a whole step behind answers: it gets its step as it became, and all that came after", async () => {
    const client = await asked(pay("a"), pay("b"), say("Done."));
    const stale = new Client(server, { id: client.id, messages: structuredClone(client.chat.messages) });
    client.answer(client.asked[0]!, true);
    await client.rested(2);
    stale.answer(stale.asked[0]!, false, "no");
    await stale.rested(1);
    await stale.expectInStep({ posts: 1 });
    expect(stale.asked).toEqual(client.asked);
    expect(runs).toHaveLength(1);
  });

  it("[H7] a call that waits for its siblings doesn't hold the answers back", async () => {
    const client = await asked([...pay("a"), ...propose("notify", { of: "a" })], say("Done."));
    expect(client.states).toEqual(["approval-requested", "approval-responded"]);
    client.answer(client.asked[0]!, true);
    await client.rested(2);
    await client.expectInStep({ posts: 2 });
    expect(runs.map(({ tool }) => tool)).toEqual(["pay", "notify"]);
  });

  it("[H7] a call that waited for a rejected sibling is shown as not run", async () => {
    const client = await asked([...pay("a"), ...propose("notify", { of: "a" })], say("Done."));
    client.answer(client.asked[0]!, false);
    await client.rested(2);
    await client.expectInStep({ posts: 2 });
    expect(client.states).toEqual(["output-denied", "output-error"]);
  });

  it("[H7] the stream stays open while an ungated sibling runs; an answer given meanwhile is sent when it ends", async () => {
    model.then([...pay("a"), ...propose("crawl", {})], say("Done."));
    const client = new Client(server, { id: await newConversation(server) });
    const first = client.say("go");
    await until("the card", () => client.asked.length === 1);
    expect(client.chat.status).toBe("streaming");
    client.answer(client.asked[0]!, true);
    release();
    await first;
    await client.expectInStep({ posts: 2 });
    expect(client.states).toEqual(["output-available", "output-available"]);
  });

  it("[C2] decided elsewhere while the stream is open: the open stream brings it, and nothing more is asked", async () => {
    model.then([...pay("a"), ...propose("crawl", {})], say("Done."));
    const client = new Client(server, { id: await newConversation(server) });
    const first = client.say("go");
    const [card = ""] = await until("the card", () => client.asked.length === 1 && client.asked);
    expect((await api("ana", "POST", "/api/chat/resume", { pausePointId: card, decision: "approve", payloadOverride: { to: "a", amount: 4 } })).status).toBe(200);
    await until("the payment", () => runs.some(({ tool }) => tool === "pay"));
    release();
    await first;
    await client.expectInStep({ posts: 1 });
    expect(runs.find(({ tool }) => tool === "pay")?.input).toMatchObject({ amount: 4 });
  });

  it("[H12] a card whose values were edited elsewhere into a stricter rule: a late approval of the old card decides nothing and shows the new one", async () => {
    const client = await asked(pay("a"), say("Done."));
    const [card = ""] = client.asked;
    const edit = await api("ana", "POST", "/api/chat/resume", { pausePointId: card, decision: "approve", payloadOverride: { to: "a", amount: 2000 } });
    expect([edit.status, edit.body.code]).toEqual([409, "changed"]);
    client.answer(card, true);
    await client.rested(2);
    await client.expectInStep({ posts: 2 });
    expect(client.transient).toEqual([{ type: "data-decision", data: { pausePointId: card, code: "changed", message: expect.any(String) } }]);
    expect(client.chat.messages[1]?.parts[1]).toMatchObject({ state: "approval-requested", input: { to: "a", amount: 2000, note: "none" } });
    expect(runs).toEqual([]);
    client.answer(card, true);
    await client.rested(3);
    await client.expectInStep({ posts: 3 });
    expect(runs.map(({ input }) => input)).toEqual([{ to: "a", amount: 2000, note: "none" }]);
  });

  it("[H17] an approved tool that takes its time keeps the one response open: no endless requests", async () => {
    const client = await asked(propose("crawl_if_asked", {}), say("Done."));
    client.answer(client.asked[0]!, true);
    await until("the start of the tool", () => runs.length === 1);
    // Many round trips, in which a client whose answer had ended would have asked again.
    for (let trip = 0; trip < 20; trip += 1) await history(server, client.id);
    expect(client.posts).toBe(2);
    release();
    await client.rested(2);
    await client.expectInStep({ posts: 2 });
  });

  it("[C53] approved, and the tool failed: the part says so, and who approved", async () => {
    const client = await asked(propose("break", {}), say("Sorry."));
    client.answer(client.asked[0]!, true);
    await client.rested(2);
    await client.expectInStep({ posts: 2 });
    expect(client.states).toEqual(["output-error"]);
  });

  it("[C21] a card that expired before the answer is shown as not decided by anybody", async () => {
    control.limits = { expiresInMs: 1 };
    const client = await asked(pay("a"), say("Nobody decided."));
    client.answer(client.asked[0]!, true);
    await client.rested(2);
    await client.expectInStep({ posts: 2 });
    expect(client.states).toEqual(["output-denied"]);
    expect(runs).toEqual([]);
  });
});

describe("a stock AI SDK client and what models stream", () => {
  it("[H8] an attempt that is cut loses its calls and keeps its words, on the screen as in the history", async () => {
    const half: Chunk[] = [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: "I will pay " }];
    const started: Chunk[] = [{ type: "tool-input-start", toolCallId: "x", toolName: "pay" }, { type: "tool-input-delta", toolCallId: "x", inputTextDelta: '{"to"' }];
    for (const after of [half, [...say("I will pay "), ...pay("a")], [...half, ...started]]) {
      const client = await asked({ throws: "the line broke", after });
      await client.expectInStep({ posts: 1 });
      expect(client.text).toBe("I will pay ");
      expect(client.states).toEqual([]);
    }
    expect(runs).toEqual([]);
  });

  it("[H6] what is shown is what the schema made of the model's input", async () => {
    const client = await asked([{ type: "tool-input-start", toolCallId: "x", toolName: "pay" }, { type: "tool-input-available", toolCallId: "x", toolName: "pay", input: { to: "a", amount: 5, extra: 1 }, dynamic: true, title: "Pay" }]);
    await client.expectInStep({ posts: 1 });
    expect(client.chat.messages[1]?.parts[1]).toMatchObject({ type: "tool-pay", input: { to: "a", amount: 5, note: "none" } });
  });

  it("[C12] [H14] reused ids, empty texts, reasoning, sources and provider metadata arrive as they are stored", async () => {
    const metadata = { provider: { signature: "s" } };
    const client = await asked(
      [
        { type: "reasoning-start", id: "r", providerMetadata: metadata },
        { type: "reasoning-delta", id: "r", delta: "hm" },
        { type: "reasoning-end", id: "r" },
        { type: "text-start", id: "t" },
        { type: "text-end", id: "t" },
        ...say("Look: "),
        { type: "source-url", sourceId: "s1", url: "https://example.com/", title: "Example" },
        { type: "tool-input-available", toolCallId: "call_1", toolName: "look", input: { at: 1 }, providerMetadata: metadata },
        { type: "tool-input-available", toolCallId: "call_1", toolName: "look", input: { at: 2 } },
      ],
      [...propose("look", { at: 3 }, "call_1"), ...propose("nothing_like_it", {}, "__proto__")],
      say("Done."),
    );
    await client.expectInStep({ posts: 1 });
    const page = new Client(server, { id: client.id });
    await page.chat.resumeStream();
    expect(normal(page.chat.messages)).toEqual(normal(client.chat.messages.slice(1)));
    expect(client.states).toEqual(["output-available", "output-available", "output-available", "output-error"]);
  });

  it("[H19] a run that is cancelled while the model writes ends the stream with what was written and a sentence", async () => {
    model.then(async function* () {
      yield* say("I begin ");
      await new Promise(() => {});
    });
    const client = new Client(server, { id: await newConversation(server) });
    const first = client.say("go");
    await until("the first words", () => client.text.length > 0);
    expect((await api("ana", "POST", `/api/conversations/${client.id}/cancel`, { runId: "r1" })).status).toBe(200);
    await first;
    await client.expectInStep({ posts: 1 });
    expect(client.chat.messages.at(-1)?.parts.at(-1)).toMatchObject({ type: "data-notice", data: { code: "cancelled" } });
  });

  it("[H9] a text that a cancelled run never read is said to be unanswered when it is sent again", async () => {
    const client = await asked(pay("a"));
    await client.say("and this");
    await api("ana", "POST", `/api/conversations/${client.id}/cancel`, { runId: "r1" });
    await client.chat.sendMessage();
    expect(client.transient.map(({ type }) => type)).toEqual(["data-queued", "data-unanswered"]);
    expect(runs).toEqual([]);
  });

  it("[C32] the process dies in mid-word: the client that holds the first attempt ends with the second only", async () => {
    model.then(async function* () {
      yield* say("The first attempt ");
      await new Promise(() => {});
    }, say("The second attempt."));
    const client = new Client(server, { id: await newConversation(server) });
    const first = client.say("go");
    await until("the first words", () => client.text.length > 0);
    await abortAllDurableObjects();
    await first;
    expect(client.chat.status).toBe("error");
    await client.chat.sendMessage();
    await client.expectInStep({ posts: 2 });
    expect(client.text).toBe("The second attempt.");
  });

  it("[H4] an object that slept between card and answer goes on in the same message", async () => {
    const client = await asked(pay("a"), say("Done."));
    await evictDurableObject(stubOf(client.id));
    client.answer(client.asked[0]!, true);
    await client.rested(2);
    await client.expectInStep({ posts: 2 });
    expect(runs).toHaveLength(1);
  });

  it("[C28] what came to rest a while ago is not replayed: 204, for the history has it", async () => {
    const client = await asked(pay("a"), say("Done."));
    const page = async (): Promise<Client> => {
      const opened = new Client(server, { id: client.id, messages: await history(server, client.id) });
      await opened.chat.resumeStream();
      await opened.expectInStep({ posts: 0, gets: 1 });
      return opened;
    };
    expect((await page()).statuses).toEqual([200]);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
    expect((await page()).statuses).toEqual([204]);
    // Another device acts, and the page can catch up again.
    await api("ana", "POST", "/api/chat/resume", { pausePointId: client.asked[0], decision: "approve" });
    await client.chat.resumeStream();
    await client.expectInStep({ posts: 1, gets: 1 });
  });
});
