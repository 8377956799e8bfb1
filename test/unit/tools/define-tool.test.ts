import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { ToolContext } from "../../../src/core/tool.js";
import { approvalMarker } from "../../../src/core/marker.js";
import { allow, ask, definePausingTool, defineTool, deny, type ToolDefinition } from "../../../src/tools/define-tool.js";

const input = z.object({ to: z.string().trim(), amount: z.coerce.number(), urgent: z.boolean().default(false) });

const tool = (more: Partial<ToolDefinition<typeof input>> = {}) =>
  defineTool({ name: "pay", description: "Pays.", input, risk: "high", execute: ({ amount }) => amount * 2, ...more });

const payment = { to: "bob", amount: 5, urgent: false };
const context: ToolContext = { idempotencyKey: "c.1.0.0", signal: new AbortController().signal, conversationId: "c", person: "ann", env: {} };

describe("[H6] what a tool parses is the schema's output", () => {
  test("coercions are done, defaults filled in, unknown keys gone", () => {
    expect(tool().parse({ to: " bob ", amount: "5", extra: 1 })).toEqual({ ok: true, value: payment });
  });

  test("the output parses to itself", () => {
    expect(tool().parse(payment)).toEqual({ ok: true, value: payment });
  });

  test("each fault has its path", () => {
    const parsed = tool().parse({ to: 7, amount: "much" });
    expect(parsed).toMatchObject({ ok: false, faults: [{ path: ["to"] }, { path: ["amount"] }] });
  });

  test("an output that JSON can't carry is a fault, not a silent change", () => {
    const dated = defineTool({ name: "dated", description: "", input: z.object({ n: z.number().transform((n) => BigInt(n)) }), risk: "low", execute: () => null });
    expect(dated.parse({ n: 1 })).toMatchObject({ ok: false, faults: [{ message: expect.stringContaining("JSON") }] });
  });

  test.each([["text"], [null], [undefined], [[1]], [5]])("%j is no input", (value) => {
    expect(tool().parse(value).ok).toBe(false);
  });
});

describe("a policy is never looser than what was written", () => {
  test("a tool without one asks", () => {
    expect(tool().policy(payment)).toEqual(ask());
  });

  test("a tool that only reads runs, and may run again", () => {
    const reader = tool({ readOnly: true });
    expect(reader.policy(payment)).toEqual(allow());
    expect(reader.idempotent(payment)).toBe(true);
  });

  test("being idempotent lets nothing run without a card", () => {
    expect(tool({ idempotent: true }).policy(payment)).toEqual(ask());
  });

  test("one that is declared wins over readOnly", () => {
    expect(tool({ readOnly: true, approval: () => deny("closed") }).policy(payment)).toEqual(deny("closed"));
  });

  test("one that throws is passed on, for the run loop to take as ask", () => {
    const broken = tool({
      approval: () => {
        throw new Error("no rules");
      },
    });
    expect(() => broken.policy(payment)).toThrow("no rules");
  });

  test("one that answers something else throws, so that a promise is not taken for consent", () => {
    const wrong = tool({ approval: (async () => allow()) as never });
    expect(() => wrong.policy(payment)).toThrow("returned no verdict");
  });
});

describe("[H5] a tool says whether it may run twice", () => {
  test("no, unless it says so", () => {
    expect(tool().idempotent(payment)).toBe(false);
  });

  test("it may depend on the input", () => {
    const sometimes = tool({ idempotent: ({ amount }) => amount === 0 });
    expect([sometimes.idempotent(payment), sometimes.idempotent({ ...payment, amount: 0 })]).toEqual([false, true]);
  });
});

describe("a card always has a sentence", () => {
  test("the tool's own", () => {
    expect(tool({ summary: ({ to, amount }) => `Pay ${amount} to ${to}` }).summary(payment)).toBe("Pay 5 to bob");
  });

  test("else the name and the fields", () => {
    expect(tool().summary(payment)).toBe("pay to: bob, amount: 5, urgent: false");
  });

  test("also when the tool's own throws", () => {
    const broken = tool({
      summary: () => {
        throw new Error("oops");
      },
    });
    expect(broken.summary({ to: "x".repeat(1000), amount: 5, urgent: false })).toMatch(/^pay to: x+…$/);
  });
});

describe("[H18] a tool has a time limit", () => {
  test.each([
    [undefined, 60_000],
    ["30s", 30_000],
    [1500, 1500],
    ["10m", 600_000],
  ])("%s is %i ms", (timeout, milliseconds) => {
    expect(tool(timeout === undefined ? {} : { timeout }).timeoutMs).toBe(milliseconds);
  });

  test.each(["11m", "soon", 0, -1])("%s is refused when the tool is defined", (timeout) => {
    expect(() => tool({ timeout })).toThrow();
  });
});

test("a name that providers refuse is refused when the tool is defined", () => {
  expect(() => tool({ name: "pay now" })).toThrow("not a tool name");
});

test("the JSON Schema describes what may be put in: a field with a default is not required", () => {
  expect(tool().inputSchema).toMatchObject({ type: "object", required: ["to", "amount"], properties: { urgent: { default: false } } });
  expect(tool().inputSchema).not.toHaveProperty("$schema");
});

test("execute gets the input and the context, and its result comes back", async () => {
  await expect(tool().execute(payment, context)).resolves.toBe(10);
});

test("an execute that throws at once rejects", async () => {
  const broken = tool({
    execute: () => {
      throw new Error("no money");
    },
  });
  await expect(broken.execute(payment, context)).rejects.toThrow("no money");
});

test("a pausing tool gives its draft and the marker of its pause point, and is never executed", async () => {
  const question = definePausingTool({ name: "question", description: "", input: z.object({ q: z.string() }), draft: ({ q }) => ({ kind: "clarification", title: q }) });
  expect(question.pause?.({ q: "Why?" }, "c_1.1")).toEqual({ draft: { kind: "clarification", title: "Why?" }, result: approvalMarker("c_1.1") });
  await expect(question.execute({ q: "Why?" }, context)).rejects.toThrow("never executed");
});
