import type { ModelMessage } from "ai";
import { describe, expect, test } from "vitest";
import type { ToldDecision, ToldOutcome } from "../../../src/core/outcome.js";
import type { Tool } from "../../../src/core/tool.js";
import { demoModel } from "../../../src/models/demo.js";
import { streamStep } from "../../../src/models/stream-step.js";
import type { Json } from "../../../src/protocol/json.js";
import { createTools } from "../../../src/tools/index.js";
import { collect, request, textOf } from "./scripted.js";

const demo = streamStep(demoModel());
const tools = createTools({ httpAllowlist: [], emailConfigured: false });
const offered = (...names: string[]) => [...tools.values()].filter(({ name }) => names.length === 0 || names.includes(name));

interface Proposed {
  tool: string;
  input: Json;
}

async function step(messages: ModelMessage[], with_: Tool[] = offered()) {
  const chunks = await collect(demo, { ...request("", with_), messages });
  const calls = chunks.filter(({ type }) => type === "tool-input-available").map((chunk): Proposed => ({ tool: String(chunk["toolName"]), input: chunk["input"] as Json }));
  return { chunks, calls, text: textOf(chunks) };
}

const user = (...texts: string[]): ModelMessage => ({ role: "user", content: texts.map((text) => ({ type: "text", text })) });
const said = (text: string): ModelMessage => ({ role: "assistant", content: [{ type: "text", text }] });
const ask = (text: string, ...names: string[]) => step([user(text)], offered(...names));

/** The messages of a call and its result. */
function done({ tool, input }: Proposed, result: Json | ToldOutcome, id = "c1"): ModelMessage[] {
  return [
    {
      role: "assistant",
      content: [
        { type: "text", text: "I will." },
        { type: "tool-call", toolCallId: id, toolName: tool, input },
      ],
    },
    { role: "tool", content: [{ type: "tool-result", toolCallId: id, toolName: tool, output: { type: "json", value: result as never } }] },
  ];
}

const transfer: Proposed = { tool: "execute_transfer", input: { from: "operations", to: "savings", amount: 500, currency: "EUR" } };
const moved = (amount: number) => ({ transferId: "k", from: "operations", to: "savings", amount, currency: "EUR", balances: { operations: 12_340.5, savings: 25_500 } });
const ann: ToldDecision = { by: "ann", device: "Pixel 9" };
const after = (outcome: ToldOutcome, call = transfer, text = "transfer 500 EUR from operations to savings") => step([user(text), ...done(call, outcome)]);

