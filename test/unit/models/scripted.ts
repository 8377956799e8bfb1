import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ModelRequest, ModelTool } from "../../../src/core/model.js";
import type { Chunk } from "../../../src/protocol/frames.js";
import type { Model } from "../../../src/core/model.js";

/** A model whose n-th call streams the n-th script, or throws it when it is an error. The last one repeats. */
export function scripted(...scripts: (LanguageModelV4StreamPart[] | Error)[]): LanguageModelV4 & { calls: LanguageModelV4CallOptions[] } {
  const calls: LanguageModelV4CallOptions[] = [];
  return {
    specificationVersion: "v4",
    provider: "test",
    modelId: "scripted",
    supportedUrls: {},
    calls,
    doGenerate: () => Promise.reject(new Error("not used")),
    async doStream(options) {
      const script = scripts[Math.min(calls.push(options), scripts.length) - 1] ?? [];
      if (script instanceof Error) throw script;
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        start(controller) {
          for (const part of script) controller.enqueue(part);
          controller.close();
        },
      });
      return { stream };
    },
  };
}

export const finish = (unified: "stop" | "tool-calls" | "length" | "content-filter" | "error" | "interrupted" = "stop"): LanguageModelV4StreamPart => ({
  type: "finish",
  finishReason: { unified, raw: unified },
  usage: { inputTokens: { total: 7, noCache: 7, cacheRead: undefined, cacheWrite: undefined }, outputTokens: { total: 3, text: 3, reasoning: undefined } },
});

export const says = (...deltas: string[]): LanguageModelV4StreamPart[] => [
  { type: "text-start", id: "t" },
  ...deltas.map((delta): LanguageModelV4StreamPart => ({ type: "text-delta", id: "t", delta })),
  { type: "text-end", id: "t" },
];

export const modelTool = (name: string): ModelTool => ({ name, description: name, inputSchema: { type: "object", properties: {} } });

export const request = (text: string, tools: ModelTool[] = []): ModelRequest => ({
  system: "Be good.",
  messages: [{ role: "user", content: [{ type: "text", text }] }],
  tools,
  signal: new AbortController().signal,
});

export async function collect(model: Model, of: ModelRequest): Promise<Chunk[]> {
  return Array.fromAsync(model(of));
}

export const textOf = (chunks: Chunk[]): string => chunks.map((chunk) => (chunk.type === "text-delta" ? String(chunk["delta"]) : "")).join("");
