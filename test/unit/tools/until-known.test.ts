import { afterEach, expect, it, vi } from "vitest";
import { OutcomeUnknown, type ToolContext } from "../../../src/core/tool.js";
import { createTools } from "../../../src/tools/index.js";

afterEach(() => void vi.useRealTimers());

const tools = createTools({ httpAllowlist: [], emailConfigured: false });
const context = (env: object): ToolContext => ({ idempotencyKey: "c.1.0.0", signal: new AbortController().signal, conversationId: "c", person: "ann", env });

it.each([
  ["execute_transfer", { from: "operations", to: "savings", amount: 100, currency: "EUR" }],
  ["send_email", { to: "a@b.example", subject: "Hi", body: "x" }],
])("[H18] %s whose D1 answers after 80 seconds ends in an unknown outcome before its own time is up, and never as failed", async (name, input) => {
  vi.useFakeTimers();
  let written = 0;
  const afterLong = () => new Promise((resolve) => setTimeout(() => resolve((written += 1)), 80_000));
  const statement = { bind: () => statement, run: afterLong };
  const tool = tools.get(name)!;
  const ended = tool.execute(input, context({ DB: { prepare: () => statement, batch: afterLong } })).then(
    () => "returned",
    (error: unknown) => error,
  );
  await vi.advanceTimersByTimeAsync(tool.timeoutMs - 1);
  expect([written, await Promise.race([ended, Promise.resolve("still waiting")])]).toEqual([0, expect.any(OutcomeUnknown)]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(written).toBe(1);
});
