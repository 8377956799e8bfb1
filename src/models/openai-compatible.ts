import { OpenAICompatibleChatLanguageModel } from "@ai-sdk/openai-compatible";
import { APICallError } from "ai";
import type { Model } from "../core/model.js";
import { answeringResults } from "./answer-results.js";
import { streamStep, type StreamStepOptions } from "./stream-step.js";

export interface OpenAiCompatibleSettings {
  /** Address of the server's API, without `/chat/completions`. */
  baseUrl: string;
  apiKey?: string | undefined;
}

// The provider's own factory would bring its embedding, image and completion models into the bundle. Its name must
// not be `openaiCompatible`: metadata under that key is written into the request's messages as fields of their own.
const PROVIDER = "holdpoint.chat";

/** A model behind OpenAI's chat-completions API: OpenAI itself, a gateway, or a server such as Ollama, vLLM or llama.cpp. */
export function openAiCompatibleModel(modelId: string, { baseUrl, apiKey }: OpenAiCompatibleSettings, options?: StreamStepOptions): Model {
  const model = streamStep(
    new OpenAICompatibleChatLanguageModel(modelId, {
      provider: PROVIDER,
      url: ({ path }) => baseUrl.replace(/\/+$/, "") + path,
      ...(apiKey && { headers: { authorization: `Bearer ${apiKey}` } }),
      fetch: reach,
      includeUsage: true,
      transformRequestBody: (body) => ({ ...body, messages: (body["messages"] as WireMessage[]).map(joinTexts) }),
    }),
    options,
  );
  return answeringResults(model);
}

interface WireMessage {
  role: string;
  content?: string | null | { type: string; text?: string }[];
}

// Two texts of a person are one message of two parts, which not every server reads; one string is read by all.
function joinTexts(message: WireMessage): WireMessage {
  if (!Array.isArray(message.content) || !message.content.every((part) => part.type === "text")) return message;
  return { ...message, content: message.content.map((part) => part.text).join("\n\n") };
}

// workerd says "Network connection lost." where Node says "fetch failed", and the provider's code knows Node's words only.
const reach: typeof fetch = async (input, init) => {
  try {
    return await fetch(input, init);
  } catch (error) {
    if (init?.signal?.aborted) throw error;
    throw new APICallError({ message: messageOf(error), cause: error, url: String(input), requestBodyValues: {}, isRetryable: true });
  }
};

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message ? error.cause.message : error.message;
}

/** What is wrong with the settings of an OpenAI-compatible server, in a sentence that names the setting; null when nothing is. Never repeats a key. */
export function openAiProblem(model: string, baseUrl: string | undefined, apiKey: string | undefined): { setting: "OPENAI_BASE_URL" | "OPENAI_API_KEY"; message: string } | null {
  const wrong = (message: string) => ({ setting: "OPENAI_BASE_URL" as const, message });
  const example = "for example https://api.openai.com/v1, or http://localhost:11434/v1 for Ollama on this machine";
  if (!baseUrl) return wrong(`MODEL is "${model}", but OPENAI_BASE_URL is not set. Set it to the address of the server's API, ${example}.`);
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) return wrong(`OPENAI_BASE_URL is not an http or https address. Write the whole of it, ${example}.`);
  if (url.username || url.password) return wrong("OPENAI_BASE_URL has a user name or a password in it, which is not sent. Put the key into OPENAI_API_KEY.");
  if (url.search || url.hash) return wrong("OPENAI_BASE_URL has a ? or # in it, but a path is added to it. Leave that part out.");
  if (/\/chat\/completions\/*$/.test(url.pathname)) return wrong("OPENAI_BASE_URL ends in /chat/completions, which is added by itself. Leave that part out.");
  if (apiKey && !/^[\x21-\x7e]+$/.test(apiKey)) {
    return {
      setting: "OPENAI_API_KEY",
      message: "OPENAI_API_KEY has a space, a line break or another character in it that a key can't have. Set it again: npx wrangler secret put OPENAI_API_KEY.",
    };
  }
  return null;
}
