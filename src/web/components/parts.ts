import type { Call, MessageStep } from "../../protocol/entities.js";
import type { LivePart } from "../../protocol/fold.js";

/** A tool part of an AI SDK message, as far as it is drawn. */
export interface ToolPart {
  toolCallId: string;
  toolName: string;
  state: string;
  input?: unknown;
  /** The input while it is still being written. */
  inputText?: string;
  output?: unknown;
  errorText?: string;
  /** Cut for size by the server; the whole is fetched from the message's own route. */
  cut?: unknown;
}

/** What is drawn of a step, in its order. Tool calls that follow one another share a thread. */
export type Block =
  | { type: "text" | "reasoning"; text: string; streaming: boolean; cut: boolean }
  | { type: "tools"; tools: { part: ToolPart; call: Call | null }[] }
  | { type: "source"; title: string; url: string };

type Part = MessageStep["parts"][number];

export function blocksOfStep(step: MessageStep): Block[] {
  const calls = new Map(step.calls.map((call) => [call.toolCallId, call]));
  const blocks: Block[] = [];
  for (const part of step.parts) {
    const tool = toolPart(part);
    if (tool) addTool(blocks, tool, calls.get(tool.toolCallId) ?? null);
    else if (part.type === "text" || part.type === "reasoning") addText(blocks, part.type, String(part["text"] ?? ""), false, part["cut"] !== undefined);
    else addSource(blocks, part);
  }
  return blocks;
}

export function blocksOfLive(parts: LivePart[]): Block[] {
  const blocks: Block[] = [];
  for (const part of parts) {
    switch (part.type) {
      case "text":
      case "reasoning":
        addText(blocks, part.type, part.text, part.state === "streaming", false);
        break;
      case "tool":
        addTool(blocks, { ...part, ...(part.input !== undefined && { input: part.input }) }, null);
        break;
      case "other":
        addSource(blocks, part.chunk);
    }
  }
  return blocks;
}

function toolPart(part: Part): ToolPart | null {
  const dynamic = part.type === "dynamic-tool";
  if (!dynamic && !part.type.startsWith("tool-")) return null;
  const { toolCallId, toolName, state, input, output, errorText, cut } = part as Partial<ToolPart>;
  return {
    toolCallId: String(toolCallId),
    toolName: dynamic ? String(toolName) : part.type.slice("tool-".length),
    state: String(state),
    input,
    output,
    ...(errorText !== undefined && { errorText }),
    cut,
  };
}

function addText(blocks: Block[], type: "text" | "reasoning", text: string, streaming: boolean, cut: boolean): void {
  if (text !== "" || streaming) blocks.push({ type, text, streaming, cut });
}

function addTool(blocks: Block[], part: ToolPart, call: Call | null): void {
  const last = blocks.at(-1);
  if (last?.type === "tools") last.tools.push({ part, call });
  else blocks.push({ type: "tools", tools: [{ part, call }] });
}

function addSource(blocks: Block[], part: { type: string; [key: string]: unknown }): void {
  if (part.type === "source-url") blocks.push({ type: "source", title: String(part["title"] ?? part["url"]), url: String(part["url"]) });
}
