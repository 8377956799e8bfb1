import { createWorkersAI } from "workers-ai-provider";
import type { Model } from "../core/model.js";
import { answeringResults } from "./answer-results.js";
import { streamStep, type StreamStepOptions } from "./stream-step.js";

/** A model of Workers AI, through the binding: no key, billed to the account that deploys. */
export function workersAiModel(binding: Ai, modelId: string, options?: StreamStepOptions): Model {
  return answeringResults(streamStep(createWorkersAI({ binding })(modelId), options));
}
