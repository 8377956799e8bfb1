import { APICallError } from "ai";
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import { streamStep } from "../../../src/models/stream-step.js";
import { collect, finish, modelTool, request, says, scripted, textOf } from "./scripted.js";

const failure = (statusCode: number | undefined, headers: Record<string, string> = {}) =>
  new APICallError({ message: "no", url: "https://model.example", requestBodyValues: {}, responseHeaders: headers, ...(statusCode !== undefined && { statusCode }) });

/** A step whose waits take no time and are noted. */
function patient(model: ReturnType<typeof scripted>) {
  const waits: number[] = [];
  const step = streamStep(model, {
    wait: async (ms) => {
      waits.push(ms);
    },
  });
  return { step, waits };
}

test("text comes as it is streamed, and the end tells the usage", async () => {
  const chunks = await collect(streamStep(scripted([...says("Hello ", "there."), finish()])), request("hi"));
  expect(textOf(chunks)).toBe("Hello there.");
  expect(chunks.at(-1)).toEqual({ type: "finish", finishReason: "stop", messageMetadata: { usage: { inputTokens: 7, outputTokens: 3 } } });
});

test("system, messages, tools and signal reach the model", async () => {
  const model = scripted([...says("ok"), finish()]);
  const asked = request("hi", [modelTool("pay")]);
  await collect(streamStep(model), asked);
  expect(model.calls[0]).toMatchObject({
    prompt: [{ role: "system", content: "Be good." }, { role: "user" }],
    tools: [{ type: "function", name: "pay", inputSchema: { type: "object" } }],
    abortSignal: asked.signal,
  });
});

test("reasoning comes with what its provider must get back", async () => {
  const providerMetadata = { anthropic: { signature: "s" } };
  const parts: LanguageModelV4StreamPart[] = [
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "hm" },
    { type: "reasoning-end", id: "r", providerMetadata },
  ];
  const chunks = await collect(streamStep(scripted([...parts, ...says("ok"), finish()])), request("hi"));
  expect(chunks).toContainEqual({ type: "reasoning-end", id: "r", providerMetadata });
});

describe("[H2] a call is proposed and never run", () => {
  const call = (toolName: string, input: string, toolCallId = "call_1"): LanguageModelV4StreamPart => ({ type: "tool-call", toolCallId, toolName, input });
  const propose = (...calls: LanguageModelV4StreamPart[]) => collect(streamStep(scripted([...calls, finish("tool-calls")])), request("pay", [modelTool("pay")]));

  test("several in one step, in their order", async () => {
    const chunks = await propose(call("pay", '{"amount":1}', "a"), call("pay", '{"amount":2}', "b"));
    expect(chunks.filter(({ type }) => type === "tool-input-available").map((chunk) => [chunk["toolCallId"], chunk["input"]])).toEqual([
      ["a", { amount: 1 }],
      ["b", { amount: 2 }],
    ]);
  });

  test("input that is not JSON comes through as an error of that call only", async () => {
    const chunks = await propose(call("pay", '{"amount": ', "a"), call("pay", "{}", "b"));
    expect(chunks.map(({ type }) => type)).toEqual(["tool-input-error", "tool-input-available", "finish"]);
    expect(chunks[0]).toMatchObject({ toolCallId: "a", toolName: "pay", input: '{"amount": ', errorText: "it is not JSON" });
  });

  test("a tool that does not exist comes through as an error of that call", async () => {
    expect(await propose(call("launch", "{}"))).toMatchObject([{ type: "tool-input-error", toolName: "launch" }, { type: "finish" }]);
  });

  test("ids like constructor and __proto__ are ordinary", async () => {
    const chunks = await propose(call("constructor", "{}", "__proto__"), call("pay", "{}", "constructor"));
    expect(chunks.map((chunk) => [chunk.type, chunk["toolCallId"]])).toEqual([
      ["tool-input-error", "__proto__"],
      ["tool-input-available", "constructor"],
      ["finish", undefined],
    ]);
  });
});

