import { describe, expect, it } from "vitest";
import { api, Client, history, newConversation, transfers, until, type Server, type Wire } from "./ai-sdk-kit.js";

const ONE = "Transfer 250 EUR from operations to savings";

/** What a stock client must be able to do with streams that it lost or never had, whatever it speaks. */
export function reloadScenarios(wire: Wire, at: () => Server): void {
  const on = (): Server => ({ ...at(), wire });

  const fresh = async (more: Partial<ConstructorParameters<typeof Client>[1]> = {}): Promise<Client> => new Client(on(), { id: await newConversation(on()), ...more });

  /** The same conversation in a page that has just been loaded: the history, then a resumed stream. */
  async function reload(client: Client): Promise<Client> {
    const page = new Client(on(), { id: client.id, messages: await history(on(), client.id) });
    await page.resume();
    return page;
  }

  describe(`a stock AI SDK client over ${wire}: reload and resume`, () => {
    it("[C28] nothing has run yet: the page that resumes stays ready", async () => {
      const client = await fresh();
      await client.resumeForNothing();
      await client.expectInStep({ posts: 0, gets: 1 });
    });

    it("[H4] [C28] a reload in mid-answer gets the whole of it, while the first page goes on or goes away", async () => {
      const client = await fresh();
      const first = client.say("say 200 words");
      await until("the first words", () => client.text.split(" ").length > 5);
      const page = await reload(client);
      await page.expectInStep({ posts: 0, gets: 1 });
      expect(page.text.split(" ")).toHaveLength(200);
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
      expect(await transfers(on(), client.id)).toEqual([250]);
    });

    it("[C28] a reload after a decision shows what was decided and what came of it, finished or with the next card waiting", async () => {
      const client = await fresh();
      await client.say(`${ONE} and transfer 300 EUR from operations to payroll`);
      const [first = "", second = ""] = client.asked;
      await api(on(), "ana", "POST", "/api/chat/resume", { pausePointId: first, decision: "approve" });
      const early = await reload(client);
      expect(early.asked).toEqual([second]);
      early.answer(second, false);
      await early.rested(1);
      await early.expectInStep({ posts: 1, gets: 1 });
      const late = await reload(client);
      await late.expectInStep({ posts: 0, gets: 1 });
      expect(late.states).toEqual(["output-available", "output-denied"]);
    });

    it("[C28] history read in mid-run, and the run settles before the resume: the page is made whole all the same", async () => {
      const client = await fresh();
      const first = client.say("list the accounts");
      const half = await until("the question in the history", async () => {
        const messages = await history(on(), client.id);
        return messages.length > 0 ? messages : null;
      });
      await first;
      const page = new Client(on(), { id: client.id, messages: half });
      await page.resume();
      await page.expectInStep({ posts: 0, gets: 1 });
    });

    it("[C28] a page that shows a waiting card learns by resuming that it was decided elsewhere, by whom, and what came of it", async () => {
      const client = await fresh();
      await client.say(ONE);
      await api(on(), "ana", "POST", "/api/chat/resume", { pausePointId: client.asked[0], decision: "reject", reply: "not this week" });
      await client.resume();
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
      await page.resume();
      await page.expectInStep({ posts: 1, gets: 2 });
      await client.resume();
      await client.expectInStep({ posts: 2, gets: 1 });
      expect(client.chat.messages).toHaveLength(4);
    });
  });

  describe(`a stock AI SDK client over ${wire}: cuts and errors`, () => {
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
      await client.say("say 200 words");
      expect(client.chat.status).toBe("error");
      expect(client.text.length).toBeGreaterThan(0);
      await client.chat.sendMessage();
      await client.expectInStep({ posts: 2 });
      expect(client.text.split(" ")).toHaveLength(200);
    });

    it("[C31] an answer cut in mid-word is made whole by resuming", async () => {
      const client = await fresh({ cutAfter: (request) => (request === 1 ? 600 : null) });
      await client.say("say 200 words");
      await client.resume();
      await client.expectInStep({ posts: 1, gets: 1 });
      expect(client.text.split(" ")).toHaveLength(200);
    });

    it("[C5] an approval whose answer was cut is sent again: the money moves once", async () => {
      const client = await fresh({ cutAfter: (request) => (request === 2 ? 150 : null) });
      await client.say(ONE);
      client.answer(client.asked[0]!, true);
      await client.rested(2);
      expect(client.chat.status).toBe("error");
      await client.chat.sendMessage();
      await client.expectInStep({ posts: 3 });
      expect(await transfers(on(), client.id)).toEqual([250]);
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
      const id = `my chat over ${wire}`;
      const ana = new Client(on(), { id });
      const ben = new Client(on(), { id, person: "ben" });
      await ana.resumeForNothing();
      await Promise.all([ana.say("say 5 words"), ben.say(ONE)]);
      ben.answer(ben.asked[0]!, true);
      await ben.rested(2);
      expect([ana.states, ben.states]).toEqual([[], ["output-available"]]);
      await ana.say("say 6 words");
      expect(ana.chat.messages.map(({ id }) => id).filter((id) => /^m\d+$/.test(id))).toEqual(["m2", "m4"]);
      const again = new Client(on(), { id });
      await again.resume();
      expect(again.chat.messages.at(-1)).toEqual(ana.chat.messages.at(-1));
    });
  });
}
