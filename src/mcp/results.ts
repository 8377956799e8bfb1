import type { CallToolResult } from "@ai-sdk/mcp";
import { byteLength, canonicalJson, json, type Json } from "../protocol/json.js";
import { plain, plainLine } from "./plain.js";

// What a server returned, as the model is told it: always an object of ours around it, so that no answer can pass
// for an outcome, a decision or a marker.

/** Texts and data, and a line for each part that was left out. Throws when the server says that the tool failed. */
export function resultOf(server: string, result: CallToolResult): Json {
  if ("toolResult" in result && !("content" in result)) return { data: asJson(result.toolResult) };
  // The client's own check of an answer is its maker's to change: a part that is none must not look like a failed call.
  const content = (Array.isArray(result["content"]) ? (result["content"] as unknown[]) : []).map((part): Part => (isPart(part) ? part : { type: "unknown" }));
  const text = content.flatMap((part) => (part.type === "text" && typeof part["text"] === "string" ? [part["text"]] : [])).join("\n\n");
  if (result["isError"] === true) throw new Error(`${server} says that it failed: ${plain(text, 3_000) || "no reason given"}`);
  const leftOut = content.flatMap((part) => (part.type === "text" ? [] : [leftOutLine(part)]));
  const data = result["structuredContent"] === undefined ? undefined : asJson(result["structuredContent"]);
  return {
    ...(text && !repeats(text, data) ? { text } : {}),
    ...(data === undefined ? {} : { data }),
    ...(leftOut.length ? { leftOut } : {}),
    ...(text || data !== undefined || leftOut.length ? {} : { note: "It returned nothing." }),
  };
}

type Part = { type: string } & { [key: string]: unknown };

const isPart = (part: unknown): part is Part => typeof part === "object" && part !== null && "type" in part && typeof part.type === "string";

// The call has happened, whatever came back: what can't be kept must not make it look as if it had failed.
function asJson(value: unknown): Json {
  try {
    return json.parse(value);
  } catch {
    return "(what it returned can't be kept: it is not JSON, or nests too deep)";
  }
}

// The protocol asks servers to send data as text too.
function repeats(text: string, data: Json | undefined): boolean {
  if (data === undefined) return false;
  try {
    return canonicalJson(JSON.parse(text) as Json) === canonicalJson(data);
  } catch {
    return false;
  }
}

function leftOutLine(part: Part): string {
  const word = (value: unknown): string => (typeof value === "string" ? plainLine(value, 200) : "unknown");
  switch (part.type) {
    case "image":
    case "audio":
      return `${part.type} (${word(part["mimeType"])}, ${typeof part["data"] === "string" ? Math.floor((byteLength(part["data"]) * 3) / 4) : 0} bytes)`;
    case "resource": {
      const resource = part["resource"] as { uri?: unknown; mimeType?: unknown } | null | undefined;
      return `resource ${word(resource?.uri)} (${word(resource?.mimeType)})`;
    }
    case "resource_link":
      return `link to the resource ${word(part["uri"])}`;
    default:
      return `part of the type ${word(part.type)}`;
  }
}
