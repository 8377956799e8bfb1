import { describe, expect, test } from "vitest";
import { DEMO, OPENAI, UNKNOWN, withStandIns, WORKERS_AI, type Chat } from "./chat.js";

// The demo and both stand-ins go through the same conversations. After each one a further text is answered, so the
// history with that outcome in it has been sent to the provider and has passed its rules (C27).

withStandIns();

const ASK = "Transfer 250 EUR from operations to savings";

interface Cycle {
  title: string;
  outcomes: string[];
  go(chat: Chat): Promise<void>;
  texts?: RegExp;
}

const CYCLES: Cycle[] = [
  {
    title: "[C27] approved: the card, the decision, the effect once, the answer",
    outcomes: ["succeeded"],
    async go(chat) {
      await chat.say(ASK);
      expect(chat.status).toBe("suspended");
      expect(chat.card(1)).toMatchObject({ state: "pending", action: "execute_transfer", risk: "high" });
      expect(chat.effects).toEqual([]);
      await chat.approve(1, { reply: "Fine by me." });
      await chat.rest();
      expect(chat.effects).toEqual([{ tool: "execute_transfer", input: { from: "operations", to: "savings", amount: 250, currency: "EUR" } }]);
    },
    texts: /Fine by me/,
  },
  {
    title: "[C27] edited: what the person wrote runs",
    outcomes: ["succeeded"],
    async go(chat) {
      await chat.say(ASK);
      await chat.approve(1, { payloadOverride: { from: "operations", to: "savings", amount: 50, currency: "EUR" } });
      await chat.rest();
      expect(chat.effects.map(({ input }) => input)).toEqual([{ from: "operations", to: "savings", amount: 50, currency: "EUR" }]);
    },
    texts: /50/,
  },
  {
    title: "[C27] rejected: nothing runs, and the words reach the model",
    outcomes: ["rejected"],
    async go(chat) {
      await chat.say(ASK);
      await chat.reject(1, { reply: "Not this month." });
      await chat.rest();
      expect(chat.effects).toEqual([]);
    },
    texts: /Not this month/,
  },
  {
    title: "[C27] expired: nothing runs, and silence is not called a refusal",
    outcomes: ["expired"],
    async go(chat) {
      await chat.say(ASK);
      await chat.clock.advance(25 * 3_600_000);
      chat.engine.reconcile();
      await chat.rest();
      expect(chat.card(1).state).toBe("expired");
      expect(chat.effects).toEqual([]);
    },
    texts: /in time|deadline/,
  },
  {
    title: "[C27] cancelled: the next run is told",
    outcomes: ["cancelled"],
    async go(chat) {
      await chat.say(ASK);
      cancel(chat);
      await chat.rest();
      expect(chat.card(1).state).toBe("cancelled");
    },
  },
  {
    title: "[C27] withdrawn with a new text: the run goes on with it",
    outcomes: ["cancelled"],
    async go(chat) {
      await chat.say(ASK);
      await chat.text("What are the balances of all accounts?", undefined, { withdraw: true });
      await chat.rest();
      expect(chat.effects.map(({ tool }) => tool)).toEqual(["list_accounts"]);
    },
  },
  {
    title: "[C27] failed: the tool's reason reaches the model",
    outcomes: ["failed"],
    async go(chat) {
      chat.effect = () => {
        throw new Error("The account is closed.");
      };
      await chat.say(ASK);
      await chat.approve(1);
      await chat.rest();
    },
    texts: /The account is closed/,
  },
  {
    title: "[C27] unknown: a recovery card that is cancelled leaves nobody knowing",
    outcomes: ["unknown"],
    async go(chat) {
      chat.effect = UNKNOWN;
      await chat.say("E-mail bob@example.com that the invoice is paid");
      await chat.approve(1);
      await chat.rest();
      expect(chat.card(2)).toMatchObject({ state: "pending", kind: "recovery" });
      chat.effect = (_, input) => input;
      cancel(chat);
      await chat.rest();
      expect(chat.call(1, 0, 0).state).toBe("unknown");
    },
  },
  {
    title: "[C27] unknown, and a person looked: it did not happen",
    outcomes: ["failed"],
    async go(chat) {
      chat.effect = UNKNOWN;
      await chat.say(ASK);
      const transfer = chat.tools.get("execute_transfer");
      if (transfer) chat.tools.set("execute_transfer", { ...transfer, idempotent: () => false });
      await chat.approve(1);
      await chat.rest();
      chat.effect = (_, input) => input;
      await chat.approve(2, { choice: "did_not_happen", reply: "I looked." });
      await chat.rest();
    },
    texts: /I looked|did not happen/,
  },
  {
    title: "[H7] two calls in one step: one approved, one rejected, one answer",
    outcomes: ["succeeded", "rejected"],
    async go(chat) {
      await chat.say(`${ASK} and transfer 300 EUR from savings to payroll`);
      expect(chat.card(2).state).toBe("pending");
      await chat.reject(2);
      expect(chat.status).toBe("suspended");
      await chat.approve(1);
      await chat.rest();
      expect(chat.effects).toHaveLength(1);
    },
  },
  {
    title: "a question: its answer reaches the model",
    outcomes: ["answered"],
    async go(chat) {
      await chat.say("Ask me which account");
      expect(chat.card(1)).toMatchObject({ kind: "clarification", action: "ask_clarification" });
      await chat.approve(1, { reply: "The second one" });
      await chat.rest();
    },
    texts: /The second one/,
  },
];

function cancel(chat: Chat): void {
  const outcome = chat.engine.cancel({ person: "ana", device: { id: "d", name: "d" }, via: "socket" }, { opId: "cancel-1", runId: "r1" });
  expect(outcome.status).toBe("applied");
}

for (const reached of [DEMO, OPENAI, ...WORKERS_AI]) {
  describe(`with ${reached.name}`, () => {
    test.each(CYCLES)("$title", async ({ go, outcomes, texts }) => {
      const chat = reached.open();
      await go(chat);
      expect(["completed", "cancelled"]).toContain(chat.status);
      if (texts) expect(chat.transcript.at(-1)).toMatch(texts);

      await chat.say("What time is it?");
      expect(chat.status).toBe("completed");
      expect(chat.effects.at(-1)?.tool).toBe("current_time");
      const history = JSON.stringify(chat.model.requests.at(-1)?.messages);
      for (const outcome of outcomes) expect(history).toContain(`"outcome":"${outcome}"`);
    });
  });
}
