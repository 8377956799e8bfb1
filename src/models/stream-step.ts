import {
  APICallError,
  experimental_streamLanguageModelCall as streamLanguageModelCall,
  InvalidResponseDataError,
  InvalidToolInputError,
  jsonSchema,
  toUIMessageChunk,
  type LanguageModel,
  type ToolSet,
} from "ai";
import type { Model, ModelRequest, ModelTool } from "../core/model.js";
import type { Chunk } from "../protocol/frames.js";
import { CUT_OFF, explainModelError, isUsedUp, ModelError, retryAfterMs } from "./model-error.js";

// An AI SDK language model as the run loop's `Model`: one call, no loop. `streamText` would do the same for
// seven times the time (1.4 ms against 0.2 ms for forty words) and a fifth of the bundle, because it carries
// a loop that runs tools; here nothing could run one (H2).

const RETRIES = 2;
const FIRST_DELAY_MS = 2_000;
/** A provider that wants us to wait longer gets no retry: a person who is told can decide better. */
const LONGEST_DELAY_MS = 20_000;

export interface StreamStepOptions {
  /** Waits between two tries; rejects when the signal is aborted. */
  wait?(ms: number, signal: AbortSignal): Promise<void>;
}

/** The object, not its name: a name would go to Vercel's AI Gateway, which is not in the Worker (src/gateway-for-libraries.ts). */
type LanguageModelObject = Exclude<LanguageModel, string>;

/** Makes a `Model` of an AI SDK language model. What goes wrong is thrown as a `ModelError`, in a sentence for people. */
export function streamStep(model: LanguageModelObject, { wait = waitFor }: StreamStepOptions = {}): Model {
  return async function* step(request) {
    const tools = declare(request.tools);
    try {
      yield* chunksOf(await begin(model, request, tools, wait), tools);
    } catch (error) {
      throw request.signal.aborted ? error : explainModelError(error);
    }
  };
}

type Parts = Awaited<ReturnType<typeof streamLanguageModelCall>>["stream"];

/** Without `execute`, and without a validator: the run loop parses each input itself, and a schema of ours needs no second one. */
const declare = (tools: ModelTool[]): ToolSet =>
  Object.fromEntries(tools.map(({ name, description, inputSchema }) => [name, { description, inputSchema: jsonSchema(inputSchema as object) }]));

/** Begins the call, again after a 429 or 5xx that came before any output: what has been streamed is never repeated. */
async function begin(model: LanguageModelObject, { system, messages, signal }: ModelRequest, tools: ToolSet, wait: NonNullable<StreamStepOptions["wait"]>): Promise<Parts> {
  for (let attempt = 0; ; attempt++) {
    try {
      const { stream } = await streamLanguageModelCall({ model, instructions: system, messages, tools, abortSignal: signal });
      return stream;
    } catch (error) {
      const delay = retryDelayMs(error, attempt);
      if (delay === null || signal.aborted) throw error;
      await wait(delay, signal);
    }
  }
}

function retryDelayMs(error: unknown, attempt: number): number | null {
  if (!APICallError.isInstance(error) || !error.isRetryable || isUsedUp(error) || attempt >= RETRIES) return null;
  const delay = retryAfterMs(error) ?? FIRST_DELAY_MS * 2 ** attempt;
  return delay <= LONGEST_DELAY_MS ? delay : null;
}

async function* chunksOf(stream: Parts, tools: ToolSet): AsyncIterable<Chunk> {
  let said = false;
  let called = false;
  let ended = false;
  for await (const part of stream) {
    switch (part.type) {
      case "model-call-start":
      case "model-call-response-metadata":
      // The chunk for a call with broken input has already said so; this would settle the call as well.
      case "tool-error":
        continue;
      case "error":
        throw isWithoutEnd(part.error) ? new ModelError(CUT_OFF) : part.error;
      case "model-call-end":
        ended = true;
        if (isFiltered(part, said)) throw new ModelError("The provider's content filter stopped the answer. Word it differently to go on.");
        if (part.finishReason === "error" || part.finishReason === "interrupted") throw new ModelError(CUT_OFF);
        // A call whose input was cut is told to the model; text that breaks off is told to the person.
        if (part.finishReason === "length" && !called)
          throw new ModelError("The answer reached the most that the model may write at once, so it breaks off here. Ask it to go on.");
        if (!said) throw new ModelError("The model gave an empty answer. Write again to try once more.");
        yield {
          type: "finish",
          finishReason: part.finishReason,
          messageMetadata: { usage: { inputTokens: part.usage.inputTokens ?? 0, outputTokens: part.usage.outputTokens ?? 0 } },
        };
        continue;
      default: {
        called ||= part.type === "tool-call";
        said ||= called || (part.type === "text-delta" && part.text.trim() !== "");
        const chunk = toUIMessageChunk(part, { tools, sendReasoning: true, sendSources: true, onError: unreadableInput });
        if (chunk) yield chunk as Chunk;
      }
    }
  }
  if (!ended) throw new ModelError(CUT_OFF);
}

/**
 * Workers AI's provider takes a reason that it does not know for `stop`; OpenAI's says `content-filter` of a model that
 * declined in words of its own, which is an answer.
 */
function isFiltered({ finishReason, rawFinishReason }: { finishReason: string; rawFinishReason: string | undefined }, said: boolean): boolean {
  return rawFinishReason === "content_filter" || (finishReason === "content-filter" && !(rawFinishReason === "stop" && said));
}

// An OpenAI-compatible stream that ends with no finish reason; the same error class also stands for nonsense in it.
const isWithoutEnd = (error: unknown) => InvalidResponseDataError.isInstance(error) && error.message.includes("without a finish reason");

/** Becomes the `errorText` of a `tool-input-error`; the model reads it. */
function unreadableInput(error: unknown): string {
  if (InvalidToolInputError.isInstance(error)) return "it is not JSON";
  return error instanceof Error ? error.message.slice(0, 500) : "it can't be parsed";
}

function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal.addEventListener("abort", abort, { once: true });
  });
}
