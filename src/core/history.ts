import type { ModelMessage } from "ai";
import type { Json } from "../protocol/json.js";
import type { CallRow, Reads, RunRow, StepRow } from "./rows.js";
import { storedJson, tellOutcome } from "./outcome.js";
import { isSynthetic, isToldByMessage } from "./told-by-message.js";
import { storedParts, type StoredPart } from "./views.js";

// What the model is given: made from the rows at every call, never from a client (H10). Each proposed
// call has exactly one result, and the last message is never the assistant's (H14).

type AssistantPart = Exclude<(ModelMessage & { role: "assistant" })["content"], string>[number];
type ToolMessage = ModelMessage & { role: "tool" };

const CHARS_PER_TOKEN = 3.5;

/**
 * The path from the run's message up to the root, newest first, cut at a person's turn when
 * `contextTokens` is used up. When the newest turn alone is too long, its oldest results are replaced.
 */
export function modelHistory(reads: Reads, run: RunRow, contextTokens: number): ModelMessage[] {
  let budget = contextTokens * CHARS_PER_TOKEN;
  const turns: ModelMessage[][] = [];
  let turn: ModelMessage[] = [];
  let below: StepRow | undefined;
  for (let position = run.position, parent = run.parent; position > 0;) {
    const rows = reads.message(position);
    const first = rows[0];
    turn = [...rows.flatMap((row) => messagesOf(reads, row, below !== undefined && isSynthetic(below))), ...turn];
    below = first;
    // What tells decisions is part of the turn whose calls it is about.
    if (first?.role === "user" && !isSynthetic(first)) {
      budget -= size(turn);
      if (budget < 0 && turns.length > 0) break;
      turns.unshift(turn);
      turn = [];
    }
    position = first ? first.parent : parent;
    parent = 0;
  }
  const newest = turns.at(-1);
  if (newest && size(newest) > contextTokens * CHARS_PER_TOKEN) shorten(newest, contextTokens * CHARS_PER_TOKEN);
  return mergeUserMessages(turns.flat());
}

const size = (messages: ModelMessage[]): number => JSON.stringify(messages).length;

function shorten(messages: ModelMessage[], chars: number): void {
  for (const message of messages) {
    if (message.role !== "tool") continue;
    for (const part of message.content) {
      if (size(messages) <= chars) return;
      if (part.type === "tool-result") part.output = { type: "text", value: "This result was left out, because the conversation has grown too long." };
    }
  }
}

// Some providers demand that roles alternate; an unanswered text and the next one are one message then.
function mergeUserMessages(messages: ModelMessage[]): ModelMessage[] {
  const merged: ModelMessage[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    if (message.role === "user" && last?.role === "user" && Array.isArray(last.content) && Array.isArray(message.content)) last.content.push(...message.content);
    else merged.push(message);
  }
  return merged;
}

function messagesOf(reads: Reads, row: StepRow, told: boolean): ModelMessage[] {
  const parts = storedParts(row);
  if (row.role === "user") {
    const word = isSynthetic(row) ? `${reads.get("conversation")?.word ?? ""} ` : "";
    const text = parts.flatMap((part) => (part.type === "text" && typeof part["text"] === "string" && part["text"] ? [word + part["text"]] : []));
    return text.length ? [{ role: "user", content: text.map((one) => ({ type: "text", text: one })) }] : [];
  }
  const calls = reads.callsOfStep(row.turn, row.step).filter((call) => call.position === row.position);
  const content = parts.flatMap((part) => assistantPart(part, calls));
  const results: ToolMessage["content"] = calls.map((call) => ({
    type: "tool-result",
    toolCallId: call.toolCallId,
    toolName: nameOf(call),
    output: { type: "json", value: resultOf(reads, call, told) as never },
  }));
  // A thought that was cut off before any word: providers refuse a message of the assistant's without text or calls.
  if (content.every((part) => part.type === "reasoning")) return [];
  return results.length
    ? [
        { role: "assistant", content },
        { role: "tool", content: results },
      ]
    : [{ role: "assistant", content }];
}

function assistantPart(part: StoredPart, calls: CallRow[]): AssistantPart[] {
  const providerOptions = part["providerMetadata"] ? { providerOptions: part["providerMetadata"] as never } : {};
  switch (part.type) {
    case "text":
      // Blank text, which some models write before a call, is refused by others' providers.
      return String(part["text"] ?? "").trim() ? [{ type: "text", text: String(part["text"]), ...providerOptions }] : [];
    case "reasoning":
      return part["text"] || part["providerMetadata"] ? [{ type: "reasoning", text: String(part["text"]), ...providerOptions }] : [];
    case "call": {
      const call = calls.find((one) => one.index === part["index"]);
      if (!call) return [];
      const metadata = storedJson(call.providerMetadata);
      return [{ type: "tool-call", toolCallId: call.toolCallId, toolName: nameOf(call), input: inputOf(call), ...(metadata ? { providerOptions: metadata as never } : {}) }];
    }
    default:
      return [];
  }
}

// A name that the model made up may be none that providers take, and they would refuse the conversation from then on.
const nameOf = (call: CallRow): string => call.tool.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "unnamed";

// Providers want an object; what the model wrote instead is shown back to it as text.
function inputOf(call: CallRow): Json {
  const input = storedJson(call.input);
  return typeof input === "object" && input !== null && !Array.isArray(input) ? input : { unreadable: call.input.slice(0, 2000) };
}

function resultOf(reads: Reads, call: CallRow, told: boolean): Json {
  const approval = call.approval === null ? null : reads.get("pausePoints", call.approval);
  const newest = call.pausePoint === call.approval ? approval : call.pausePoint === null ? null : reads.get("pausePoints", call.pausePoint);
  return tellOutcome(call, approval, newest?.kind === "recovery" ? newest : null, told && isToldByMessage(reads, call));
}
