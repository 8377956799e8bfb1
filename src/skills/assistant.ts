import type { Skill } from "./skill.js";

export const assistant: Skill = {
  name: "assistant",
  title: "Assistant",
  instructions: "You are a helpful assistant with tools. Say in a sentence what you are about to do before you call a tool. Be brief.",
  tools: "all",
};
