import { expect, it } from "vitest";
import { describe } from "../../src/mcp/catalog.js";
import { resultOf } from "../../src/mcp/results.js";
import { parseBy } from "../../src/mcp/schema.js";
import { byteLength } from "../../src/protocol/json.js";
import { one } from "./each.js";
import { fuzzEntry } from "./entry.js";
import { answers, listed } from "./inputs.js";

it("[C45] [H10] [C42] requests: what is refused changes nothing, tells nobody and logs nothing", () => fuzzEntry("http", 0.1));

it("[C45] an MCP server's answers: a result that can be kept, or words of ours", async () => {
  await one(answers, 0.1, (answer) => {
    try {
      expect(byteLength(JSON.stringify(resultOf("crm", answer as never)))).toBeGreaterThan(1);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith("crm says that it failed: ")) throw error;
    }
  });
});

it("[C45] an MCP server's tools: used or left out, and an input fits or does not", async () => {
  await one(listed, 0.1, ({ tool, input }) => {
    const read = describe(tool);
    if ("reason" in read) return expect(read.tool).toMatch(/^[\w.-]*$/);
    const parsed = parseBy(read.schema, input);
    // What is taken once is taken as it is the second time: what was shown is what runs (H6).
    if (parsed.ok) expect(parseBy(read.schema, parsed.value)).toEqual(parsed);
  });
});
