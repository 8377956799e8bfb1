import type { Json } from "../../protocol/json.js";

// From a JSON Schema to the controls of a form. What a form can't do safely becomes `json`: a text field
// for JSON, so that no type is ever guessed (C54).

export interface FieldNode {
  key: string;
  title: string;
  required: boolean;
  node: FormNode;
}

export type FormNode =
  | { kind: "string"; description?: string }
  | { kind: "number"; integer: boolean; description?: string }
  | { kind: "boolean"; description?: string }
  | { kind: "enum"; values: Json[]; description?: string }
  | { kind: "object"; fields: FieldNode[]; description?: string }
  | { kind: "array"; item: FormNode; description?: string }
  | { kind: "nullable"; inner: FormNode; description?: string }
  | { kind: "json"; description?: string };

type JsonObject = { [key: string]: Json };

const DEEPEST = 8;

/** The form for a value. Without a usable schema the types are those of the value itself. */
export function formOf(schema: Json | null, value: Json): FormNode {
  return nodeOf(schema, value, schema, 0);
}

function nodeOf(schema: Json | null | undefined, value: Json | undefined, root: Json | null, depth: number): FormNode {
  if (depth > DEEPEST) return { kind: "json" };
  if (!isObject(schema)) return value === undefined ? { kind: "json" } : inferred(value, depth);
  const resolved = resolve(schema, root);
  if (!resolved) return { kind: "json" };
  const description = resolved["description"];
  return { ...typed(resolved, value, root, depth), ...(typeof description === "string" && { description }) };
}

function typed(schema: JsonObject, value: Json | undefined, root: Json | null, depth: number): FormNode {
  if (Array.isArray(schema["enum"])) return { kind: "enum", values: schema["enum"] };
  if (schema["const"] !== undefined) return { kind: "enum", values: [schema["const"]] };
  const nullable = withoutNull(schema);
  if (nullable) return { kind: "nullable", inner: nodeOf(nullable, value ?? undefined, root, depth + 1) };
  if (schema["anyOf"] || schema["oneOf"] || schema["allOf"]) return { kind: "json" };
  switch (schema["type"]) {
    case "string":
      return { kind: "string" };
    case "number":
    case "integer":
      return { kind: "number", integer: schema["type"] === "integer" };
    case "boolean":
      return { kind: "boolean" };
    case "object":
      return objectNode(schema, value, root, depth);
    case "array":
      return isObject(schema["items"]) && !schema["prefixItems"] ? { kind: "array", item: nodeOf(schema["items"], undefined, root, depth + 1) } : { kind: "json" };
    default:
      return value === undefined ? { kind: "json" } : inferred(value, depth);
  }
}

function objectNode(schema: JsonObject, value: Json | undefined, root: Json | null, depth: number): FormNode {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  const present = isObject(value) ? value : {};
  const keys = [...new Set([...Object.keys(properties), ...Object.keys(present)])];
  // A record: which keys there may be is the person's to say, and a form can't ask that.
  if (keys.length === 0) return { kind: "json" };
  return {
    kind: "object",
    fields: keys.map((key) => {
      const property = own(properties, key);
      const title = isObject(property) && typeof property["title"] === "string" ? property["title"] : label(key);
      return { key, title, required: required.has(key) || property === undefined, node: nodeOf(property, own(present, key), root, depth + 1) };
    }),
  };
}

function inferred(value: Json, depth: number): FormNode {
  if (value === null || depth > DEEPEST) return { kind: "json" };
  switch (typeof value) {
    case "string":
      return { kind: "string" };
    case "number":
      return { kind: "number", integer: false };
    case "boolean":
      return { kind: "boolean" };
    default:
      if (Array.isArray(value)) {
        const [first] = value;
        const alike = first !== undefined && ["string", "number", "boolean"].includes(typeof first) && value.every((item) => typeof item === typeof first);
        return alike ? { kind: "array", item: inferred(first, depth + 1) } : { kind: "json" };
      }
      return {
        kind: Object.keys(value).length > 0 ? "object" : "json",
        fields: Object.entries(value).map(([key, field]) => ({ key, title: label(key), required: true, node: inferred(field, depth + 1) })),
      };
  }
}

// `anyOf: [X, null]` and `type: ["x", "null"]` are the two spellings of "may be null".
function withoutNull(schema: JsonObject): JsonObject | null {
  const { type, anyOf } = schema as { type?: Json; anyOf?: Json };
  if (Array.isArray(type) && type.length === 2 && type.includes("null")) {
    const other = type.find((name) => name !== "null");
    return other === undefined ? null : { ...schema, type: other };
  }
  if (Array.isArray(anyOf) && anyOf.length === 2) {
    const other = anyOf.find((option) => !(isObject(option) && option["type"] === "null"));
    return isObject(other) && anyOf.some((option) => isObject(option) && option["type"] === "null") ? other : null;
  }
  return null;
}

function resolve(schema: JsonObject, root: Json | null): JsonObject | null {
  let current: JsonObject = schema;
  for (let hops = 0; typeof current["$ref"] === "string"; hops += 1) {
    const ref = current["$ref"];
    if (hops > DEEPEST || !ref.startsWith("#")) return null;
    let target: Json | undefined = root ?? undefined;
    for (const name of ref.split("/").slice(1)) target = isObject(target) ? own(target, name.replaceAll("~1", "/").replaceAll("~0", "~")) : undefined;
    if (!isObject(target)) return null;
    current = target;
  }
  return current;
}

/** `recipient_name`, `recipientName` → "Recipient name". */
export function label(key: string): string {
  const words = key
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/[_-]+/g, " ")
    .trim()
    .toLowerCase();
  return words ? words.charAt(0).toUpperCase() + words.slice(1) : key;
}

export const isObject = (value: Json | null | undefined): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

/** A key of the object itself; `constructor` and `__proto__` are ordinary keys. */
export const own = (object: JsonObject, key: string): Json | undefined => (Object.hasOwn(object, key) ? object[key] : undefined);

/** What stands in a new item or a field that is set for the first time. */
export function blank(node: FormNode): Json {
  switch (node.kind) {
    case "string":
      return "";
    case "number":
      return 0;
    case "boolean":
      return false;
    case "enum":
      return node.values[0] ?? null;
    case "array":
      return [];
    case "object":
      return Object.fromEntries(node.fields.filter(({ required }) => required).map(({ key, node: field }) => [key, blank(field)]));
    case "nullable":
    case "json":
      return null;
  }
}
