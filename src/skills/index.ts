import type { Tools } from "../core/tool.js";
import { assistant } from "./assistant.js";
import type { Skill } from "./skill.js";
import { treasurer } from "./treasurer.js";

export type { Skill } from "./skill.js";

export const DEFAULT_SKILL = assistant.name;

/** The skills that ship. One of your own: one file beside these, one entry here. */
export const skills: ReadonlyMap<string, Skill> = new Map([assistant, treasurer].map((skill) => [skill.name, skill]));

/** The tools of a skill, out of all that there are. A name that no tool has is a mistake in the skill and throws. */
export function toolsOf(skill: Skill, all: Tools): Tools {
  if (skill.tools === "all") return all;
  return new Map(
    skill.tools.map((name) => {
      const tool = all.get(name);
      if (!tool) throw new Error(`The skill ${skill.name} names the tool "${name}", which doesn't exist.`);
      return [name, tool] as const;
    }),
  );
}
