import { describe, expect, test } from "vitest";
import type { CallState } from "../../../src/protocol/entities.js";
import { bandOf, effectOnButton, isSettled, optionLabel, type CardCall } from "../../../src/web/components/card/view.js";
import { blocksOfStep } from "../../../src/web/components/parts.js";
import { resultOf } from "../../../src/web/components/card/Outcome.js";
import { pausePoint, step } from "./fixtures.js";

const call = (state: CallState, over: Partial<CardCall> = {}): CardCall => ({ state, cause: null, tries: 1, startedAt: 1, endedAt: 2, summary: "", ...over });
const approved = pausePoint({ state: "approved", decision: "approve" });

describe("the band says what happened to the work", () => {
  test("C53 approved, and the tool failed", () => {
    expect(bandOf(approved, call("failed"))).toMatchObject({ band: "failed", word: "Failed" });
  });

  test("approved, running, done", () => {
    expect(bandOf(approved, call("ready")).word).toBe("Running");
    expect(bandOf(approved, call("started")).word).toBe("Running");
    expect(bandOf(approved, call("succeeded")).word).toBe("Done");
  });

  test("an outcome that nobody knows is not called failed", () => {
    expect(bandOf(approved, call("awaiting")).word).toBe("Outcome unknown");
    expect(bandOf(approved, call("unknown")).word).toBe("Outcome unknown");
    expect(bandOf(pausePoint({ kind: "recovery" }), call("awaiting"))).toMatchObject({ band: "unknown", word: "Outcome unknown" });
  });

  test("a question is answered or declined, never run", () => {
    expect(bandOf(pausePoint({ kind: "choice", state: "approved" }), call("succeeded", { startedAt: null })).word).toBe("Answered");
    expect(bandOf(pausePoint({ kind: "clarification", state: "rejected" }), null).word).toBe("Declined");
    expect(bandOf(pausePoint({ kind: "choice", state: "expired" }), null).word).toBe("Not answered");
  });

  test("a card settles when its work has ended", () => {
    expect(isSettled(pausePoint(), call("awaiting"))).toBe(false);
    expect(isSettled(approved, call("started"))).toBe(false);
    expect(isSettled(approved, call("failed"))).toBe(true);
  });
});

test("the effect stands on the button of a dangerous card when it is a figure", () => {
  expect(effectOnButton({ amount: 250, currency: "EUR" })).toBe("250 EUR");
  expect(effectOnButton({ amount: "all of it", currency: "EUR" })).toBeNull();
  expect(effectOnButton(["x"])).toBeNull();
});

test("C19 false, 0 and the empty text are options like others", () => {
  expect([false, 0, "", "yes"].map(optionLabel)).toEqual(["false", "0", "(empty)", "yes"]);
});

test("tool calls that follow one another share a thread; step-start draws nothing", () => {
  const blocks = blocksOfStep(
    step({
      role: "assistant",
      parts: [
        { type: "step-start" },
        { type: "text", text: "a" },
        { type: "tool-x", toolCallId: "1", state: "output-available", input: {}, output: 1 },
        { type: "dynamic-tool", toolName: "y", toolCallId: "2", state: "input-available", input: {} },
        { type: "text", text: "" },
      ],
    }),
  );
  expect(blocks).toMatchObject([
    { type: "text", text: "a" },
    { type: "tools", tools: [{ part: { toolName: "x" } }, { part: { toolName: "y" } }] },
  ]);
  expect(blocks).toHaveLength(2);
});

test("a result is shown without the wrapping that tells the model who decided", () => {
  const part = { toolCallId: "1", toolName: "x", state: "output-available" };
  expect(resultOf({ ...part, output: { outcome: "succeeded", result: { entry: 1 }, decision: { by: "you", device: null } } })).toBe('{\n  "entry": 1\n}');
  expect(resultOf({ ...part, output: "plain" })).toBe("plain");
  expect(resultOf({ ...part, errorText: "422" })).toBe("422");
  expect(resultOf(part)).toBeNull();
});