describe("a failed call says in a sentence what happened", () => {
  test.each([
    [401, {}, /refused the key, or wants one \(401\)/],
    [403, {}, /refused the key, or wants one \(403\)/],
    [404, {}, /does not know this model/],
    [408, {}, /did not answer in time/],
    [413, {}, /too long/],
    [429, { "retry-after": "7201" }, /Write again in 3 hours/],
    [429, { "retry-after": "30" }, /Write again in 30 seconds/],
    [429, {}, /Write again in a while/],
    [422, {}, /refused the request \(422\): no/],
    [500, {}, /has a fault \(500\)/],
    [503, {}, /has a fault \(503\)/],
    [504, {}, /did not answer in time/],
    [undefined, {}, /could not be reached/],
  ])("%s %j", async (status, headers, sentence) => {
    await expect(collect(patient(scripted(failure(status, headers))).step, request("hi"))).rejects.toThrow(sentence);
  });

  test.each([
    ["content-filter", /content filter/],
    ["interrupted", /cut off/],
    ["error", /cut off/],
  ] as const)("an answer that ends with %s keeps what came, and fails", async (reason, sentence) => {
    const seen: string[] = [];
    const reading = async () => {
      for await (const chunk of streamStep(scripted([...says("Half an"), finish(reason)]))(request("hi"))) seen.push(chunk.type);
    };
    await expect(reading()).rejects.toThrow(sentence);
    expect(seen).toContain("text-delta");
  });

  test("a stream that just stops was cut off", async () => {
    await expect(collect(streamStep(scripted(says("Half an"))), request("hi"))).rejects.toThrow("cut off");
  });

  test("an error in mid-stream ends it, and is not tried again", async () => {
    const model = scripted([...says("Half"), { type: "error", error: failure(503) }]);
    await expect(collect(patient(model).step, request("hi"))).rejects.toThrow("has a fault (503)");
    expect(model.calls).toHaveLength(1);
  });

  test.each([[[finish()]], [[...says(" ", "\n"), finish()]]])("an empty answer is none", async (script) => {
    await expect(collect(streamStep(scripted(script)), request("hi"))).rejects.toThrow("empty answer");
  });

  test("a provider's long message is cut", async () => {
    const error = await collect(streamStep(scripted(new Error("x".repeat(5_000)))), request("hi")).catch((thrown: Error) => thrown);
    expect((error as Error).message.length).toBeLessThan(350);
  });
});

describe("what may pass by itself is tried three times", () => {
  test("after 429 and 5xx, waiting longer each time", async () => {
    const model = scripted(failure(429), failure(503), [...says("ok"), finish()]);
    const { step, waits } = patient(model);
    expect(textOf(await collect(step, request("hi")))).toBe("ok");
    expect([model.calls.length, waits]).toEqual([3, [2_000, 4_000]]);
  });

  test("as long as the provider asks, when that is bearable", async () => {
    const { step, waits } = patient(scripted(failure(429, { "retry-after": "7" }), failure(429, { "retry-after-ms": "1500" }), [...says("ok"), finish()]));
    await collect(step, request("hi"));
    expect(waits).toEqual([7_000, 1_500]);
  });

  test("not when it asks for more: a person is told instead", async () => {
    const model = scripted(failure(429, { "retry-after": "3600" }));
    await expect(collect(patient(model).step, request("hi"))).rejects.toThrow("in 60 minutes");
    expect(model.calls).toHaveLength(1);
  });

  test("not a refused key", async () => {
    const model = scripted(failure(401));
    await expect(collect(patient(model).step, request("hi"))).rejects.toThrow();
    expect(model.calls).toHaveLength(1);
  });

  test("not after the fourth", async () => {
    const model = scripted(failure(503));
    await expect(collect(patient(model).step, request("hi"))).rejects.toThrow("(503)");
    expect(model.calls).toHaveLength(3);
  });
});

describe("[H19] a signal ends the call at once", () => {
  test("while it waits for another try", async () => {
    const abort = new AbortController();
    const model = scripted(failure(503));
    const reading = collect(streamStep(model), { ...request("hi"), signal: abort.signal });
    await expect.poll(() => model.calls.length).toBe(1);
    abort.abort(new Error("stopped"));
    await expect(reading).rejects.toThrow("stopped");
  });

  test("and a reader who stops closes the model's stream", async () => {
    let cancelled = false;
    const endless = new ReadableStream<LanguageModelV4StreamPart>({
      start: (controller) => controller.enqueue({ type: "text-start", id: "t" }),
      pull: (controller) => controller.enqueue({ type: "text-delta", id: "t", delta: "and " }),
      cancel: () => {
        cancelled = true;
      },
    });
    const model = { ...scripted(), doStream: async () => ({ stream: endless }) };
    for await (const chunk of streamStep(model)(request("hi"))) if (chunk.type === "text-delta") break;
    await expect.poll(() => cancelled).toBe(true);
  });
});
