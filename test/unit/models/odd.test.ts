import { describe, expect, test } from "vitest";
import { openAiCompatibleModel } from "../../../src/models/openai-compatible.js";
import { streamStep } from "../../../src/models/stream-step.js";
import { finish, says, scripted } from "./scripted.js";
import { Chat, OPENAI, withStandIns, WORKERS_AI, type Reached } from "./chat.js";

// What real providers do now and then, through their real packages: what the transcript says, and that the
// conversation can be used afterwards. The stand-in refuses the next request when the history has become a bad one.

withStandIns();

const [NATIVE, CHOICES, WHOLE] = WORKERS_AI as [Reached, Reached, Reached];
const ALL = [OPENAI, ...WORKERS_AI];
const STREAMS = [OPENAI, NATIVE, CHOICES];

/** The next text is answered, and the provider had no reason to refuse it. */
async function isUsable(chat: Chat): Promise<void> {
  expect(chat.status).not.toBe("running");
  await chat.say("Transfer 250 EUR from operations to savings");
  expect(chat.status).toBe("suspended");
  const card = Math.max(...chat.store.pausePointsFrom(1).map(({ n }) => n));
  await chat.approve(card);
  await chat.rest();
  expect(chat.status).toBe("completed");
  expect(chat.effects.at(-1)?.tool).toBe("execute_transfer");
}

interface Failure {
  says: string;
  notice: RegExp;
  kept?: RegExp;
  by?: Reached[];
  /** Requests that were made for it, tries by itself included. */
  asked?: number;
}

