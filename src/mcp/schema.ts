import { canonicalJson, type Json } from "../protocol/json.js";
import type { InputFault, ParsedInput } from "../core/tool.js";
import { isOdd, plain } from "./plain.js";

// A stranger's JSON Schema: what of it is kept, and how an input is parsed by it. Of its keywords, those are read
// that say what a value is; the server checks its own input again. None is run: a stranger's `pattern` can take
// minutes for one text. zod's `fromJSONSchema` does much the same for ten times the bytes, and runs patterns.

const MOST_DEPTH = 16;
const WORDS = 500;
const MOST_FAULTS = 20;
/** Most schemas looked at for one input: references can go round in circles. */
const MOST_STEPS = 20_000;
const MOST_NESTING = 200;

export type JsonObject = { [key: string]: Json };
const isObject = (value: Json | undefined): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);
const own = (of: JsonObject, key: string): Json | undefined => (Object.hasOwn(of, key) ? of[key] : undefined);

/** A schema of an object, its words made plain; null for one of something else, too deep, or with names that hide something. */
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
    if (typeof one === "string" && (key === "$schema" || key === "$comment")) continue;
    // What stands elsewhere is not fetched.
    if (key === "$ref" && typeof one === "string" && !one.startsWith("#")) return undefined;
    const kept = (key === "description" || key === "title") && typeof one === "string" ? plain(one, WORDS) : cleaned(one, depth + 1);
    if (kept === undefined || isOdd(key) || key === "__proto__") return undefined;
    entries.push([key, kept]);
  }
  return Object.fromEntries(entries);
}

/** Parses an input by a cleaned schema: its defaults filled in, or the path of each fault. */
export function parseBy(schema: JsonObject, input: unknown): ParsedInput {
  const first = new Reading(schema).all(input as Json);
  if (!first.ok) return first;
  // What is shown must be what runs (H6): a default can make another branch of `anyOf` fit.
  const second = new Reading(schema).all(first.value);
  if (second.ok && canonicalJson(second.value) === canonicalJson(first.value)) return first;
  return { ok: false, faults: [{ path: [], message: "the tool's schema reads this differently each time" }] };
}

type Path = (string | number)[];

/** One pass over one input. */
class Reading {
  #steps = 0;
  #depth = 0;

  constructor(private readonly root: JsonObject) {}

  all(input: Json): ParsedInput {
    const faults: InputFault[] = [];
    const value = this.#read(this.root, input, [], faults);
    return faults.length ? { ok: false, faults: faults.slice(0, MOST_FAULTS) } : { ok: true, value };
  }

