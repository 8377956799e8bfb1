import { describe, expect, it } from "vitest";
import { cleanSchema, parseBy, type JsonObject } from "../../../src/mcp/schema.js";
import type { Json } from "../../../src/protocol/json.js";

const read = (schema: JsonObject, input: Json): unknown => {
  const parsed = parseBy(schema, input);
  return parsed.ok ? parsed.value : parsed.faults.map(({ path, message }) => `${path.join(".")}: ${message}`);
};

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "object", properties, ...more });

describe("an input, by a server's JSON Schema", () => {
  const cases: [string, JsonObject, Json, unknown][] = [
    [
      "fills in defaults, also inside, and keeps what it does not know",
      object({ a: { type: "number", default: 1 }, b: object({ c: { default: "x" } }) }),
      { b: {}, z: 0 },
      { a: 1, b: { c: "x" }, z: 0 },
    ],
    [
      "names each fault by its path",
      object({ a: { type: "string" }, b: { type: "array", items: { type: "integer" } } }, { required: ["a"] }),
      { b: [1, 2.5] },
      ["a: is missing", "b.1: must be of the type integer"],
    ],
    ["is an object", object({}), [], [": must be of the type object"]],
    ["takes one of several types", object({ a: { type: ["string", "null"] } }), { a: null }, { a: null }],
    ["takes no other keys when told so", object({ a: {} }, { additionalProperties: false }), { a: 1, b: 2 }, ["b: is nothing that the tool takes"]],
    ["reads other keys by their schema", object({}, { additionalProperties: { type: "number" } }), { b: "x" }, ["b: must be of the type number"]],
    ["takes values of a list only", object({ a: { enum: ["x", 1] } }), { a: "y" }, ['a: must be one of ["x",1]']],
    ["takes a constant only", object({ a: { const: { k: 1 } } }), { a: { k: 1 } }, { a: { k: 1 } }],
    [
      "keeps to limits",
      object({ a: { maxLength: 2 }, b: { minimum: 3 }, c: { exclusiveMaximum: 3 }, d: { minItems: 1 } }),
      { a: "🙂🙂🙂", b: 2, c: 3, d: [] },
      ["a: its length must be at most 2", "b: must be at least 3", "c: must be less than 3", "d: its items must be at least 1"],
    ],
    ["takes the branch that fits", object({ a: { anyOf: [{ type: "number" }, object({ k: { default: 1 } })] } }), { a: {} }, { a: { k: 1 } }],
    ["takes one branch of oneOf only", object({ a: { oneOf: [{ type: "number" }, { type: "integer" }] } }), { a: 1 }, ["a: fits more than one of what the tool takes"]],
    ["reads every part of allOf", object({ a: { allOf: [{ type: "number" }, { minimum: 5 }] } }), { a: 1 }, ["a: must be at least 5"]],
    [
      "follows references",
      { ...object({ tree: { $ref: "#/$defs/node" } }), $defs: { node: object({ next: { $ref: "#/$defs/node" }, n: { type: "number" } }) } },
      { tree: { next: { n: "x" } } },
      ["tree.next.n: must be of the type number"],
    ],
    ["reads tuples", object({ a: { prefixItems: [{ type: "string" }], items: { type: "number" } } }), { a: ["x", "y"] }, ["a.1: must be of the type number"]],
    ["is not fooled by names of every object", object({ a: {} }, { required: ["toString"] }), { a: 1 }, ["toString: is missing"]],
  ];
  for (const [title, schema, input, expected] of cases) it(title, () => expect(read(schema, input)).toEqual(expected));

  it("[H6] what it gives is read as itself again, or is refused", () => {
    const turning = object({ a: { anyOf: [object({ k: {} }, { required: ["k"] }), object({ k: { default: 1 }, j: { default: 2 } })] } });
    expect(read(turning, { a: {} })).toEqual({ a: { k: 1, j: 2 } });
    const swapping = object({ a: { anyOf: [object({ k: {}, extra: { default: 1 } }, { required: ["k"] }), object({ k: { default: 1 } })] } });
    expect(read(swapping, { a: {} })).toEqual([": the tool's schema reads this differently each time"]);
    expect(read(object({ n: { type: "number", default: "many" } }), {})).toEqual(["n: must be of the type number"]);
  });

  it("references that go round, or branch without end, are given up", () => {
    const round = { ...object({ a: { $ref: "#/$defs/a" } }), $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] } } };
    expect(parseBy(round, { a: 1 })).toMatchObject({ ok: false });
    const wide = Object.fromEntries(Array.from({ length: 14 }, (_, n) => [`d${n}`, { anyOf: Array(4).fill({ $ref: `#/$defs/d${n + 1}` }) }]));
    expect(parseBy({ ...object({ a: { $ref: "#/$defs/d0" } }), $defs: wide }, { a: 1 })).toMatchObject({ ok: false });
  });
});

it("what of a schema is kept: words without hidden characters, nothing from elsewhere, and data as it is", () => {
  expect(cleanSchema({ $schema: "x", properties: { description: { type: "string", description: "a\u202Eb", default: "c\u202Ed" } } })).toEqual({
    type: "object",
    properties: { description: { type: "string", description: "a�b", default: "c\u202Ed" } },
  });
  expect(cleanSchema({ type: "object", properties: { a: { $ref: "https://evil.example" } } })).toBeNull();
  expect(cleanSchema(JSON.parse('{"properties": {"__proto__": {}}}'))).toBeNull();
});
