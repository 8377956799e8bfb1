import { isToolUIPart } from "ai";
import { describe, expect, it } from "vitest";
import { api, Client, newConversation, transfers, until, type Server, type Wire } from "./ai-sdk-kit.js";

const ONE = "Transfer 250 EUR from operations to savings";
const TWO = `${ONE} and transfer 300 EUR from operations to payroll`;

/** A client whose first message has been answered by `cards` approvals. */
async function ask(server: Server, text: string, cards: number): Promise<Client> {
  const client = new Client(server, { id: await newConversation(server) });
  await client.say(text);
  expect(client.asked).toHaveLength(cards);
  await client.expectInStep({ posts: 1 });
  return client;
}

/** What a stock client must be able to do with approvals, whatever it speaks. */
export function approvalScenarios(wire: Wire, at: () => Server): void {
  const on = (): Server => ({ ...at(), wire });
  const asked = (text: string, cards: number): Promise<Client> => ask(on(), text, cards);
  const resume = (body: unknown) => api(on(), "ana", "POST", "/api/chat/resume", body);

  describe(`a stock AI SDK client over ${wire}: its own answers`, () => {
    it("[H10] [H14] a text, and its answer, in one request", async () => {
      const client = new Client(on(), { id: await newConversation(on()) });
      await client.say("think first");
      await client.expectInStep({ posts: 1 });
      await client.say("What time is it in Berlin?");
      await client.expectInStep({ posts: 2 });
      expect(client.states).toEqual(["output-available"]);
    });

    it("[C5] an approval goes on in the same message, with one more request, and the money moves once; more turns don't move it again", async () => {
      const client = await asked(ONE, 1);
      client.answer(client.asked[0]!, true);
      await client.rested(2);
      await client.expectInStep({ posts: 2 });
      expect(client.chat.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
      expect(client.states).toEqual(["output-available"]);
      expect(client.text).toContain("Done: 250 EUR");
      await client.say("say 5 words");
      await client.say("say 6 words");
      await client.expectInStep({ posts: 4 });
      expect(await transfers(on(), client.id)).toEqual([250]);
    });

    it("[H13] [C20] a rejection's reason reaches the agent word for word, and nothing runs", async () => {
      const client = await asked(ONE, 1);
      client.answer(client.asked[0]!, false, 'too "risky" 🙂\nask Ben');
      await client.rested(2);
      await client.expectInStep({ posts: 2 });
      expect(client.states).toEqual(["output-denied"]);
      expect(client.text).toContain('Their words: "too "risky" 🙂\nask Ben"');
      expect(await transfers(on(), client.id)).toEqual([]);
    });

    it("[C10] two approvals of one step, both given: one request, both run", async () => {
      const client = await asked(TWO, 2);
      for (const id of client.asked.toReversed()) client.answer(id, true);
      await client.rested(2);
      await client.expectInStep({ posts: 2 });
      expect((await transfers(on(), client.id)).toSorted()).toEqual([250, 300]);
    });

    it("[C15] approved, rejected and ungated calls of one step: each has its own outcome, then one answer", async () => {
      const client = await asked(`${TWO} and list the accounts`, 2);
      const [first = "", second = ""] = client.asked;
      client.answer(second, false, "not payroll");
      client.answer(first, true);
      await client.rested(2);
      await client.expectInStep({ posts: 2 });
      expect(client.states).toEqual(["output-available", "output-denied", "output-available"]);
      expect(await transfers(on(), client.id)).toEqual([250]);
    });

    it("[C20] the agent insists on what was refused: no second card, no endless requests, and the message says so", async () => {
      const client = await asked(`insist: ${ONE} and transfer 300 EUR from operations to payroll`, 2);
      const [first = "", second = ""] = client.asked;
      client.answer(first, true);
      client.answer(second, false);
      await client.rested(2);
      await client.expectInStep({ posts: 2 });
      expect(client.states).toEqual(["output-available", "output-denied", "output-error"]);
    });

    it("[H22] a question that the agent asks is answered with words, by the SDK's own approval", async () => {
      const client = await asked("Ask me which colour: red, green or blue", 1);
      client.answer(client.asked[0]!, true, "a kind of blue");
      await client.rested(2);
      await client.expectInStep({ posts: 2 });
      expect(client.text).toContain("a kind of blue");
    });

    it("[C52] a choice can't be answered by a bare approval: the card stays, the client is told why, and doesn't ask again and again", async () => {
      const client = await asked("Let me choose between tea and coffee", 1);
      const [card = ""] = client.asked;
      client.answer(card, true);
      await client.rested(2);
      await client.expectInStep({ posts: 2 });
      expect(client.asked).toEqual([card]);
      expect(client.transient).toEqual([{ type: "data-decision", data: expect.objectContaining({ pausePointId: card, code: "invalid" }) }]);
      expect((await resume({ pausePointId: card, decision: "approve", choice: "tea" })).status).toBe(200);
    });

    it("[C1] two clients answer at the same moment: the first counts for both, and both screens agree", async () => {
      const laptop = await asked(ONE, 1);
      const tablet = new Client(on(), { id: laptop.id, messages: structuredClone(laptop.chat.messages) });
      const [card = ""] = laptop.asked;
      laptop.answer(card, true);
      tablet.answer(card, false, "no");
      await Promise.all([laptop.rested(2), tablet.rested(1)]);
      await laptop.expectInStep({ posts: 2 });
      await tablet.expectInStep({ posts: 1 });
      const approved = laptop.states[0] === "output-available";
      expect(await transfers(on(), laptop.id)).toEqual(approved ? [250] : []);
    });
  });

  describe(`a stock AI SDK client over ${wire}: decided elsewhere`, () => {
    it("[C3] the same verdict, given late, changes nothing and shows what happened", async () => {
      const client = await asked(ONE, 1);
      const [card = ""] = client.asked;
      expect((await resume({ pausePointId: card, decision: "approve" })).status).toBe(200);
      client.answer(card, true, "mine");
      await client.rested(2);
      await client.expectInStep({ posts: 2 });
      expect(await transfers(on(), client.id)).toEqual([250]);
    });

    it("[C3] the opposite verdict, given late, changes nothing; the screen shows the true one with its own reason", async () => {
      const client = await asked(ONE, 1);
      const [card = ""] = client.asked;
      await resume({ pausePointId: card, decision: "approve" });
      await until("the transfer", async () => (await transfers(on(), client.id)).length === 1);
      client.answer(card, false, "too late");
      await client.rested(2);
      await client.expectInStep({ posts: 2 });
      expect(client.states).toEqual(["output-available"]);
      expect(client.text).not.toContain("too late");
    });

    it("[C54] an edit made elsewhere is shown on a client that answers late: the edited input, once", async () => {
      const client = await asked(ONE, 1);
      const [card = ""] = client.asked;
      expect((await resume({ pausePointId: card, decision: "approve", payloadOverride: { from: "operations", to: "savings", amount: 200, currency: "EUR" } })).status).toBe(200);
      client.answer(card, true);
      await client.rested(2);
      await client.expectInStep({ posts: 2 });
      expect(client.chat.messages.at(-1)?.parts.flatMap((part) => (isToolUIPart(part) ? [part.input] : []))).toEqual([
        { from: "operations", to: "savings", amount: 200, currency: "EUR" },
      ]);
      expect(await transfers(on(), client.id)).toEqual([200]);
    });

    it("[C13] a stale answer, after the run went on to a new card, lands on that card and decides nothing", async () => {
      const client = await asked(ONE, 1);
      const [old = ""] = client.asked;
      const other = new Client(on(), { id: client.id, messages: structuredClone(client.chat.messages) });
      other.answer(old, true);
      await other.rested(1);
      await other.say("Transfer 310 EUR from operations to payroll");
      const [card = ""] = other.asked;
      client.answer(old, false);
      await client.rested(2);
      expect(client.chat.status).toBe("ready");
      expect(client.posts).toBe(2);
      expect(other.asked).toEqual([card]);
      expect(await transfers(on(), client.id)).toEqual([250]);
      await other.expectInStep({ posts: 2 });
    });

    it("[C2] one of two cards decided elsewhere: the client learns of it by resuming, answers the other, and both have their outcome", async () => {
      const client = await asked(TWO, 2);
      const [first = "", second = ""] = client.asked;
      await resume({ pausePointId: first, decision: "reject", reply: "no" });
      await client.resume();
      expect(client.asked).toEqual([second]);
      client.answer(second, true);
      await client.rested(2);
      await client.expectInStep({ posts: 2, gets: 1 });
      expect(client.states).toEqual(["output-denied", "output-available"]);
      expect(await transfers(on(), client.id)).toEqual([300]);
    });

    it("[H9] text while a card waits is queued and said to be; the answer then flows on, and the text gets its own", async () => {
      const client = await asked(ONE, 1);
      const [card = ""] = client.asked;
      await client.say("say 5 words");
      expect(client.transient).toEqual([{ type: "data-queued", data: { messageId: client.chat.messages.at(-1)?.id } }]);
      await client.expectInStep({ posts: 2 });
      client.answer(card, true);
      await client.chat.sendMessage();
      await client.resume();
      await client.expectInStep({ posts: 3, gets: 1 });
      expect(client.chat.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
      expect(await transfers(on(), client.id)).toEqual([250]);
    });

    it("[H9] [H7] a later approval in the same run is asked and answered on the same screen", async () => {
      const client = await asked(ONE, 1);
      const [first = ""] = client.asked;
      await client.say("transfer 310 EUR from operations to payroll");
      client.answer(first, true);
      await client.chat.sendMessage();
      await client.resume();
      const [second = ""] = client.asked;
      expect(second).not.toBe(first);
      client.answer(second, true);
      await client.rested(4);
      await client.expectInStep({ posts: 4, gets: 1 });
      expect((await transfers(on(), client.id)).toSorted()).toEqual([250, 310]);
    });
  });
}