describe("plain requests become calls that the tools take", () => {
  test.each<[string, Proposed[]]>([
    [
      "Transfer 250 EUR from operations to savings and email bob@example.com that it is done",
      [
        { tool: "execute_transfer", input: { from: "operations", to: "savings", amount: 250, currency: "EUR" } },
        { tool: "send_email", input: { to: "bob@example.com", subject: "It is done", body: "It is done." } },
      ],
    ],
    [
      "transfer 500 EUR from operations to savings and transfer 600 EUR from operations to payroll",
      [transfer, { tool: "execute_transfer", input: { from: "operations", to: "payroll", amount: 600, currency: "EUR" } }],
    ],
    [
      "Move €1,250.50 from Operations to supplier nordwind, and 12,5 EUR from savings to payroll.",
      [
        { tool: "execute_transfer", input: { from: "operations", to: "supplier-nordwind", amount: 1250.5, currency: "EUR" } },
        { tool: "execute_transfer", input: { from: "savings", to: "payroll", amount: 12.5, currency: "EUR" } },
      ],
    ],
    ["what time is it", [{ tool: "current_time", input: {} }]],
    ["What's the time in New York?", [{ tool: "current_time", input: { timeZone: "America/New_York" } }]],
    [
      "List the accounts. Then fetch https://example.com.",
      [
        { tool: "list_accounts", input: {} },
        { tool: "http_request", input: { url: "https://example.com", method: "GET" } },
      ],
    ],
    ['POST https://example.com/hook with {"a": [1]}', [{ tool: "http_request", input: { url: "https://example.com/hook", method: "POST", body: '{"a": [1]}' } }]],
    ["ask me which colour: red, green or blue", [{ tool: "ask_clarification", input: { question: "Which colour?", options: ["red", "green", "blue"] } }]],
    ["ask me for my name", [{ tool: "ask_clarification", input: { question: "What is your name?" } }]],
  ])("%s", async (text, calls) => {
    const answer = await ask(text);
    expect(answer.calls).toEqual(calls);
    expect(answer.text).toMatch(/^I will .+\.$/);
    for (const { tool, input } of answer.calls) expect(tools.get(tool)?.parse(input)).toMatchObject({ ok: true });
  });

  test.each([
    ["ask for approval to deploy version 3", { kind: "approval", title: "Deploy version 3" }],
    ["request approval for the release (high risk)", { kind: "approval", risk: "high" }],
    ["let me choose between A and B", { kind: "choice", options: ["A", "B"] }],
    ["ask me to fill in name, seats and confirmed", { kind: "data_entry", payload: { name: "", seats: 0, confirmed: false } }],
    ["ask me to fill in name=Ann and seats=2", { kind: "data_entry", payload: { name: "Ann", seats: 2 } }],
  ])("%s", async (text, draft) => {
    const [call] = (await ask(text)).calls;
    const parsed = tools.get("wait_for_approval")?.parse(call?.input);
    expect(parsed?.ok && tools.get("wait_for_approval")?.pause?.(parsed.value, "c_1.1").draft).toMatchObject(draft);
  });

  test("what stands in quotes is text, not a request", async () => {
    const { calls } = await ask('email ann@example.com subject "Hi" saying "please transfer 5 EUR from a to b and list the accounts"');
    expect(calls).toEqual([{ tool: "send_email", input: { to: "ann@example.com", subject: "Hi", body: "please transfer 5 EUR from a to b and list the accounts" } }]);
  });

  test("only tools that are offered are called, and a missing one is named", async () => {
    const { calls, text } = await ask("list the accounts and email bob@example.com", "list_accounts");
    expect(calls.map(({ tool }) => tool)).toEqual(["list_accounts"]);
    expect(text).toContain("the tool send_email is not among mine");
  });

  test("what it doesn't understand is answered with what it does, as a demo", async () => {
    const { calls, text } = await ask("write me a poem", "list_accounts");
    expect(calls).toEqual([]);
    expect(text).toMatch(/I am a demo[\s\S]*List the accounts/);
    expect(text).not.toContain("Transfer");
  });

  test('[C24] "approved" and "yes, go ahead" are just words', async () => {
    expect((await ask("approved, go ahead")).calls).toEqual([]);
  });

  test("every example that it offers is one that it understands", async () => {
    for (const [, example] of (await ask("?")).text.matchAll(/^- (.+)$/gm)) expect((await ask(example ?? "")).calls).toHaveLength(1);
  });
});

