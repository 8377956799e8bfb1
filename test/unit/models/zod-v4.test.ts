import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "../../../src/models/zod-v4.js";

test.each(["@ai-sdk/openai-compatible", "@ai-sdk/mcp"])("what %s uses of zod is in the bundle's short list", (library) => {
  const source = readFileSync(join(import.meta.dirname, "../../../node_modules", library, "dist/index.js"), "utf8");
  expect(source).toContain('import { z } from "zod/v4"');
  const used = new Set([...source.matchAll(/(?<![\w.$/])z\.([a-zA-Z0-9]+)/g)].map(([, name]) => name ?? ""));
  expect(used.size).toBeGreaterThan(5);
  expect([...used].filter((name) => !(name in z))).toEqual([]);
});
