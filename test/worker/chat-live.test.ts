import { abortAllDurableObjects, evictDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import type { Chunk } from "../../src/protocol/frames.js";
import { Client, history, newConversation, normal, until, WIRES } from "../e2e/ai-sdk-kit.js";
import { propose, say } from "../kit/model.js";
import { over, pay, useScript } from "./chat-kit.js";
import { api, stubOf } from "./kit.js";

// Streams that are cut, stopped, resumed or taken up by another page, seen by a stock AI SDK client.

const script = useScript();

/** An answer that waits in its middle until the test lets it go on. */
const halting = async function* (): AsyncGenerator<Chunk> {
  yield* say("The first half, ").slice(0, -1);
  await script.released;
  yield { type: "text-delta", id: "t", delta: "and the second." };
  yield { type: "text-end", id: "t" };
};

describe.each(WIRES)("a stock AI SDK client over %s and what models stream", (wire) => {
  const { server, asked } = over(wire);

  it("[H8] an attempt that is cut loses its calls and keeps its words, on the screen as in the history", async () => {
    const half: Chunk[] = [
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "I will pay " },
    ];
    const started: Chunk[] = [
      { type: "tool-input-start", toolCallId: "x", toolName: "pay" },
      { type: "tool-input-delta", toolCallId: "x", inputTextDelta: '{"to"' },
    ];
    for (const after of [half, [...say("I will pay "), ...pay("a")], [...half, ...started]]) {
      const client = await asked(script, { throws: "the line broke", after });
      await client.expectInStep({ posts: 1 });
      expect(client.text).toBe("I will pay ");
      expect(client.states).toEqual([]);
    }
    expect(script.runs).toEqual([]);
  });

  it("[H6] what is shown is what the schema made of the model's input", async () => {
    const client = await asked(script, [
      { type: "tool-input-start", toolCallId: "x", toolName: "pay" },
      { type: "tool-input-available", toolCallId: "x", toolName: "pay", input: { to: "a", amount: 5, extra: 1 }, dynamic: true, title: "Pay" },
    ]);
    await client.expectInStep({ posts: 1 });
    expect(client.chat.messages[1]?.parts[1]).toMatchObject({ type: "tool-pay", input: { to: "a", amount: 5, note: "none" } });
  });

  it("[C12] [H14] reused ids, empty texts, reasoning, sources and provider metadata arrive as they are stored", async () => {
    const metadata = { provider: { signature: "s" } };
    const client = await asked(
      script,
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
    await page.resume();
    expect(normal(page.chat.messages)).toEqual(normal(client.chat.messages.slice(1)));
    expect(client.states).toEqual(["output-available", "output-available", "output-available", "output-error"]);
  });

  it("[H19] a run that is cancelled while the model writes ends the stream with what was written and a sentence", async () => {
    script.model.plan(async function* () {
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
    const client = await asked(script, pay("a"));
    await client.say("and this");
    await api("ana", "POST", `/api/conversations/${client.id}/cancel`, { runId: "r1" });
    await client.chat.sendMessage();
    expect(client.transient.map(({ type }) => type)).toEqual(["data-queued", "data-unanswered"]);
    expect(script.runs).toEqual([]);
  });

  it("[C32] the process dies in mid-word: the client that holds the first attempt ends with the second only", async () => {
    script.model.plan(async function* () {
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
    const client = await asked(script, pay("a"), say("Done."));
    await evictDurableObject(stubOf(client.id));
    client.answer(client.asked[0]!, true);
    await client.rested(2);
    await client.expectInStep({ posts: 2 });
    expect(script.runs).toHaveLength(1);
  });

  it("[C28] what came to rest a while ago is not replayed, for the history has it", async () => {
    const client = await asked(script, pay("a"), say("Done."));
    const page = async (): Promise<Client> => new Client(server, { id: client.id, messages: await history(server, client.id) });
    const soon = await page();
    await soon.resume();
    await soon.expectInStep({ posts: 0, gets: 1 });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
    const late = await page();
    await late.resumeForNothing();
    await late.expectInStep({ posts: 0, gets: 1 });
    // Another device acts, and the page can catch up again.
    await api("ana", "POST", "/api/chat/resume", { pausePointId: client.asked[0], decision: "approve" });
    await client.resume();
    await client.expectInStep({ posts: 1, gets: 1 });
  });

  it("[H4] stopping the stream on the client cancels nothing", async () => {
    script.model.plan(halting);
    const client = new Client(server, { id: await newConversation(server) });
    const first = client.say("go");
    await until("the first words", () => client.text.length > 0);
    await client.chat.stop();
    await first;
    script.release();
    await until("the end of the run", async () => (await api("ana", "GET", `/api/conversations/${client.id}`)).body.run.status === "completed");
    expect(client.text).toBe("The first half, ");
    await client.resume();
    await client.expectInStep({ posts: 1, gets: 1 });
    expect(client.text).toBe("The first half, and the second.");
  });

  it("[H9] text typed while an answer streams is queued; one resumed stream carries the rest of that answer and the next", async () => {
    script.model.plan(halting, say("The next answer."));
    const client = new Client(server, { id: await newConversation(server) });
    const first = client.say("go");
    await until("the first words", () => client.text.length > 0);
    const early = await history(server, client.id);
    const page = new Client(server, { id: client.id, messages: early });
    const resumed = page.resume();
    await until("the same words", () => page.text.length > 0);
    const other = new Client(server, { id: client.id });
    await other.say("and this");
    expect(other.transient.map(({ type }) => type)).toEqual(["data-queued"]);
    // The answer has its place before the text that waits, though no step of it is stored.
    const meanwhile = await history(server, client.id);
    expect(meanwhile.map(({ role, parts }) => [role, parts.length])).toEqual([
      ["user", 1],
      ["assistant", 0],
      ["user", 1],
    ]);
    const reloaded = new Client(server, { id: client.id, messages: meanwhile });
    const replayed = reloaded.resume();
    await until("the same words", () => reloaded.text.length > 0);
    script.release();
    await Promise.all([first, resumed, replayed]);
    await reloaded.expectInStep({ posts: 0, gets: 1 });
    // A stream carries no person's text, so that one comes with the next look at the history.
    expect(normal(page.chat.messages)).toEqual(normal((await history(server, client.id)).filter(({ id }) => id !== other.chat.messages[0]?.id)));
    expect(page.chat.messages.map(({ id }) => id)).toEqual([client.chat.messages[0]?.id, "m2", "m4"]);
    expect([client.posts, page.posts, page.gets, other.posts]).toEqual([1, 0, 1, 1]);
    // A page that read the history then, and resumes only now, has missed the end of the first of the two.
    const late = new Client(server, { id: client.id, messages: early });
    await late.resume();
    expect(normal(late.chat.messages)).toEqual(normal(page.chat.messages));
  });
});