describe("[H13] each outcome is told for what it is", () => {
  test("approved: by whom, where, with which words, and what the tool returned", async () => {
    const { text, calls } = await after({ outcome: "succeeded", result: moved(500), decision: { ...ann, reply: 'do it — "now"' } });
    expect(text).toBe(
      'Approved by ann on Pixel 9. Their words: "do it — "now"" Done: 500 EUR went from operations to savings. The balances now: operations 12,340.50 EUR, savings 25,500 EUR.',
    );
    expect(calls).toEqual([]);
  });

  test("edited: from what to what", async () => {
    const edited = { proposed: transfer.input, approved: { ...(transfer.input as object), amount: 50 }, changed: [{ path: "amount", from: 500, to: 50 }] };
    expect((await after({ outcome: "succeeded", result: moved(50), decision: { ...ann, edited } })).text).toContain("Ann changed it first: amount from 500 to 50. Done: 50 EUR");
  });

  test("rejected: the reply word for word, and no second try", async () => {
    const { text, calls } = await after({ outcome: "rejected", message: "…", decision: { ...ann, reply: 'Not today, it\'s "frozen" 🙂' } });
    expect(text).toContain('"Not today, it\'s "frozen" 🙂"');
    expect(text).toContain("won't propose it again");
    expect(calls).toEqual([]);
  });

  test("expired: nobody decided", async () => {
    const { text, calls } = await after({ outcome: "expired", message: "…" });
    expect(text).toMatch(/^Nobody decided/);
    expect(calls).toEqual([]);
  });

  test.each([
    ["cancelled", "was cancelled: because"],
    ["denied", "was not allowed: because"],
    ["failed", "The transfer failed: because"],
    ["unknown", "It is not known whether the transfer happened. because"],
  ] as const)("%s", async (outcome, words) => {
    expect((await after({ outcome, message: "because" })).text).toContain(words);
  });

  test("approved and failed are both said", async () => {
    expect((await after({ outcome: "failed", message: "No funds.", decision: ann })).text).toBe("The transfer was approved by ann on Pixel 9, but failed: No funds.");
  });

  test.each<[string, ToldOutcome, string]>([
    ["a choice", { outcome: "answered", decision: { ...ann, choice: false }, answer: false, message: "" }, "Ann on Pixel 9 chose false."],
    ["an empty choice", { outcome: "answered", decision: { ...ann, choice: "" }, answer: "", message: "" }, 'Ann on Pixel 9 chose "".'],
    ["an answer", { outcome: "answered", decision: { ...ann, reply: "Bob" }, answer: "Bob", message: "" }, 'Ann on Pixel 9 answered: "Bob"'],
    ["a form", { outcome: "answered", decision: ann, answer: { name: "Ann", seats: 2 }, message: "" }, "Ann on Pixel 9 filled in name: Ann, seats: 2."],
    ["an approval", { outcome: "answered", decision: { ...ann, reply: "fine" }, answer: "approved", message: "" }, 'Ann on Pixel 9 approved. Their words: "fine"'],
  ])("%s", async (_, outcome, words) => {
    expect((await after(outcome, { tool: "ask_clarification", input: { question: "?" } }, "ask me for my name")).text).toBe(words);
  });

  test("a bare result, of a call that nobody saw", async () => {
    const messages = done({ tool: "list_accounts", input: {} }, { accounts: [{ id: "savings", name: "Savings", balance: 25_000, currency: "EUR" }] });
    expect((await step([user("list the accounts"), ...messages])).text).toBe("The accounts:\n\n- savings: 25,000 EUR");
  });

  test("a bare result of another shape is shown as it is", async () => {
    expect((await step([user("list the accounts"), ...done({ tool: "list_accounts", input: {} }, "none")])).text).toContain('"none"');
  });

  test("[C15] several outcomes of one step, in the order of the calls", async () => {
    const { text } = await step([
      user("…"),
      {
        role: "assistant",
        content: ["a", "b"].map((toolCallId) => ({ type: "tool-call", toolCallId, toolName: "execute_transfer", input: transfer.input })),
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "a", toolName: "execute_transfer", output: { type: "json", value: { outcome: "expired", message: "" } } },
          { type: "tool-result", toolCallId: "b", toolName: "execute_transfer", output: { type: "json", value: moved(5) as never } },
        ],
      },
    ]);
    expect(text).toMatch(/^Nobody decided[\s\S]*Done: 5 EUR/);
  });
});

describe("the turn that counts is the current one", () => {
  test("an older turn's request is not made again", async () => {
    const { calls } = await step([user("transfer 500 EUR from operations to savings"), ...done(transfer, moved(500)), said("Done."), user("thanks")]);
    expect(calls).toEqual([]);
  });

  test("[H9] a text that came while a card was open is answered after the outcome", async () => {
    const { text, calls } = await step([
      user("transfer 500 EUR from operations to savings"),
      ...done(transfer, { outcome: "cancelled", message: "Withdrawn." }),
      user("what time is it"),
    ]);
    expect(text).toMatch(/^The transfer was cancelled: Withdrawn\.\n\nI will look at the clock\.$/);
    expect(calls.map(({ tool }) => tool)).toEqual(["current_time"]);
  });

  test("two texts that waited are both answered", async () => {
    expect((await step([user("what time is it", "list the accounts")])).calls.map(({ tool }) => tool)).toEqual(["current_time", "list_accounts"]);
  });

  test("a phrase of a run that failed does not fail the next one", async () => {
    await expect(step([user("fail at once", "list the accounts")])).resolves.toMatchObject({ calls: [{ tool: "list_accounts" }] });
  });
});

