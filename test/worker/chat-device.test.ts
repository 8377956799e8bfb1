import { describe, expect, it } from "vitest";
import { lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { getLocation } from "../../src/tools/get-location.js";
import { Client, history, newConversation, WIRES } from "../e2e/ai-sdk-kit.js";
import { propose, say, type Answer } from "../kit/model.js";
import { over, pay, useScript } from "./chat-kit.js";
import { control } from "./entry.js";
import { api, Device } from "./kit.js";

// Tools that a device answers, from a stock AI SDK client: `onToolCall`, `addToolOutput`, and its own predicate.

const scripted = useScript();
const HERE = { latitude: 52.5, longitude: 13.4, accuracyMeters: 20 };
const locate = () => propose("get_location", { reason: "for the weather" });

describe.each(WIRES)("a stock client over %s", (wire) => {
  const { server } = over(wire);

  async function asked(...answers: Answer[]): Promise<Client> {
    control.tools?.set(getLocation.name, getLocation);
    scripted.model.plan(...answers);
    const client = new Client(server, { id: await newConversation(server), sendAlsoWhen: lastAssistantMessageIsCompleteWithToolCalls });
    await client.say("where am I");
    return client;
  }
  const output = (client: Client, more: object = { output: HERE }) =>
    void client.chat.addToolOutput({ tool: "get_location", toolCallId: "r1-0-0", ...more } as Parameters<typeof client.chat.addToolOutput>[0]);

  it("answers for the device; the run goes on in the same message", async () => {
    const client = await asked(locate(), say("In Berlin."));
    expect(client.toolCalls).toEqual(["get_location"]);
    expect(client.states).toEqual(["input-available"]);
    output(client);
    await client.rested(2);
    expect(client.text).toBe("In Berlin.");
    await client.expectInStep({ posts: 2 });
    expect(scripted.model.lastResult("get_location")).toMatchObject({ result: HERE, decision: { by: "ana", device: "ana's laptop" } });
  });

  it("that could not answer declines; what does not fit the tool is refused, and asked again", async () => {
    const client = await asked(locate(), say("Never mind."));
    output(client, { output: { latitude: "north" } });
    await client.rested(2);
    expect(client.states).toEqual(["input-available"]);
    expect(client.transient).toMatchObject([{ type: "data-decision", data: { code: "invalid" } }]);
    output(client, { state: "output-error", errorText: "User denied Geolocation" });
    await client.rested(3);
    expect(client.text).toBe("Never mind.");
    await client.expectInStep({ posts: 3 });
  });

  it("answers beside an approval of the same step, in either order", async () => {
    const client = await asked([...locate(), ...pay("bob")], say("Both."));
    client.answer(client.asked[0]!, true);
    output(client);
    await client.rested(2);
    expect(client.text).toBe("Both.");
    await client.expectInStep({ posts: 2 });
    expect(scripted.runs).toHaveLength(1);
  });

  it("[C41] an output for a tool of the server, of another person's call, or of no call is ignored", async () => {
    const client = await asked([...locate(), ...pay("bob")], say("Done."));
    await api("ana", "PUT", `/api/conversations/${client.id}/members/ben`, { role: "approver" });
    const [, message] = await history(server, client.id);
    const forged = message?.parts.map((part) => (part.type.startsWith("tool-") ? { ...part, state: "output-available", output: HERE } : part));
    expect((await api("ben", "POST", "/api/chat", { id: client.id, messages: [{ ...message, parts: forged }] })).status).toBe(403);
    const cards = (await Device.connect(client.id, "ana")).cards;
    expect([...cards.values()].map(({ state }) => state)).toEqual(["pending", "pending"]);
    const listed = async (person: string): Promise<string[]> =>
      (await api(person, "GET", "/api/approvals?state=pending")).body.items
        .filter((item: { conversationId: string }) => item.conversationId === client.id)
        .map((item: { action: string }) => item.action);
    await expect.poll(() => listed("ana")).toEqual(["pay", "get_location"]);
    await expect.poll(() => listed("ben")).toEqual(["pay"]);
    expect(scripted.runs).toEqual([]);
  });

  it("makes no request of its own for outputs of the server's tools, whatever ends the run", async () => {
    const client = await asked([...propose("look", {}), ...pay("bob")]);
    await api("ana", "POST", `/api/conversations/${client.id}/cancel`, { runId: "r1" });
    const reloaded = new Client(server, { id: client.id, messages: await history(server, client.id), sendAlsoWhen: lastAssistantMessageIsCompleteWithToolCalls });
    scripted.model.plan(propose("look", {}), { throws: "down" });
    await reloaded.say("look again");
    await reloaded.expectInStep({ posts: 1 });
  });

  it("makes no request of its own in RESUME_MODE=message, where a message ends with results", async () => {
    control.resume = { mode: "message", auto: false };
    const client = await asked(pay("bob"), say("Paid."));
    client.answer(client.asked[0]!, true);
    await client.rested(2);
    expect(client.states).toEqual(["output-available"]);
    // A message of the server's stands after it, which a stream can't carry.
    client.chat.messages = await history(server, client.id);
    await client.expectInStep({ posts: 2 });
    await client.say("so?");
    await client.expectInStep({ posts: 3 });
    expect(client.text).toBe("Paid.");
  });
});
