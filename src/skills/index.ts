import type { Tool, Tools } from "../core/tool.js";
import type { McpOffer } from "../mcp/offer.js";
import { assistant } from "./assistant.js";
import type { Skill } from "./skill.js";
import { treasurer } from "./treasurer.js";

export type { Skill } from "./skill.js";

export const DEFAULT_SKILL = assistant.name;

/** The skills that ship. One of your own: one file beside these, one entry here. */
export const skills: ReadonlyMap<string, Skill> = new Map([assistant, treasurer].map((skill) => [skill.name, skill]));

/**
 * The tools of a skill, out of all that there are and what MCP servers offer. A name that no tool has is a mistake in
 * the skill and throws; a tool of an MCP server that is not known, or not known yet, is left out.
 */
export function toolsOf(skill: Skill, all: Tools, offers: readonly McpOffer[] = []): Tools {
  if (skill.tools === "all") return new Map([...all, ...offers.flatMap((offer) => named(offer.tools.values()))]);
  return new Map(
    skill.tools.flatMap((name) => {
      const [server = "", theirs] = name.split(/\/(.*)/s, 2);
      if (theirs !== undefined) {
        const tools = offers.find((offer) => offer.server === server)?.tools;
        return named([...(tools ?? [])].flatMap(([own, tool]) => (theirs === "*" || theirs === own ? [tool] : [])));
      }
      const tool = all.get(name);
      if (!tool) throw new Error(`The skill ${skill.name} names the tool "${name}", which doesn't exist.`);
      return named([tool]);
    }),
  );
}

const named = (tools: Iterable<Tool>): [string, Tool][] => [...tools].map((tool) => [tool.name, tool]);