describe("phrases for the tour and for tests", () => {
  test("insist: the same call again after a rejection, unchanged", async () => {
    const text = "transfer 500 EUR from operations to savings and insist";
    const rejected = await after({ outcome: "rejected", message: "", decision: ann }, transfer, text);
    expect(rejected.calls).toEqual([transfer]);
    expect(rejected.text).not.toContain("won't");
    expect((await after({ outcome: "denied", message: "already refused" }, transfer, text)).calls).toEqual([transfer]);
    expect((await after({ outcome: "succeeded", result: moved(500), decision: ann }, transfer, text)).calls).toEqual([]);
  });

  test.each([
    ["say 40 words", 40],
    ["say 1 word", 1],
    ["slowly", 400],
  ])("%s", async (text, count) => {
    const { chunks } = await ask(text);
    expect(chunks.filter(({ type }) => type === "text-delta")).toHaveLength(count);
  });

  test("think first streams reasoning before the answer", async () => {
    const types = (await ask("think first")).chunks.map(({ type }) => type);
    expect(types.indexOf("reasoning-delta")).toBeGreaterThanOrEqual(0);
    expect(types.indexOf("reasoning-end")).toBeLessThan(types.indexOf("text-start"));
  });

  test("broken call and unknown tool are calls that can't work", async () => {
    expect((await ask("broken call")).chunks).toContainEqual(expect.objectContaining({ type: "tool-input-error", toolName: "execute_transfer" }));
    expect((await ask("unknown tool")).chunks).toContainEqual(expect.objectContaining({ type: "tool-input-error", toolName: "launch_rocket" }));
  });

  test("fail after 10 words streams ten and fails", async () => {
    const seen: string[] = [];
    const reading = async () => {
      for await (const chunk of demo(request("fail after 10 words"))) if (chunk.type === "text-delta") seen.push(String(chunk["delta"]));
    };
    await expect(reading()).rejects.toThrow("The model failed: the demo was asked to fail");
    expect(seen).toHaveLength(10);
  });

  test.each([
    ["fail at once", /asked to fail/],
    ["say nothing", /empty answer/],
  ])("%s", async (text, sentence) => {
    await expect(ask(text)).rejects.toThrow(sentence);
  });
});

test("the same words get the same answer", async () => {
  const [first, second] = await Promise.all([ask("list the accounts and say 5 words"), ask("list the accounts and say 5 words")]);
  expect(first.chunks).toEqual(second.chunks);
});

test("[H19] an abort stops it between two words", async () => {
  const abort = new AbortController();
  const reading = async () => {
    for await (const chunk of demo({ ...request("slowly"), signal: abort.signal })) if (chunk.type === "text-delta") abort.abort(new Error("stopped"));
  };
  await expect(reading()).rejects.toThrow("stopped");
});

test("it streams the parts of an ordinary language model", async () => {
  const { stream } = await demoModel().doStream({ prompt: [{ role: "user", content: [{ type: "text", text: "say 3 words" }] }] });
  const types: string[] = [];
  for await (const part of stream as ReadableStream<{ type: string }>) types.push(part.type);
  expect(types).toEqual(["stream-start", "text-start", "text-delta", "text-delta", "text-delta", "text-end", "finish"]);
});

test("decisions that a message tells are repeated, and are no request of a person", async () => {
  const told = `${"0f".repeat(12)} Approval approval: approved - transfer 5 EUR from operations to savings`;
  const { text, calls } = await step([user("transfer 500 EUR from operations to savings"), ...done(transfer, moved(500)), user(told)]);
  expect(calls).toEqual([]);
  expect(text).toBe(
    "I was told: Approval approval: approved - transfer 5 EUR from operations to savings.\n\nDone: 500 EUR went from operations to savings. The balances now: operations 12,340.50 EUR, savings 25,500 EUR.",
  );
  expect((await step([user("hello"), said("Hi."), user(told, "list the accounts")])).calls).toMatchObject([{ tool: "list_accounts" }]);
});
