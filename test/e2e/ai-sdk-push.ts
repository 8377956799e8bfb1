import { Chat } from "@ai-sdk/react";
import { isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses, WebSocketChatTransport, type UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { api, Client, newConversation, transfers, until, type Server } from "./ai-sdk-kit.js";

const ONE = "Transfer 250 EUR from operations to savings";

/** What only WebSocket can do: a resume that is held until another device acts, and several chats on one connection. */
export function pushScenarios(at: () => Server): void {
  const on = (): Server => ({ ...at(), wire: "WebSocket" });
  const fresh = async (): Promise<Client> => new Client(on(), { id: await newConversation(on()) });
  const decide = (pausePointId: string, decision: "approve" | "reject", reply?: string) =>
    api(on(), "ana", "POST", "/api/chat/resume", { pausePointId, decision, ...(reply === undefined ? {} : { reply }) });

  /** A client that shows a waiting card, has caught up, and waits for what others do. */
  async function listening(text = ONE): Promise<Client & { ended: Promise<void> }> {
    const client = await fresh();
    await client.say(text);
    await client.resume();
    return Object.assign(client, await client.resumeForNothing());
  }

  describe("a stock AI SDK client over WebSocket: what others do reaches it", () => {
    it("[C2] [C28] a decision on a phone arrives by itself, with who decided and what came of it", async () => {
      const client = await listening();
      await decide(client.asked[0]!, "reject", "not this week");
      await client.ended;
      await client.expectInStep({ posts: 1, gets: 2 });
      expect(client.states).toEqual(["output-denied"]);
      expect(client.text).toContain("not this week");
    });

    it("[C2] one that listens again after each news hears of every decision, and asks no more often than that", async () => {
      const client = await listening(`${ONE} and transfer 300 EUR from operations to payroll`);
      const [first = "", second = ""] = client.asked;
      await decide(first, "approve");
      await client.ended;
      expect(client.asked).toEqual([second]);
      const { ended } = await client.resumeForNothing();
      await decide(second, "approve");
      await ended;
      await client.resumeForNothing();
      await client.expectInStep({ posts: 1, gets: 4 });
      expect((await transfers(on(), client.id)).toSorted()).toEqual([250, 300]);
    });

    it("[C28] an answer to what was typed elsewhere streams in as it is written", async () => {
      const client = await fresh();
      await client.say("say 5 words");
      await client.resume();
      const { ended } = await client.resumeForNothing();
      const other = new Client(on(), { id: client.id, messages: structuredClone(client.chat.messages) });
      const said = other.say("say 200 words");
      await until("the first words", () => client.chat.status === "streaming" && client.text.split(" ").length > 6);
      await Promise.all([ended, said]);
      expect(client.chat.messages.at(-1)).toEqual(other.chat.messages.at(-1));
      await other.expectInStep({ posts: 1 });
      expect([client.posts, client.gets]).toEqual([1, 2]);
    });

    it("[C5] its own answers and texts go on while it listens, are not shown twice, and it goes on listening", async () => {
      const client = await listening();
      client.answer(client.asked[0]!, true);
      await client.rested(2);
      await client.expectInStep({ posts: 2, gets: 2 });
      await client.say(ONE);
      await client.expectInStep({ posts: 3, gets: 2 });
      await decide(client.asked[0]!, "approve");
      await client.ended;
      await client.expectInStep({ posts: 3, gets: 2 });
      expect(client.connections).toBe(1);
      expect(await transfers(on(), client.id)).toEqual([250, 250]);
    });

    it("[C1] two pages that listen answer at the same moment: the first counts for both, and both screens agree", async () => {
      const laptop = await listening();
      const tablet = new Client(on(), { id: laptop.id, messages: structuredClone(laptop.chat.messages) });
      await tablet.resume();
      const { ended } = await tablet.resumeForNothing();
      const [card = ""] = laptop.asked;
      laptop.answer(card, true);
      tablet.answer(card, false, "no");
      await Promise.all([laptop.rested(2), tablet.rested(1)]);
      await Promise.race([laptop.ended, ended]);
      await until("both at rest", () => [laptop, tablet].every(({ chat }) => chat.status === "ready"));
      await laptop.expectInStep({ posts: 2, gets: 2 });
      await tablet.expectInStep({ posts: 1, gets: 2 });
      expect(await transfers(on(), laptop.id)).toHaveLength(laptop.states[0] === "output-available" ? 1 : 0);
    });

    it("[C28] two chats on one connection stream at the same time, each its own", async () => {
      const one = await fresh();
      const two = new Client(on(), { id: await newConversation(on()), beside: one });
      await Promise.all([one.say("say 40 words"), two.say(ONE)]);
      two.answer(two.asked[0]!, true);
      await Promise.all([one.say("say 30 words"), until("the answer", () => two.chat.status === "ready" && two.states[0] === "output-available")]);
      await one.expectInStep({ posts: 4 });
      await two.expectInStep({ posts: 0 });
      expect(one.connections).toBe(1);
      expect(await transfers(on(), two.id)).toEqual([250]);
    });

    it('[C14] an address is all that the transport needs: without a name it is the person "you", with an id of its own for the chat', async () => {
      const transport = new WebSocketChatTransport<UIMessage>({ url: `${at().url}/api/chat/socket` });
      const chat = new Chat<UIMessage>({ id: `chat ${Date.now()}`, transport, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
      await chat.sendMessage({ text: ONE });
      const state = (): string[] => chat.messages.flatMap(({ parts }) => parts.flatMap((part) => (isToolUIPart(part) ? [part.state] : [])));
      expect(state()).toEqual(["approval-requested"]);
      const card = chat.messages.at(-1)?.parts.find(isToolUIPart)?.approval?.id ?? "";
      await chat.addToolApprovalResponse({ id: card, approved: false, reason: "no" });
      await until("the end", () => chat.status === "ready" && state()[0] === "output-denied");
      expect((await api(on(), "you", "GET", `/api/approvals/${card}`)).body).toMatchObject({ state: "rejected", decidedBy: "you" });
      transport.close();
    });
  });
}
