import { expect, it } from "vitest";
import { resultOf } from "../../../src/mcp/results.js";

it("[C45] parts of an answer that are none are named as such: they don't make a call that has happened look failed", () => {
  const content = [null, 7, "x", [], {}, { type: 7 }, { type: "resource", resource: null }, { type: "text", text: "kept" }];
  expect(resultOf("crm", { content } as never)).toEqual({
    text: "kept",
    leftOut: [...Array(6).fill("part of the type unknown"), "resource unknown (unknown)"],
  });
});
