import type { Model } from "../core/model.js";
import { demoModel } from "./demo.js";
import { openAiCompatibleModel, openAiProblem } from "./openai-compatible.js";
import { streamStep } from "./stream-step.js";
import { workersAiModel } from "./workers-ai.js";

export interface ModelSettings {
  /** `demo`, `workers-ai/<model>` or `openai-compatible/<model>`; the demo when absent. */
  MODEL?: string | undefined;
  /** The Workers AI binding. */
  AI?: Ai | undefined;
  /** Address of an OpenAI-compatible server's API. */
  OPENAI_BASE_URL?: string | undefined;
  /** Its key; none for a server that wants none. */
  OPENAI_API_KEY?: string | undefined;
  /** Pause between the demo's words, 25 ms when absent. */
  demoDelayMs?: number | undefined;
}

export type ModelChoice =
  | { ok: true; model: Model; /** As set in MODEL. */ name: string; demo: boolean }
  | { ok: false; /** What is missing or wrong. */ setting: "MODEL" | "AI" | "OPENAI_BASE_URL" | "OPENAI_API_KEY"; message: string };

const WORD_DELAY_MS = 25;

/** The model that the settings name, or what is missing, in a sentence for whoever deploys. */
export function createModel({ MODEL: name = "demo", AI, OPENAI_BASE_URL, OPENAI_API_KEY, demoDelayMs = WORD_DELAY_MS }: ModelSettings): ModelChoice {
  if (name === "demo") return { ok: true, model: streamStep(demoModel({ delayMs: demoDelayMs })), name, demo: true };
  const [, provider, modelId = ""] = /^([^/]+)\/(.+)$/.exec(name) ?? [];
  switch (provider) {
    case "workers-ai":
      if (!AI) return { ok: false, setting: "AI", message: `MODEL is "${name}", but the binding AI is missing. Add [ai] with binding = "AI" to wrangler.toml.` };
      return { ok: true, model: workersAiModel(AI, modelId), name, demo: false };
    case "openai-compatible": {
      // A secret that was piped into wrangler often has the line break of its file.
      const [baseUrl = "", apiKey] = [OPENAI_BASE_URL?.trim(), OPENAI_API_KEY?.trim()];
      const problem = openAiProblem(name, baseUrl, apiKey);
      return problem ? { ok: false, ...problem } : { ok: true, model: openAiCompatibleModel(modelId, { baseUrl, apiKey }), name, demo: false };
    }
    default:
      return { ok: false, setting: "MODEL", message: `MODEL is "${name}", which is none of: demo, workers-ai/<model>, openai-compatible/<model>.` };
  }
}
