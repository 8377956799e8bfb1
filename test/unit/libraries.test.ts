import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import * as gateway from "../../src/gateway-for-libraries.js";
import { z } from "../../src/zod-for-libraries.js";

// What the Worker's libraries get in place of what they import ([alias] in wrangler.toml), held against what they use.

const codeOf = (library: string): string => readFileSync(`node_modules/${library}/dist/index.js`, "utf8");

it("the part of zod that libraries in the Worker get is all that they use", () => {
  for (const library of ["@ai-sdk/mcp", "@ai-sdk/openai-compatible"]) {
    const used = codeOf(library).matchAll(/(?<![\w$.])z\.(\w+)/g);
    const missing = [...new Set([...used].map(([, name = ""]) => name))].filter((name) => !(name in z));
    expect(missing, library).toEqual([]);
  }
});

it("all that `ai` imports of its gateway is there, and a model named by a string has no provider", () => {
  const imported = /import \{([^}]*)\} from "@ai-sdk\/gateway"/.exec(codeOf("ai"))?.[1] ?? "";
  const names = imported.split(",").map((name) => name.trim().replace(/ as .*/, ""));
  expect(names).toContain("gateway");
  expect(names.filter((name) => !(name in gateway))).toEqual([]);
  expect(() => gateway.createGateway().languageModel("openai/gpt")).toThrow('No provider answers for the model "openai/gpt"');
  expect(gateway.GatewayAuthenticationError.isInstance(new gateway.GatewayError())).toBe(false);
});
