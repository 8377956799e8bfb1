import * as z from "zod";
import { canonicalJson, json, type Json } from "../protocol/json.js";
import type { ParsedInput } from "../core/tool.js";
import { isOdd, plain } from "./plain.js";

// A stranger's JSON Schema: what of it is kept, and how an input is parsed by it.

const MOST_DEPTH = 16;
const WORDS = 500;

type JsonObject = { [key: string]: Json };
const isObject = (value: Json | undefined): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

/** A schema of an object, its words made plain; null for one that nests too deep, has odd names, or is of something else. */
export function cleanSchema(schema: Json): JsonObject | null {
  if (!isObject(schema) || (schema["type"] !== undefined && schema["type"] !== "object")) return null;
  const clean = cleaned(schema, 0);
  return isObject(clean) ? { ...clean, type: "object" } : null;
}

/** `undefined` when something in it can't be kept. */
function cleaned(value: Json, depth: number): Json | undefined {
  if (typeof value !== "object" || value === null) return value;
  if (depth > MOST_DEPTH) return undefined;
  if (Array.isArray(value)) {
    const items = value.map((item) => cleaned(item, depth + 1));
    return items.includes(undefined) ? undefined : (items as Json[]);
  }
  const entries: [string, Json][] = [];
  for (const [key, one] of Object.entries(value)) {
    if (key === "$schema" || key === "$comment" || key === "examples") continue;
    const kept = (key === "description" || key === "title") && typeof one === "string" ? plain(one, WORDS) : cleaned(one, depth + 1);
    if (kept === undefined || isOdd(key) || key === "__proto__") return undefined;
    entries.push([key, kept]);
  }
  return Object.fromEntries(entries);
}

/**
 * Makes the parser of a cleaned schema; throws when zod does not understand it. Patterns are left to the server:
 * a stranger's regular expression can take minutes for one text.
 */
export function parserOf(schema: JsonObject): (input: unknown) => ParsedInput {
  const checked = z.fromJSONSchema(withoutPatterns(schema) as z.core.JSONSchema.JSONSchema, { registry: z.registry() });
  const once = (input: unknown): ParsedInput => {
    const parsed = checked.safeParse(input);
    if (!parsed.success)
      return {
        ok: false,
        faults: parsed.error.issues
          .slice(0, 20)
          .map(({ path, message }) => ({ path: path.map((key) => (typeof key === "symbol" ? String(key) : key)), message: plain(message, WORDS) })),
      };
    const value = json.safeParse(parsed.data);
    return value.success ? { ok: true, value: value.data } : { ok: false, faults: [{ path: [], message: "holds a value that JSON can't carry" }] };
  };
  return (input) => {
    const first = once(input);
    if (!first.ok) return first;
    // What is shown must be what runs (H6): a default that breaks its own schema would not come through a second time.
    const second = once(first.value);
    return second.ok && canonicalJson(second.value) === canonicalJson(first.value)
      ? first
      : { ok: false, faults: [{ path: [], message: "the tool's schema changes this value each time it is read" }] };
  };
}

function withoutPatterns(value: Json, names = false): Json {
  if (Array.isArray(value)) return value.map((item) => withoutPatterns(item));
  if (!isObject(value)) return value;
  // Under these keys stand names that a server chose, not keywords.
  const kept = Object.entries(value).filter(([key]) => names || (key !== "pattern" && key !== "patternProperties" && key !== "format"));
  const looser = !names && value["patternProperties"] !== undefined && value["additionalProperties"] !== undefined;
  return Object.fromEntries(
    kept
      .filter(([key]) => !(looser && key === "additionalProperties"))
      .map(([key, one]) => [
        key,
        key === "enum" || key === "const" || key === "default" ? one : withoutPatterns(one, !names && (key === "properties" || key === "$defs" || key === "definitions")),
      ]),
  );
}
