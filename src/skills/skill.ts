/** A named set of instructions and tools. A conversation has one, chosen when it is created. */
export interface Skill {
  name: string;
  /** For people. */
  title: string;
  /** For the model, in front of the rules that every skill shares. */
  instructions: string;
  /** Names of tools, `server/tool` for one of an MCP server, `server/*` for all of its tools; or all that there are. */
  tools: readonly string[] | "all";
}
