import { canonicalJson, type Json } from "../protocol/json.js";
import { allow, ask, ChangedSinceShown, OutcomeUnknown, type Tool, type ToolContext } from "../core/tool.js";
import { describe, type DescribedTool } from "./catalog.js";
import { explain, visit, type Visit } from "./client.js";
import { toolName } from "./names.js";
import { plainLine } from "./plain.js";
import { resultOf } from "./results.js";
import { parseBy } from "./schema.js";
import type { McpServer } from "./servers.js";

const TIMEOUT_MS = 60_000;
/** How long a server has until the call itself is sent. */
const REACH_MS = 10_000;
const CARD_WORDS = 1_000;
/** The JSON-RPC error by which servers say that something of theirs took too long. */
const REQUEST_TIMED_OUT = -32001;

export interface McpToolSettings {
  reachMs?: number;
  /** The server no longer offers what was shown. */
  changed?(server: McpServer): void;
}

/** A tool of the run loop from what a server says of one of its own. It asks, unless the server is trusted and calls it read-only. */
export function mcpTool(server: McpServer, described: DescribedTool, { reachMs = REACH_MS, changed = () => {} }: McpToolSettings = {}): Tool {
  const name = toolName(server.name, described.name);
  const harmless = server.trustHints && !described.destructive && (described.readOnly || described.idempotent);
  return {
    name,
    description: `The tool ${described.name} of the MCP server ${server.name}, which describes it so: ${described.description || "(nothing)"}`,
    inputSchema: described.schema,
    parse: (input) => parseBy(described.schema, input),
    risk: described.destructive ? "high" : "medium",
    policy: () => (server.trustHints && described.readOnly && !described.destructive ? allow() : ask({ description: words(server, described) })),
    summary: (input) => `Call ${described.name} on the MCP server ${server.name} with ${fields(input)}`,
    idempotent: () => harmless,
    afterSiblings: false,
    timeoutMs: TIMEOUT_MS,
    execute: (input, context) => call(server, described, input, context, { harmless, reachMs, changed }),
  };
}

function fields(input: Json): string {
  const sentence = Object.entries(input ?? {}).map(([field, value]) => `${field}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return sentence.length ? plainLine(sentence.join(", "), 300) : "no input";
}

/** A stranger's words on a card: named as such, and as a block that no Markdown of theirs can leave. */
function words(server: McpServer, { name, description }: DescribedTool): string {
  if (!description) return `The MCP server ${server.name} says nothing about its tool ${name}.`;
  const shown = description.length > CARD_WORDS ? `${description.slice(0, CARD_WORDS - 1)}…` : description;
  const fence = "`".repeat(Math.max(3, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return `What the MCP server ${server.name} says about its tool ${name}. Nobody here has checked it:\n\n${fence}text\n${shown}\n${fence}`;
}

interface Calling {
  harmless: boolean;
  reachMs: number;
  changed(server: McpServer): void;
}

async function call(server: McpServer, described: DescribedTool, input: Json, { signal, idempotencyKey }: ToolContext, calling: Calling): Promise<Json> {
  const reach = new AbortController();
  const late = setTimeout(() => reach.abort(new Error("its time is up")), calling.reachMs);
  let sent = false;
  let result;
  try {
    result = await visit(server, AbortSignal.any([signal, reach.signal]), async (there) => {
      await asShown(there, server, described, calling);
      clearTimeout(late);
      signal.throwIfAborted();
      sent = true;
      return there.callTool(described.name, input as Record<string, unknown>, idempotencyKey);
    });
  } catch (error) {
    if (error instanceof ChangedSinceShown) throw error;
    const why = explain(server, error).replace(/\.$/, "");
    if (!sent) throw new Error(`${why}. It has not run.`, { cause: error });
    if (isAnswer(error)) throw new Error(`${why}.`, { cause: error });
    if (calling.harmless) throw new Error(`${why}. The server says that calling this again does no harm.`, { cause: error });
    throw new OutcomeUnknown(`${why}, so it is not known whether the call took effect.`, { cause: error });
  } finally {
    clearTimeout(late);
  }
  return resultOf(server.name, result);
}

/** Whether the server itself refused the call. Anything else after it was sent says nothing about its effect. */
function isAnswer(error: unknown): boolean {
  const { statusCode, code } = error as { statusCode?: unknown; code?: unknown };
  if (typeof statusCode === "number") return statusCode >= 400 && statusCode < 500 && statusCode !== 408;
  return typeof code === "number" && code !== REQUEST_TIMED_OUT;
}

/** The server is asked again what the tool takes, right before the call: what runs is what was shown (H6). */
async function asShown(there: Visit, server: McpServer, shown: DescribedTool, { changed }: Calling): Promise<void> {
  const listed = (await there.listTools()).find((one) => (one as { name?: unknown }).name === shown.name);
  const now = listed === undefined ? null : describe(listed);
  const same = now !== null && !("reason" in now) && canonicalJson(terms(now)) === canonicalJson(terms(shown));
  if (same) return;
  changed(server);
  throw new ChangedSinceShown(
    listed === undefined
      ? `The tool ${shown.name} is gone from ${server.name} since this was shown.`
      : `The tool ${shown.name} of ${server.name} has changed since this was shown.`,
  );
}

/** What a person or the policy relied on. A description is words, and some servers put the time of day into theirs. */
const terms = ({ schema, readOnly, destructive, idempotent }: DescribedTool): Json => ({ schema, readOnly, destructive, idempotent });
