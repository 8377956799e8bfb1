import { loggable } from "../protocol/loggable.js";
import type { Journal } from "../core/journal.js";
import type { Ports } from "../core/ports.js";
import type { Tool } from "../core/tool.js";
import { describeAll, safeName, storedTools, type DescribedTool, type LeftOut } from "./catalog.js";
import { visit } from "./client.js";
import { mcpTool } from "./tool.js";
import type { McpServer } from "./servers.js";

// What the MCP servers of the settings offer to one conversation. It stands in the journal, so that a card is judged,
// edited and drawn without any server; they are asked again before a model call, when that was long ago.

const FRESH_MS = 5 * 60_000;
const RETRY_MS = 10_000;
const DISCOVER_MS = 4_000;
/** Most log lines about what was left out: a stranger must not fill the operator's log. */
const MOST_LINES = 20;

/** A server's tools as this conversation has them, and whether it answers. */
export interface McpOffer {
  server: string;
  /** By the server's own names, in its order. */
  tools: ReadonlyMap<string, Tool>;
  answers: boolean;
}

/** What a server said last, to whichever conversation of this process asked. It is the same for all of them. */
interface Heard {
  at: number;
  tools: DescribedTool[] | null;
  leftOut: LeftOut[];
}

export interface McpOptions {
  /** Names that no server may take: those of the tools that ship. */
  taken: ReadonlySet<string>;
  log: Ports["log"];
  now: () => number;
  /** How long an answer is good for. */
  freshMs?: number;
  discoverMs?: number;
  reachMs?: number;
  heard?: Map<string, Heard>;
}

const heardHere = new Map<string, Heard>();

export class McpCatalog {
  readonly #built = new Map<string, { text: string; tools: Map<string, Tool> }>();
  readonly #silent = new Set<string>();
  readonly #heard: Map<string, Heard>;

  constructor(
    private readonly servers: readonly McpServer[],
    private readonly journal: Journal,
    private readonly options: McpOptions,
  ) {
    this.#heard = options.heard ?? heardHere;
  }

  /** What each server offers, from the journal alone. */
  offers(): McpOffer[] {
    return this.servers.map((server) => ({ server: server.name, tools: this.#tools(server), answers: !this.#silent.has(server.name) }));
  }

  /** Asks the servers that were not asked lately, side by side, and keeps what has changed. Never throws. */
  async discover(): Promise<void> {
    await Promise.all(this.servers.map((server) => this.#refresh(server)));
  }

  #tools(server: McpServer): ReadonlyMap<string, Tool> {
    const text = this.journal.read.get("catalog", server.name)?.tools ?? "[]";
    const known = this.#built.get(server.name);
    if (known?.text === text) return known.tools;
    const { tools } = this.#build(server, storedTools(text));
    this.#built.set(server.name, { text, tools });
    return tools;
  }

  #build(server: McpServer, described: DescribedTool[]): { tools: Map<string, Tool>; leftOut: LeftOut[] } {
    const tools = new Map<string, Tool>();
    const leftOut: LeftOut[] = [];
    const names = new Set(this.options.taken);
    for (const one of described) {
      if (server.tools && !server.tools.includes(one.name)) continue;
      const tool = mcpTool(server, one, { ...(this.options.reachMs === undefined ? {} : { reachMs: this.options.reachMs }), changed: () => this.#heard.delete(keyOf(server)) });
      if (names.has(tool.name)) {
        leftOut.push({ tool: safeName(tool.name), reason: "another tool has this name" });
        continue;
      }
      names.add(tool.name);
      tools.set(one.name, tool);
    }
    return { tools, leftOut };
  }

  async #refresh(server: McpServer): Promise<void> {
    const { log, now, freshMs = FRESH_MS } = this.options;
    const key = keyOf(server);
    let heard = this.#heard.get(key);
    if (!heard || now() - heard.at >= (heard.tools ? freshMs : Math.min(RETRY_MS, freshMs))) {
      heard = await this.#ask(server);
      this.#heard.set(key, heard);
    }
    if (!heard.tools) {
      if (!this.#silent.has(server.name)) log("mcp.silent", { server: server.name });
      this.#silent.add(server.name);
      return;
    }
    this.#silent.delete(server.name);
    try {
      this.#keep(server, heard.tools, heard.leftOut);
    } catch (error) {
      log("mcp.not_kept", { server: server.name, error: loggable(error) });
    }
  }

  async #ask(server: McpServer): Promise<Heard> {
    const { now, discoverMs = DISCOVER_MS } = this.options;
    try {
      const listed = await visit(server, AbortSignal.timeout(discoverMs), (there) => there.listTools());
      return { at: now(), ...describeAll(listed, server.tools) };
    } catch {
      return { at: now(), tools: null, leftOut: [] };
    }
  }

  /** Written only when it differs: rows written are the bill. */
  #keep(server: McpServer, tools: DescribedTool[], leftOut: LeftOut[]): void {
    const text = JSON.stringify(tools);
    if (this.journal.read.get("catalog", server.name)?.tools === text) return;
    const { log, now } = this.options;
    const kept = this.journal.transaction("catalog", (tx) => {
      // A conversation that was deleted meanwhile must not get a row again (H15).
      if (tx.conversation.deletedAt !== null) return false;
      tx.putCatalog({ server: server.name, tools: text, seenAt: now() });
      return true;
    });
    if (!kept) return;
    log("mcp.tools", { server: server.name, tools: tools.length });
    const all = [...leftOut, ...this.#build(server, tools).leftOut];
    for (const { tool, reason } of all.slice(0, MOST_LINES)) log("mcp.tool_left_out", { server: server.name, tool, reason });
  }
}

const keyOf = (server: McpServer): string => JSON.stringify([server.name, server.url, server.headers, server.tools ?? null]);
