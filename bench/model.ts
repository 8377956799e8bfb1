import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart, LanguageModelV4StreamResult } from "@ai-sdk/provider";

// The model of the measurements: as many words as the text asks for ("40 words"), then a transfer if it says so, and
// the same number of words after the transfer. No delay: what is measured is everything but the model.

const TRANSFER = { from: "operations", to: "savings", amount: 100.01, currency: "EUR" };
const BACK = { ...TRANSFER, from: TRANSFER.to, to: TRANSFER.from };

export const measuredModel: LanguageModelV4 = {
  specificationVersion: "v4",
  provider: "holdpoint",
  modelId: "measured",
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error("This model only streams.")),
  doStream: (options): Promise<LanguageModelV4StreamResult> => Promise.resolve({ stream: streamOf(partsOf(options)) }),
};

function* partsOf({ prompt }: LanguageModelV4CallOptions): Generator<LanguageModelV4StreamPart> {
  const asked = prompt.findLast((message) => message.role === "user")?.content.find((part) => part.type === "text")?.text ?? "";
  const count = Number(/(\d+) words/.exec(asked)?.[1] ?? 1);
  const proposes = prompt.at(-1)?.role === "user" && /transfer (there|back)/.exec(asked)?.[1];
  yield { type: "stream-start", warnings: [] };
  yield { type: "text-start", id: "t" };
  for (let word = 1; word <= count; word += 1) yield { type: "text-delta", id: "t", delta: `word${word} ` };
  yield { type: "text-end", id: "t" };
  if (proposes) yield { type: "tool-call", toolCallId: "call_1", toolName: "execute_transfer", input: JSON.stringify(proposes === "back" ? BACK : TRANSFER) };
  yield {
    type: "finish",
    finishReason: { unified: proposes ? "tool-calls" : "stop", raw: undefined },
    usage: { inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined }, outputTokens: { total: count, text: count, reasoning: undefined } },
  };
}

const streamOf = (parts: Generator<LanguageModelV4StreamPart>): ReadableStream<LanguageModelV4StreamPart> =>
  new ReadableStream({
    pull(controller) {
      const { done, value } = parts.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