const FAILURES: Failure[] = [
  { says: "fail with 400", notice: /refused the request \(400\): The stand-in was asked to fail\. Write again/, by: [OPENAI] },
  { says: "fail with 400", notice: /Workers AI could not answer: 5006/, by: WORKERS_AI },
  { says: "fail with 401", notice: /refused the key, or wants one \(401\).*must check OPENAI_API_KEY/, by: [OPENAI] },
  { says: "fail with 401", notice: /does not let this account use the model.*must check it/, by: WORKERS_AI },
  { says: "fail with 404", notice: /does not know this model \((?:404|5007)\).*check the settings? MODEL/ },
  { says: "fail with 408", notice: /did not answer in time \(408\)\. Write again/, asked: 3 },
  { says: "fail with 413", notice: /too long.*\(413\)/, by: [OPENAI] },
  { says: "fail with 429", notice: /more requests than it allows \(429\)\. Write again in a while/, asked: 3 },
  { says: "fail with 429, wait 3600", notice: /\(429\)\. Write again in 60 minutes/, by: [OPENAI], asked: 1 },
  { says: "fail with 429, wait 45", notice: /\(429\)\. Write again in 45 seconds/, by: [OPENAI], asked: 1 },
  { says: "fail with 430", notice: /used up.*00:00 UTC/, by: WORKERS_AI, asked: 1 },
  { says: "fail with 500", notice: /has a fault \(500\)\. Write again/, by: [OPENAI], asked: 3 },
  { says: "fail with 500", notice: /Workers AI could not answer: error code: 1031.*Write again/, by: WORKERS_AI },
  { says: "fail with 503", notice: /has a fault \(503\)\. Write again/, by: [OPENAI], asked: 3 },
  { says: "be cut", notice: /cut off before its end\. Write again/, kept: /^I am a stand-in/, by: STREAMS },
  { says: "be cut at once", notice: /cut off before its end\. Write again/, kept: /^$/, by: STREAMS },
  { says: "end early", notice: /cut off before its end\. Write again/, kept: /^I am a stand-in/, by: STREAMS },
  { says: "only think, be cut", notice: /cut off before its end/, kept: /^$/, by: [OPENAI, CHOICES] },
  { says: "be filtered", notice: /content filter stopped.*Word it differently/, kept: /^I am a stand-in/ },
  { says: "be filtered at once", notice: /content filter stopped/, kept: /^$/ },
  { says: "write too much", notice: /most that the model may write at once.*Ask it to go on/, kept: /^I am a stand-in/ },
  { says: "only think, write too much", notice: /most that the model may write at once/, kept: /^$/, by: [OPENAI, CHOICES] },
  { says: "break an event", notice: /can't be read\. Write again/, kept: /^I am a stand-in/, by: [OPENAI] },
  { says: "send an error", notice: /broke the answer off: The stand-in was asked to break off\./, kept: /^I am a stand-in/, by: [OPENAI] },
  { says: "say nothing", notice: /gave an empty answer\. Write again/, kept: /^$/ },
  { says: "only blanks", notice: /gave an empty answer/ },
  { says: "only think", notice: /gave an empty answer/, kept: /^$/, by: [OPENAI, CHOICES] },
];

for (const { says, notice, kept, by = ALL, asked } of FAILURES) {
  describe(`“${says}”`, () => {
    test.each(by)("with $name: the transcript says so, and the next text is answered", async (reached) => {
      const chat = reached.open();
      const before = reached.asked();
      await chat.say(says);
      expect(chat.ending).toMatchObject({ status: "failed", notice: expect.stringMatching(notice) });
      if (kept) expect(chat.ending.kept).toMatch(kept);
      if (asked) expect(reached.asked() - before).toBe(asked);
      await isUsable(chat);
    });
  });
}

describe("[H18] a stall", () => {
  test.each(
    STREAMS.flatMap((reached) => [
      { reached, says: "stall", kept: /^I am a stand-in/ },
      { reached, says: "stall at once", kept: /^$/ },
    ]),
  )("$says, $reached.name: given up after two minutes, with what came", async ({ reached, says, kept }) => {
    const chat = reached.open();
    const before = reached.asked();
    await chat.text(says);
    await expect.poll(() => reached.asked() - before).toBe(1);
    // The clock that judges is the test's own, so the words must have come before it is moved.
    if (!says.includes("at once")) await expect.poll(() => JSON.stringify(chat.flushes).includes("stand-in") || chat.flushes.length > 0).toBe(true);
    await expect
      .poll(async () => {
        await chat.clock.advance(60_000);
        return chat.status;
      })
      .toBe("failed");
    expect(chat.ending.notice).toMatch(/sent nothing for 120 seconds, so it was given up\. Write again/);
    expect(chat.ending.kept).toMatch(kept);
    await isUsable(chat);
  });
});

describe("what passes by itself is tried again, in the same attempt", () => {
  test("429 with a short Retry-After: waited for as asked, and the person sees the answer only", async () => {
    const chat = OPENAI.open();
    await chat.say("fail once with 429, wait 2");
    expect(chat.waits).toEqual([2_000]);
    expect(chat.status).toBe("completed");
    expect(chat.transcript).toEqual(["fail once with 429, wait 2", expect.stringContaining("I am a stand-in")]);
    expect(chat.journal.run(1)).toMatchObject({ attempt: 1, fruitless: 0 });
  });

  test.each(WORKERS_AI)("no capacity (3040), $name", async (reached) => {
    const chat = reached.open();
    await chat.say("fail once with 429");
    expect(chat.waits).toEqual([2_000]);
    expect(chat.journal.run(1)).toMatchObject({ status: "completed", attempt: 1, fruitless: 0 });
  });

  test("what has begun to be shown is not: the text would come twice", async () => {
    const chat = OPENAI.open();
    const before = OPENAI.asked();
    await chat.say("be cut");
    expect(OPENAI.asked() - before).toBe(1);
    expect(chat.waits).toEqual([]);
  });
});

describe("[C12] calls with odd ids, two in one answer and again in the next turn", () => {
  for (const ids of ["same", "empty", "none", "constructor", "__proto__", "long", "emoji"]) {
    test.each(ALL)(`ids: ${ids}, $name`, async (reached) => {
      const chat = reached.open();
      for (const [turn, cards] of [
        [1, [1, 2]],
        [2, [3, 4]],
      ] as const) {
        await chat.say(`Transfer ${turn}50 EUR from operations to savings and transfer ${turn}60 EUR from savings to payroll, ids: ${ids}`);
        expect(chat.status).toBe("suspended");
        for (const card of cards) await chat.approve(card);
        await chat.rest();
        expect(chat.status).toBe("completed");
      }
      expect(chat.effects.map(({ input }) => (input as { amount: number }).amount)).toEqual([150, 160, 250, 260]);
      await isUsable(chat);
    });
  }
});

describe("a call that can't be one", () => {
  test.each(ALL)("input that is not JSON is told to the model, which goes on, $name", async (reached) => {
    const chat = reached.open();
    await chat.say("Transfer 250 EUR from operations to savings, not json");
    expect(chat.status).toBe("completed");
    expect(chat.effects).toEqual([]);
    expect(chat.call(1, 0, 0)).toMatchObject({ state: "failed", error: expect.stringMatching(/can't be read|does not fit/) });
    await isUsable(chat);
  });

  test.each(ALL)("a tool with an impossible name does not spoil the history, $name", async (reached) => {
    const chat = reached.open();
    await chat.say("Transfer 250 EUR from operations to savings, odd name");
    expect(chat.status).toBe("completed");
    expect(chat.call(1, 0, 0)).toMatchObject({ state: "failed", error: expect.stringContaining("There is no tool named") });
    await isUsable(chat);
  });

  test.each(ALL)("one that is written as text is text: nothing runs and nobody is asked, $name", async (reached) => {
    const chat = reached.open();
    await chat.say("Transfer 250 EUR from operations to savings, call as text");
    expect(chat.status).toBe("completed");
    expect(chat.transcript.at(-1)).toMatch(/^\[\{"name":"execute_transfer"/);
    expect(chat.store.pausePointsFrom(1)).toEqual([]);
    await isUsable(chat);
  });

  test.each(ALL)("blank text before a call is not sent back, $name", async (reached) => {
    const chat = reached.open();
    await chat.say("Transfer 250 EUR from operations to savings, only blanks");
    await chat.approve(1);
    await chat.rest();
    expect(chat.status).toBe("completed");
    await isUsable(chat);
  });

  test("two calls without an index are two calls over HTTP", async () => {
    const chat = OPENAI.open();
    await chat.say("Transfer 250 EUR from operations to savings and transfer 300 EUR from savings to payroll, no index");
    expect(chat.card(2).state).toBe("pending");
    for (const card of [1, 2]) await chat.approve(card);
    await chat.rest();
    expect(chat.effects).toHaveLength(2);
  });

  // The provider package takes them for fragments of one call; nothing runs that nobody has seen.
  test("two calls without an index, through Workers AI, are one that can't be read, and the model is told", async () => {
    const chat = NATIVE.open();
    await chat.say("Transfer 250 EUR from operations to savings and transfer 300 EUR from savings to payroll, no index");
    expect(chat.status).toBe("completed");
    expect(chat.call(1, 0, 0)).toMatchObject({ state: "failed", error: expect.stringContaining("can't be read") });
    expect(chat.store.pausePointsFrom(1)).toEqual([]);
    await isUsable(chat);
  });

  test.each(ALL)("a call without a name, $name", async (reached) => {
    const chat = reached.open();
    await chat.say("Transfer 250 EUR from operations to savings, no name");
    expect(chat.status).not.toBe("running");
    expect(chat.effects).toEqual([]);
    await isUsable(chat);
  });
});

describe("reasoning", () => {
  test.each([
    [OPENAI, "reasoning_content"],
    [CHOICES, "reasoning"],
  ])("is shown, and sent back as the provider wants it (%o)", async (reached, field) => {
    const chat = reached.open();
    await chat.say("think, and transfer 250 EUR from operations to savings");
    await chat.approve(1);
    await chat.rest();
    expect(chat.transcript[1]).toMatch(/this is a thought/);
    expect(reached.requests().at(-1)?.messages).toContainEqual(expect.objectContaining({ role: "assistant", [field]: expect.stringMatching(/this is a thought/) }));
    await isUsable(chat);
  });

  test("a signature on a call comes back with it as it came, also after a new process", async () => {
    const chat = OPENAI.open();
    await chat.say("Transfer 250 EUR from operations to savings, signed");
    chat.restart();
    await chat.approve(1);
    await chat.rest();
    const sent = OPENAI.requests()
      .at(-1)
      ?.messages.find((message) => "tool_calls" in message);
    expect(sent).toMatchObject({ tool_calls: [{ extra_content: { google: { thought_signature: "signature-0" } } }] });
    await isUsable(chat);
  });
});

test("what a provider adds to its thoughts and calls goes back as it came", async () => {
  const thought = { anthropic: { signature: "s" } };
  const call = { anthropic: { caller: { type: "direct" } } };
  const model = scripted(
    [
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: "hm" },
      { type: "reasoning-end", id: "r", providerMetadata: thought },
      { type: "tool-call", toolCallId: "call_1", toolName: "execute_transfer", input: '{"from":"a","to":"b","amount":250,"currency":"EUR"}', providerMetadata: call },
      finish("tool-calls"),
    ],
    [...says("Done."), finish()],
  );
  const chat = new Chat(() => streamStep(model));
  await chat.say("pay");
  chat.restart();
  await chat.approve(1);
  await chat.rest();
  expect(model.calls.at(-1)?.prompt.find(({ role }) => role === "assistant")?.content).toMatchObject([
    { type: "reasoning", text: "hm", providerOptions: thought },
    { type: "tool-call", toolName: "execute_transfer", providerOptions: call },
  ]);
});

test("a model that declines in words has answered: that is no failure", async () => {
  const chat = OPENAI.open();
  await chat.say("decline");
  expect(chat.ending).toEqual({ status: "completed", notice: "", kept: expect.stringMatching(/^I am a stand-in/) });
  await isUsable(chat);
});

test.each(ALL)("texts that several failures left unanswered go along as one message, $name", async (reached) => {
  const chat = reached.open();
  await chat.say("fail with 404");
  await chat.say("fail with 404 again");
  await isUsable(chat);
});

test("[H8] a process that dies in mid-answer asks once more, as a new attempt", async () => {
  const chat = OPENAI.open();
  await chat.text("stall");
  await expect.poll(() => chat.flushes.length).toBeGreaterThan(0);
  chat.restart();
  await expect.poll(() => chat.journal.run(1)?.attempt).toBe(2);
  chat.engine.cancel({ person: "ana", device: { id: "d", name: "d" }, via: "socket" }, { opId: "c", runId: "r1" });
  await chat.rest();
  await isUsable(chat);
});

test("usage is counted from the last event", async () => {
  for (const reached of [OPENAI, WHOLE]) {
    const chat = reached.open();
    await chat.say("hello");
    expect(chat.journal.run(1)).toMatchObject({ inputTokens: 7, outputTokens: 3 });
  }
});

test("a server that is not there is tried three times and then named as unreachable", async () => {
  const chat = new Chat((wait) => openAiCompatibleModel("stand-in", { baseUrl: "http://127.0.0.1:9/v1" }, { wait }));
  await chat.say("hello");
  expect(chat.waits).toHaveLength(2);
  expect(chat.ending).toMatchObject({ status: "failed", notice: expect.stringMatching(/could not be reached/) });
});
