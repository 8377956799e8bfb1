import { vi } from "vitest";
import { MemoryStore } from "../../src/core/memory-store.js";
import { McpCatalog, type McpOptions } from "../../src/mcp/offer.js";
import type { McpServer } from "../../src/mcp/servers.js";
import { toolsOf, type Skill } from "../../src/skills/index.js";
import { systemPrompt } from "../../src/skills/system-prompt.js";
import { World } from "./world.js";

const SKILL: Skill = { name: "test", title: "Test", instructions: "You are a test.", tools: "all" };

/** A conversation whose agent has the tools of real MCP servers, beside the standard ones. */
export class McpWorld extends World {
  servers: McpServer[];
  skill: Skill = SKILL;
  /** What this process has heard of the servers. */
  heard: NonNullable<McpOptions["heard"]> = new Map();
  catalog!: McpCatalog;

  constructor(servers: McpServer[], store = new MemoryStore()) {
    super(store);
    this.servers = servers;
    this.agent = () => {
      const offers = this.catalog.offers();
      return {
        system: systemPrompt(
          this.skill,
          offers.filter((offer) => !offer.answers).map((offer) => offer.server),
        ),
        tools: toolsOf(this.skill, this.tools, offers),
      };
    };
    this.discover = () => this.catalog.discover();
    this.restart();
  }

  override restart(): void {
    super.restart();
    this.#connect();
  }

  /** A new process: it has heard of nobody, and its settings may be others. */
  anew(): void {
    this.heard = new Map();
    this.restart();
  }

  #connect(): void {
    const log: McpOptions["log"] = (event, fields) => void this.logs.push({ event, ...fields });
    this.catalog = new McpCatalog(this.servers, this.journal, {
      taken: new Set(this.tools.keys()),
      log,
      now: this.clock.now,
      discoverMs: 2_000,
      reachMs: 2_000,
      heard: this.heard,
    });
  }

  /** Says something and waits until the run rests. */
  async ask(text = "go"): Promise<void> {
    await this.text(text);
    await this.rest();
  }

  async rest(): Promise<void> {
    await vi.waitUntil(() => this.status !== "running" && !this.engine.busy, { timeout: 8_000, interval: 2 });
  }
}

export const serverAt = (url: string, more: Partial<McpServer> = {}): McpServer => ({ name: "crm", url, headers: {}, trustHints: false, ...more });
