import type { Table } from "../core/rows.js";

// Rows have the names of TypeScript, their columns those of SQL. Each is worked out once.

/** The tables' own names. */
export const NAMES = {
  conversation: "conversation",
  members: "members",
  steps: "steps",
  runs: "runs",
  calls: "calls",
  pausePoints: "pause_points",
  catalog: "catalog",
} as const satisfies Record<Table, string>;

const snakeNames = new Map<string, string>();
const camelNames = new Map<string, string>();

/** `toolCallId` → `tool_call_id`, the name of its column. */
export function snake(camel: string): string {
  let name = snakeNames.get(camel);
  if (!name) {
    name = camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    snakeNames.set(camel, name);
    camelNames.set(name, camel);
  }
  return name;
}

/** The way back. */
export function camel(name: string): string {
  let known = camelNames.get(name);
  if (!known) {
    known = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    camelNames.set(name, known);
  }
  return known;
}

/** Columns that must each have a value, `IS` because that may be null. */
export const columns = (names: string[], join: string): string => names.map((name) => `"${snake(name)}" IS ?`).join(join);
