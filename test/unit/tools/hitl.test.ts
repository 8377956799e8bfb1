import { describe, expect, test } from "vitest";
import { askClarification, waitForApproval } from "../../../src/tools/hitl.js";

const question = { title: "Deploy version 3", description: "All tests passed." };
const draftOf = (input: object) => {
  const parsed = waitForApproval.parse(input);
  return parsed.ok ? waitForApproval.pause?.(parsed.value, "c_1.1").draft : parsed.faults;
};

describe("wait_for_approval", () => {
  test("asks for an approval unless it says otherwise", () => {
    expect(draftOf(question)).toMatchObject({ kind: "approval", ...question });
  });

  test("a choice carries its options with their types", () => {
    expect(draftOf({ ...question, kind: "choice", options: ["a", 0, false] })).toMatchObject({ kind: "choice", options: ["a", 0, false] });
  });

  test("a form carries its fields with their types", () => {
    const payload = { name: "", seats: 0, confirmed: false, tags: [], more: { a: null } };
    expect(draftOf({ ...question, kind: "data_entry", payload })).toMatchObject({ kind: "data_entry", payload });
  });

  test.each([
    ["a choice without options", { ...question, kind: "choice" }, "options"],
    ["a choice of one", { ...question, kind: "choice", options: ["a"] }, "options"],
    ["a choice between the same", { ...question, kind: "choice", options: ["a", "a"] }, "options"],
    ["21 options", { ...question, kind: "choice", options: Array.from({ length: 21 }, (_, index) => index) }, "options"],
    ["a form without payload", { ...question, kind: "data_entry" }, "payload"],
    ["a form without fields", { ...question, kind: "data_entry", payload: {} }, "payload"],
    ["a form that is a list", { ...question, kind: "data_entry", payload: ["name"] }, "payload"],
    ["a title of 81 characters", { ...question, title: "x".repeat(81) }, "title"],
    ["no title", { ...question, title: " " }, "title"],
    ["the kind that only we use", { ...question, kind: "recovery" }, "kind"],
  ])("%s goes back to the model, without a card", (_, input, field) => {
    expect(waitForApproval.parse(input)).toMatchObject({ ok: false, faults: [{ path: [field] }] });
  });
});

describe("ask_clarification", () => {
  const draft = (question: string, options?: string[]) => askClarification.pause?.({ question, ...(options && { options }) }, "c_1.1").draft;

  test("a short question is the card's title", () => {
    expect(draft("Which colour?", ["red", "green"])).toMatchObject({ kind: "clarification", title: "Which colour?", options: ["red", "green"] });
  });

  test("a long one stands whole under a shortened title", () => {
    const long = "why ".repeat(50);
    expect(draft(long)).toMatchObject({ title: expect.stringMatching(/^.{1,79}…$/), description: long });
  });
});
