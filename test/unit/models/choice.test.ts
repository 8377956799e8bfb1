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

  test("openai-compatible with its address, with a key or without, plain http on this machine too", () => {
    for (const settings of [
      { MODEL: "openai-compatible/llama3.2", OPENAI_BASE_URL: "http://localhost:11434/v1" },
      { MODEL: "openai-compatible/meta-llama/Llama-3.3-70B", OPENAI_BASE_URL: "https://models.example/v1/", OPENAI_API_KEY: "sk-1\n" },
    ])
      expect(createModel(settings)).toMatchObject({ ok: true, name: settings.MODEL, demo: false });
  });

  test("a key that can't be sent is not repeated", () => {
    const choice = createModel({ MODEL: "openai-compatible/gpt", OPENAI_BASE_URL: "https://models.example/v1", OPENAI_API_KEY: "sk-secret word" });
    expect(JSON.stringify(choice)).not.toContain("secret w");
  });

  test.each([
    [{ MODEL: "workers-ai/@cf/meta/llama" }, "AI", /binding AI is missing/],
    [{ MODEL: "openai-compatible/gpt" }, "OPENAI_BASE_URL", /OPENAI_BASE_URL is not set/],
    [{ MODEL: "openai-compatible/gpt", OPENAI_BASE_URL: "  " }, "OPENAI_BASE_URL", /OPENAI_BASE_URL is not set/],
    [{ MODEL: "openai-compatible/gpt", OPENAI_BASE_URL: "localhost:11434/v1" }, "OPENAI_BASE_URL", /not an http or https address/],
    [{ MODEL: "openai-compatible/gpt", OPENAI_BASE_URL: "ftp://models.example/v1" }, "OPENAI_BASE_URL", /not an http or https address/],
    [{ MODEL: "openai-compatible/gpt", OPENAI_BASE_URL: "https://me:secret@models.example/v1" }, "OPENAI_BASE_URL", /OPENAI_API_KEY/],
    [{ MODEL: "openai-compatible/gpt", OPENAI_BASE_URL: "https://models.example/v1?key=1" }, "OPENAI_BASE_URL", /Leave that part out/],
    [{ MODEL: "openai-compatible/gpt", OPENAI_BASE_URL: "https://models.example/v1/chat/completions" }, "OPENAI_BASE_URL", /added by itself/],
    [{ MODEL: "openai-compatible/gpt", OPENAI_BASE_URL: "https://models.example/v1", OPENAI_API_KEY: "two words" }, "OPENAI_API_KEY", /Set it again/],
    [{ MODEL: "openai-compatible/", OPENAI_BASE_URL: "https://models.example/v1" }, "MODEL", /none of/],
    [{ MODEL: "gpt" }, "MODEL", /none of: demo/],
    [{ MODEL: "" }, "MODEL", /none of/],
    [{ MODEL: "workers-ai/", AI }, "MODEL", /none of/],
  ])("%j is refused, naming the setting", (settings, setting, message) => {
    expect(createModel(settings)).toMatchObject({ ok: false, setting, message: expect.stringMatching(message) });
  });
});
