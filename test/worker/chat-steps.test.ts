import { describe, expect, it } from "vitest";
import { Client, history, newConversation, until, WIRES } from "../e2e/ai-sdk-kit.js";
import { propose, say } from "../kit/model.js";
import { over, pay, useScript } from "./chat-kit.js";
import { control } from "./entry.js";
import { api } from "./kit.js";

// Steps that the demo model can't bring about, seen by a stock AI SDK client.

const script = useScript();

describe.each(WIRES)("a stock AI SDK client over %s and steps of every shape", (wire) => {
  const { server, asked } = over(wire);

  it("[H7] a later approval in the same run is asked and answered in the same message", async () => {
    const client = await asked(script, [...say("First. "), ...pay("a")], [...say("Now the next. "), ...pay("b"), ...pay("c")], say("All done."));
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
    expect(script.runs.map(({ input }) => input)).toEqual([expect.objectContaining({ to: "a" }), expect.objectContaining({ to: "b" })]);
  });

  it("[C13] a client that is a whole step behind answers: it gets its step as it became, and all that came after", async () => {
    const client = await asked(script, pay("a"), pay("b"), say("Done."));
    const stale = new Client(server, { id: client.id, messages: structuredClone(client.chat.messages) });
    client.answer(client.asked[0]!, true);
    await client.rested(2);
    stale.answer(stale.asked[0]!, false, "no");
    await stale.rested(1);
    await stale.expectInStep({ posts: 1 });
    expect(stale.asked).toEqual(client.asked);
    expect(script.runs).toHaveLength(1);
  });

  it("[H7] a call that waits for its siblings doesn't hold the answers back", async () => {
    const client = await asked(script, [...pay("a"), ...propose("notify", { of: "a" })], say("Done."));
    expect(client.states).toEqual(["approval-requested", "approval-responded"]);
    client.answer(client.asked[0]!, true);
    await client.rested(2);
    await client.expectInStep({ posts: 2 });
    expect(script.runs.map(({ tool }) => tool)).toEqual(["pay", "notify"]);
  });

  it("[H7] a call that waited for a rejected sibling is shown as not run", async () => {
    const client = await asked(script, [...pay("a"), ...propose("notify", { of: "a" })], say("Done."));
    client.answer(client.asked[0]!, false);
    await client.rested(2);
    await client.expectInStep({ posts: 2 });
    expect(client.states).toEqual(["output-denied", "output-error"]);
  });

  it("[H7] the stream stays open while an ungated sibling runs; an answer given meanwhile is sent when it ends", async () => {
    script.model.plan([...pay("a"), ...propose("crawl", {})], say("Done."));
    const client = new Client(server, { id: await newConversation(server) });
    const first = client.say("go");
    await until("the card", () => client.asked.length === 1);
    expect(client.chat.status).toBe("streaming");
    client.answer(client.asked[0]!, true);
    script.release();
    await first;
    await client.expectInStep({ posts: 2 });
    expect(client.states).toEqual(["output-available", "output-available"]);
  });

  it("[C2] decided elsewhere while the stream is open: the open stream brings it, and nothing more is asked", async () => {
    script.model.plan([...pay("a"), ...propose("crawl", {})], say("Done."));
    const client = new Client(server, { id: await newConversation(server) });
    const first = client.say("go");
    const [card = ""] = await until("the card", () => client.asked.length === 1 && client.asked);
    expect((await api("ana", "POST", "/api/chat/resume", { pausePointId: card, decision: "approve", payloadOverride: { to: "a", amount: 4 } })).status).toBe(200);
    await until("the payment", () => script.runs.some(({ tool }) => tool === "pay"));
    script.release();
    await first;
    await client.expectInStep({ posts: 1 });
    expect(script.runs.find(({ tool }) => tool === "pay")?.input).toMatchObject({ amount: 4 });
  });

  it("[H12] a card whose values were edited elsewhere into a stricter rule: a late approval of the old card decides nothing and shows the new one", async () => {
    const client = await asked(script, pay("a"), say("Done."));
    const [card = ""] = client.asked;
    const edit = await api("ana", "POST", "/api/chat/resume", { pausePointId: card, decision: "approve", payloadOverride: { to: "a", amount: 2000 } });
    expect([edit.status, edit.body.code]).toEqual([409, "changed"]);
    client.answer(card, true);
    await client.rested(2);
    await client.expectInStep({ posts: 2 });
    expect(client.transient).toEqual([{ type: "data-decision", data: { pausePointId: card, code: "changed", message: expect.any(String) } }]);
    expect(client.chat.messages[1]?.parts[1]).toMatchObject({ state: "approval-requested", input: { to: "a", amount: 2000, note: "none" } });
    expect(script.runs).toEqual([]);
    client.answer(card, true);
    await client.rested(3);
    await client.expectInStep({ posts: 3 });
    expect(script.runs.map(({ input }) => input)).toEqual([{ to: "a", amount: 2000, note: "none" }]);
  });

  it("[H17] an approved tool that takes its time keeps the one response open: no endless requests", async () => {
    const client = await asked(script, propose("crawl_if_asked", {}), say("Done."));
    client.answer(client.asked[0]!, true);
    await until("the start of the tool", () => script.runs.length === 1);
    // Many round trips, in which a client whose answer had ended would have asked again.
    for (let trip = 0; trip < 20; trip += 1) await history(server, client.id);
    expect(client.posts).toBe(2);
    script.release();
    await client.rested(2);
    await client.expectInStep({ posts: 2 });
  });

  it("[C53] approved, and the tool failed: the part says so, and who approved", async () => {
    const client = await asked(script, propose("break", {}), say("Sorry."));
    client.answer(client.asked[0]!, true);
    await client.rested(2);
    await client.expectInStep({ posts: 2 });
    expect(client.states).toEqual(["output-error"]);
  });

  it("[C21] a card that expired before the answer is shown as not decided by anybody", async () => {
    control.limits = { expiresInMs: 1 };
    const client = await asked(script, pay("a"), say("Nobody decided."));
    client.answer(client.asked[0]!, true);
    await client.rested(2);
    await client.expectInStep({ posts: 2 });
    expect(client.states).toEqual(["output-denied"]);
    expect(script.runs).toEqual([]);
  });
});
