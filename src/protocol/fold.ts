import type { Chunk } from "./frames.js";

/** A part of a step that is being written: the parts of an AI SDK `UIMessage` that a model can stream. */
export type LivePart =
  | { type: "text" | "reasoning"; id: string; text: string; state: "streaming" | "done"; providerMetadata?: unknown }
  | {
      type: "tool";
      toolCallId: string;
      toolName: string;
      inputText: string;
      state: "input-streaming" | "input-available" | "input-error";
      input?: unknown;
      errorText?: string;
      providerMetadata?: unknown;
    }
  | { type: "other"; chunk: Chunk };

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/**
 * Applies stream chunks to the parts they build, in place. Chunks that build nothing
 * (`start`, `finish-step`) are passed over; a delta of a part that was never started is dropped.
 */
export function foldChunks(parts: LivePart[], chunks: Chunk[]): LivePart[] {
  for (const chunk of chunks) foldChunk(parts, chunk);
  return parts;
}

function foldChunk(parts: LivePart[], chunk: Chunk): void {
  switch (chunk.type) {
    case "text-start":
    case "reasoning-start":
      parts.push({ type: chunk.type === "text-start" ? "text" : "reasoning", id: text(chunk["id"]), text: "", state: "streaming", ...metadata(chunk) });
      return;
    case "text-delta":
    case "reasoning-delta": {
      const part = lastText(parts, chunk);
      if (part) Object.assign(part, { text: part.text + text(chunk["delta"]) }, metadata(chunk));
      return;
    }
    case "text-end":
    case "reasoning-end": {
      const part = lastText(parts, chunk);
      if (part) Object.assign(part, { state: "done" }, metadata(chunk));
      return;
    }
    case "tool-input-start":
      parts.push({ type: "tool", toolCallId: text(chunk["toolCallId"]), toolName: text(chunk["toolName"]), inputText: "", state: "input-streaming", ...metadata(chunk) });
      return;
    case "tool-input-delta": {
      const part = lastTool(parts, chunk);
      if (part) part.inputText += text(chunk["inputTextDelta"]);
      return;
    }
    case "tool-input-available":
    case "tool-input-error": {
      const available = chunk.type === "tool-input-available";
      let part = lastTool(parts, chunk);
      if (!part) {
        part = { type: "tool", toolCallId: text(chunk["toolCallId"]), toolName: text(chunk["toolName"]), inputText: "", state: "input-streaming" };
        parts.push(part);
      }
      Object.assign(part, { state: available ? "input-available" : "input-error", input: chunk["input"], ...metadata(chunk) });
      if (!available) part.errorText = text(chunk["errorText"]);
      return;
    }
    case "source-url":
    case "source-document":
    case "file":
      parts.push({ type: "other", chunk });
  }
}

const metadata = (chunk: Chunk): { providerMetadata?: unknown } => (chunk["providerMetadata"] === undefined ? {} : { providerMetadata: chunk["providerMetadata"] });

// Ids may be reused once a part has ended, so the newest part of that id is the one meant.
const lastText = (parts: LivePart[], chunk: Chunk) =>
  parts.findLast(
    (part): part is LivePart & { type: "text" | "reasoning" } => (part.type === "text" || part.type === "reasoning") && part.id === chunk["id"] && part.state === "streaming",
  );

const lastTool = (parts: LivePart[], chunk: Chunk) =>
  parts.findLast((part): part is LivePart & { type: "tool" } => part.type === "tool" && part.toolCallId === chunk["toolCallId"]);