  #read(schema: Json | undefined, value: Json, path: Path, faults: InputFault[]): Json {
    this.#depth += 1;
    const result = this.#readHere(schema, value, path, faults);
    this.#depth -= 1;
    return result;
  }

  #readHere(schema: Json | undefined, value: Json, path: Path, faults: InputFault[]): Json {
    const fault = (message: string): Json => (faults.push({ path, message }), value);
    if ((this.#steps += 1) > MOST_STEPS || this.#depth > MOST_NESTING) return fault("the tool's schema takes too long to read");
    if (schema === false) return fault("is not allowed");
    if (!isObject(schema)) return value;
    if (typeof schema["$ref"] === "string") {
      const target = this.#target(schema["$ref"]);
      return target === undefined ? fault("the tool's schema refers to nothing here") : this.#read(target, value, path, faults);
    }
    const wrong = problem(schema, value);
    if (wrong) return fault(wrong);
    let result = value;
    if (isObject(value)) result = this.#object(schema, value, path, faults);
    else if (Array.isArray(value)) result = this.#array(schema, value, path, faults);
    for (const part of listOf(schema["allOf"])) result = this.#read(part, result, path, faults);
    for (const keyword of ["anyOf", "oneOf"] as const) {
      const branches = listOf(schema[keyword]);
      if (branches.length) result = this.#choice(branches, keyword === "oneOf", result, path, faults);
    }
    return result;
  }

  #object(schema: JsonObject, value: JsonObject, path: Path, faults: InputFault[]): Json {
    const properties = isObject(schema["properties"]) ? schema["properties"] : {};
    const others = schema["patternProperties"] === undefined ? schema["additionalProperties"] : undefined;
    const filled = Object.entries(properties).flatMap(([key, property]): [string, Json][] => {
      const byDefault = isObject(property) ? own(property, "default") : undefined;
      return Object.hasOwn(value, key) || byDefault === undefined ? [] : [[key, byDefault]];
    });
    const present = [...Object.entries(value), ...filled];
    for (const key of listOf(schema["required"]))
      if (typeof key === "string" && !present.some(([name]) => name === key)) faults.push({ path: [...path, key], message: "is missing" });
    return Object.fromEntries(
      present.map(([key, one]) => {
        const property = own(properties, key);
        if (property === undefined && others === false) faults.push({ path: [...path, key], message: "is nothing that the tool takes" });
        return [key, this.#read(property ?? (others === false ? undefined : others), one, [...path, key], faults)];
      }),
    );
  }

  #array(schema: JsonObject, value: Json[], path: Path, faults: InputFault[]): Json {
    const first = listOf(schema["prefixItems"] ?? (Array.isArray(schema["items"]) ? schema["items"] : undefined));
    const rest = Array.isArray(schema["items"]) ? schema["additionalItems"] : schema["items"];
    return value.map((item, index) => this.#read(index < first.length ? first[index] : rest, item, [...path, index], faults));
  }

  #choice(branches: Json[], onlyOne: boolean, value: Json, path: Path, faults: InputFault[]): Json {
    const tried = branches.map((branch) => {
      const own: InputFault[] = [];
      return { value: this.#read(branch, value, path, own), faults: own };
    });
    const fits = tried.filter((one) => one.faults.length === 0);
    if (fits[0] && (!onlyOne || fits.length === 1)) return fits[0].value;
    if (!fits[0] && tried.length === 1) faults.push(...(tried[0]?.faults ?? []));
    else faults.push({ path, message: fits[0] ? "fits more than one of what the tool takes" : "is none of what the tool takes" });
    return value;
  }

  #target(ref: string): Json | undefined {
    let at: Json | undefined = this.root;
    for (const step of ref.slice(1).split("/").filter(Boolean)) at = isObject(at) ? own(at, step.replaceAll("~1", "/").replaceAll("~0", "~")) : undefined;
    return at;
  }
}

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);

const TYPES: Record<string, (value: Json) => boolean> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: Array.isArray,
  object: isObject,
};

/** What is wrong with a value itself, whatever is inside it. */
function problem(schema: JsonObject, value: Json): string | null {
  const types = (Array.isArray(schema["type"]) ? schema["type"] : [schema["type"]]).flatMap((type) => (typeof type === "string" && Object.hasOwn(TYPES, type) ? [type] : []));
  if (types.length && !types.some((type) => TYPES[type]?.(value))) return `must be of the type ${types.join(" or ")}`;
  const same = (one: Json): boolean => canonicalJson(one) === canonicalJson(value);
  if (Array.isArray(schema["enum"]) && !schema["enum"].some(same)) return `must be one of ${JSON.stringify(schema["enum"]).slice(0, WORDS)}`;
  if (schema["const"] !== undefined && !same(schema["const"])) return `must be ${JSON.stringify(schema["const"]).slice(0, WORDS)}`;
  if (schema["not"] !== undefined && isObject(schema["not"]) && Object.keys(schema["not"]).length === 0) return "is not allowed";
  const limit = (keyword: string): number | null => (typeof schema[keyword] === "number" ? schema[keyword] : null);
  const outside = (size: number, least: string, most: string, what: string): string | null => {
    const [low, high] = [limit(least), limit(most)];
    if (low !== null && size < low) return `${what} at least ${low}`;
    return high !== null && size > high ? `${what} at most ${high}` : null;
  };
  if (typeof value === "string") return outside([...value].length, "minLength", "maxLength", "its length must be");
  if (Array.isArray(value)) return outside(value.length, "minItems", "maxItems", "its items must be");
  if (typeof value !== "number") return null;
  const [above, below] = [limit("exclusiveMinimum"), limit("exclusiveMaximum")];
  if (above !== null && value <= above) return `must be more than ${above}`;
  if (below !== null && value >= below) return `must be less than ${below}`;
  return outside(value, "minimum", "maximum", "must be");
}
