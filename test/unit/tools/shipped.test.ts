import { describe, expect, test } from "vitest";
import { OutcomeUnknown, type ToolContext } from "../../../src/core/tool.js";
import { createTools } from "../../../src/tools/index.js";
import { toMinor } from "../../../src/store/ledger.js";
import { skills, toolsOf } from "../../../src/skills/index.js";
import { systemPrompt } from "../../../src/skills/system-prompt.js";

const tools = createTools({ httpAllowlist: [], emailConfigured: false });
const mailing = createTools({ httpAllowlist: [], emailConfigured: true });
const tool = (name: string, of = tools) => {
  const found = of.get(name);
  if (!found) throw new Error(name);
  return found;
};
const context = (env: object): ToolContext => ({ idempotencyKey: "c.1.0.0", signal: new AbortController().signal, conversationId: "c", person: "ann", env });

test("these tools ship, under the names that models know", () => {
  expect([...tools.keys()].toSorted()).toEqual([
    "ask_clarification",
    "current_time",
    "execute_transfer",
    "get_location",
    "http_request",
    "list_accounts",
    "send_email",
    "wait_for_approval",
  ]);
});

describe("execute_transfer", () => {
  const transfer = { from: "operations", to: "savings", amount: 100, currency: "EUR" };

  test("runs up to 100 and asks above, for a day", () => {
    expect(tool("execute_transfer").policy(transfer).verdict).toBe("allow");
    expect(tool("execute_transfer").policy({ ...transfer, amount: 100.01 })).toEqual({ verdict: "ask", terms: { expiresIn: "24h" } });
  });

  test("says what it does", () => {
    expect(tool("execute_transfer").summary({ ...transfer, amount: 250.5 })).toBe("Transfer 250.5 EUR from operations to savings");
  });

  test("shows the currency as it will be used", () => {
    expect(tool("execute_transfer").parse({ ...transfer, currency: "eur" })).toEqual({ ok: true, value: transfer });
  });

  test.each([0, -5, 0.001, 1.005, 1e10, Number.MIN_VALUE])("an amount of %d goes back to the model", (amount) => {
    expect(tool("execute_transfer").parse({ ...transfer, amount })).toMatchObject({ ok: false, faults: [{ path: ["amount"] }] });
  });

  test("a ledger that does not answer leaves the outcome unknown, after three tries with one key", async () => {
    let tries = 0;
    const statement = { bind: () => statement };
    const DB = {
      prepare: () => statement,
      batch: () => {
        tries++;
        throw new Error("D1_ERROR: Network connection lost.");
      },
    };
    await expect(tool("execute_transfer").execute(transfer, context({ DB }))).rejects.toBeInstanceOf(OutcomeUnknown);
    expect(tries).toBe(3);
  });
});

test.each([
  [0.01, 1],
  [0.1 + 0.2, null],
  [1.1, 110],
  [12_840.5, 1_284_050],
  [999_999_999.99, 99_999_999_999],
  [4.35, 435],
  [1.005, null],
  [Number.NaN, null],
  [Number.POSITIVE_INFINITY, null],
])("%d in cents is %s", (amount, minor) => {
  expect(toMinor(amount)).toBe(minor);
});

describe("send_email", () => {
  const email = { to: "bob@example.com", subject: "Hello", body: "Hi." };
  const sender = (send: () => Promise<unknown>) => context({ EMAIL: { send }, EMAIL_FROM: "me@example.com" });

  test("always asks", () => {
    expect(tool("send_email").policy(email).verdict).toBe("ask");
  });

  test("a subject can't smuggle in a header", () => {
    expect(tool("send_email").parse({ ...email, subject: "Hello\r\nBcc: eve@example.com" }).ok).toBe(false);
  });

  test("may be tried again only where the key keeps it to one", () => {
    expect([tool("send_email").idempotent(email), tool("send_email", mailing).idempotent(email)]).toEqual([true, false]);
  });

  test("a mail service that refuses has failed", async () => {
    const refused = Object.assign(new Error("sender not verified"), { code: "E_SENDER_NOT_VERIFIED" });
    await expect(
      tool("send_email", mailing).execute(
        email,
        sender(() => Promise.reject(refused)),
      ),
    ).rejects.toBe(refused);
  });

  test.each([new Error("network lost"), Object.assign(new Error("oops"), { code: "E_INTERNAL_SERVER_ERROR" })])(
    "a mail service that breaks leaves it unknown: %s",
    async (error) => {
      await expect(
        tool("send_email", mailing).execute(
          email,
          sender(() => Promise.reject(error)),
        ),
      ).rejects.toBeInstanceOf(OutcomeUnknown);
    },
  );
});

describe("current_time", () => {
  test("runs without a card and says the time in a zone", async () => {
    expect(tool("current_time").policy({}).verdict).toBe("allow");
    await expect(tool("current_time").execute({ timeZone: "Europe/Berlin" }, context({}))).resolves.toMatchObject({ utc: expect.stringMatching(/Z$/), timeZone: "Europe/Berlin" });
  });

  test("a zone that doesn't exist goes back to the model", () => {
    expect(tool("current_time").parse({ timeZone: "Mars/Olympus" }).ok).toBe(false);
  });
});

describe("skills", () => {
  test("every tool that a skill names exists", () => {
    for (const skill of skills.values()) expect(toolsOf(skill, tools).size).toBeGreaterThan(0);
  });

  test("the treasurer sees the ledger and the questions only", () => {
    const treasurer = skills.get("treasurer");
    expect(treasurer && [...toolsOf(treasurer, tools).keys()]).toEqual(["list_accounts", "execute_transfer", "ask_clarification", "wait_for_approval"]);
  });

  test("a skill with a misspelt tool is found at start-up", () => {
    expect(() => toolsOf({ name: "s", title: "", instructions: "", tools: ["list_acounts"] }, tools)).toThrow("list_acounts");
  });

  test("[H13] the model is told what silence means, and that text is no approval", () => {
    for (const skill of skills.values()) expect(systemPrompt(skill)).toMatch(/Silence is not consent[\s\S]*never an approval/);
  });
});
