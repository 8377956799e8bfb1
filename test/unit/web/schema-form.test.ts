import { describe, expect, test } from "vitest";
import type { Json } from "../../../src/protocol/json.js";
import { differences, edited, readJson, readNumber, setValue, startEditing, typeText, valueAt } from "../../../src/web/lib/editor.js";
import { blank, formOf, label } from "../../../src/web/lib/schema-form.js";

const transfer: Json = {
  type: "object",
  properties: {
    from: { type: "string" },
    amount: { type: "number", exclusiveMinimum: 0 },
    count: { type: "integer" },
    urgent: { type: "boolean" },
    currency: { enum: ["EUR", "USD"] },
    note: { anyOf: [{ type: "string" }, { type: "null" }] },
    tags: { type: "array", items: { type: "string" } },
    to: { $ref: "#/$defs/account" },
    extra: { type: "object", additionalProperties: true },
  },
  required: ["from", "amount"],
  $defs: { account: { type: "object", properties: { iban: { type: "string" } }, required: ["iban"] } },
};

describe("formOf", () => {
  test("makes a control of each type, and JSON of what it can't do", () => {
    const form = formOf(transfer, { from: "a", amount: 1 });
    if (form.kind !== "object") throw new Error("an object was expected");
    expect(Object.fromEntries(form.fields.map(({ key, node }) => [key, node.kind]))).toEqual({
      from: "string",
      amount: "number",
      count: "number",
      urgent: "boolean",
      currency: "enum",
      note: "nullable",
      tags: "array",
      to: "object",
      extra: "json",
    });
    expect(form.fields.filter(({ required }) => required).map(({ key }) => key)).toEqual(["from", "amount"]);
  });

  test("without a schema the types are the value's own", () => {
    expect(formOf(null, { a: "1", b: 1, c: true, d: null, e: [1, 2], f: [1, "x"] })).toMatchObject({
      kind: "object",
      fields: [
        { node: { kind: "string" } },
        { node: { kind: "number" } },
        { node: { kind: "boolean" } },
        { node: { kind: "json" } },
        { node: { kind: "array" } },
        { node: { kind: "json" } },
      ],
    });
  });

  test("a schema that refers to itself ends", () => {
    const tree: Json = { $ref: "#/$defs/t", $defs: { t: { type: "object", properties: { next: { $ref: "#/$defs/t" } } } } };
    expect(JSON.stringify(formOf(tree, {})).length).toBeLessThan(2_000);
    expect(formOf({ $ref: "https://elsewhere.example/x" }, {})).toEqual({ kind: "json" });
  });

  test("C12 keys such as constructor and __proto__ are ordinary", () => {
    const value = JSON.parse('{"constructor":"x","__proto__":"y"}') as Json;
    expect(formOf({ type: "object", properties: {} }, value)).toMatchObject({ fields: [{ key: "constructor", node: { kind: "string" } }, { key: "__proto__" }] });
    expect(JSON.stringify(setValue(startEditing(value), ["__proto__"], "z").value)).toBe('{"constructor":"x","__proto__":"z"}');
  });

  test("blank values and labels", () => {
    expect(blank(formOf(transfer, {}))).toEqual({ from: "", amount: 0 });
    expect([label("recipient_name"), label("recipientName"), label("to")]).toEqual(["Recipient name", "Recipient name", "To"]);
  });
});

describe("editing", () => {
  const number = (text: string) => readNumber(text, false);

  test("C54 500 typed over with 50 is the number 50", () => {
    const editor = typeText(startEditing({ amount: 500, id: "9007199254740993", none: null, list: [1, { a: true }] }), ["amount"], "50", number);
    expect(edited(editor)).toEqual({ ok: true, changed: true, override: { amount: 50, id: "9007199254740993", none: null, list: [1, { a: true }] } });
  });

  test("C56 opened and unchanged, or changed and put back, is not edited", () => {
    const editor = startEditing({ amount: 500, b: { c: [1] } });
    expect(edited(editor)).toEqual({ ok: true, changed: false });
    expect(edited(typeText(typeText(editor, ["amount"], "50", number), ["amount"], "500", number))).toEqual({ ok: true, changed: false });
  });

  test("what is no number yet stays as typed, is not sent, and says why", () => {
    const editor = typeText(startEditing({ amount: 500 }), ["amount"], "5,0", number);
    expect(valueAt(editor.value, ["amount"])).toBe(500);
    expect(Object.values(editor.texts)).toEqual(["5,0"]);
    expect(edited(editor)).toEqual({ ok: false, faults: 1 });
    expect(edited(typeText(editor, ["amount"], "5.5", number))).toMatchObject({ override: { amount: 5.5 } });
  });

  test("numbers are read as JSON spells them, exactly or not at all", () => {
    for (const text of ["", "1,000", "1.", ".5", "0x10", "1e999", "NaN", "9007199254740993"]) expect(readNumber(text, false).ok).toBe(false);
    expect(readNumber(" -1.5e3 ", false)).toEqual({ ok: true, value: -1500 });
    expect(readNumber("1.5", true).ok).toBe(false);
  });

  test("JSON that would be rounded is refused; in a string it is fine", () => {
    expect(readJson('{"a":9007199254740993}').ok).toBe(false);
    expect(readJson('{"a":"9007199254740993","b":9007199254740991}').ok).toBe(true);
    expect(readJson("{").ok).toBe(false);
  });

  test("items come and go without disturbing their neighbours", () => {
    let editor = startEditing({ tags: ["a", "b", "c"] });
    editor = setValue(editor, ["tags", 1], undefined);
    editor = setValue(editor, ["tags", 2], "d");
    expect(editor.value).toEqual({ tags: ["a", "c", "d"] });
    expect(setValue(editor, ["tags"], undefined).value).toEqual({});
  });

  test("differences name the path, what was proposed and what was approved", () => {
    expect(differences({ a: 1, b: { c: "x" }, d: [1] }, { a: 2, b: { c: "x" }, d: [1, 2], e: null })).toEqual([
      { path: ["a"], from: 1, to: 2 },
      { path: ["d"], from: [1], to: [1, 2] },
      { path: ["e"], from: undefined, to: null },
    ]);
  });
});
