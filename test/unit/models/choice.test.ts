import { describe, expect, test } from "vitest";
import { createModel } from "../../../src/models/index.js";
import { collect, request, textOf } from "./scripted.js";

const AI = {
  run: async () => new Response('data: {"response":"Hello from Workers AI."}\n\ndata: {"response":"","usage":{"prompt_tokens":4,"completion_tokens":5}}\n\ndata: [DONE]\n\n').body,
} as unknown as Ai;

describe("MODEL names the model", () => {
  test("the demo, when it isn't set", async () => {
    const choice = createModel({ demoDelayMs: 0 });
    expect(choice).toMatchObject({ ok: true, name: "demo", demo: true });
    if (choice.ok) expect(textOf(await collect(choice.model, request("hello")))).toContain("I am a demo");
  });

  test("workers-ai with its binding", async () => {
    const choice = createModel({ MODEL: "workers-ai/@cf/meta/llama-3.3-70b-instruct-fp8-fast", AI });
    expect(choice).toMatchObject({ ok: true, demo: false });
    if (choice.ok) expect(textOf(await collect(choice.model, request("hello")))).toBe("Hello from Workers AI.");
  });

  test.each([
    [{ MODEL: "workers-ai/@cf/meta/llama" }, "AI", /binding AI is missing/],
    [{ MODEL: "openai-compatible/gpt" }, "MODEL", /not available in this version/],
    [{ MODEL: "gpt" }, "MODEL", /none of: demo/],
    [{ MODEL: "" }, "MODEL", /none of/],
    [{ MODEL: "workers-ai/", AI }, "MODEL", /none of/],
  ])("%j is refused, naming the setting", (settings, setting, message) => {
    expect(createModel(settings)).toMatchObject({ ok: false, setting, message: expect.stringMatching(message) });
  });
});
