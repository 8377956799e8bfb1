import type { ModelMessage } from "ai";
import type { Chunk } from "../protocol/frames.js";
import type { Json } from "../protocol/json.js";

export interface ModelTool {
  name: string;
  description: string;
  inputSchema: Json;
}

export interface ModelRequest {
  system: string;
  messages: ModelMessage[];
  /** Never with `execute`: only the driver runs tools (H2). */
  tools: ModelTool[];
  signal: AbortSignal;
}

/** One step: a model call as a stream of AI SDK `UIMessageChunk`s. An `error` chunk, or a throw, fails the step. */
export type Model = (request: ModelRequest) => AsyncIterable<Chunk>;
