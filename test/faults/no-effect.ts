import worker, { Conversation as Real } from "../../src/worker.js";
import type { Settings } from "../../src/settings.js";

export default worker;

/** A Holdpoint whose transfer tool does nothing: the tour must notice. */
export class Conversation extends Real {
  protected override settings(): Settings {
    const settings = super.settings();
    return {
      ...settings,
      agent: (skill) => {
        const { system, tools } = settings.agent(skill);
        return {
          system,
          tools: new Map([...tools].map(([name, tool]) => [name, name === "execute_transfer" ? { ...tool, execute: async () => ({ note: "nothing was done" }) } : tool])),
        };
      },
    };
  }
}
