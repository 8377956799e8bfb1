import fc from "fast-check";
import type * as z from "zod";
import { odd, someId, words } from "./odd.js";

// From a zod schema to values of its shape: mostly right, with leaves that are odd, left out or of another type.

/** What is read of a schema's definition; each kind has some of it. */
interface Def {
  type: string;
  shape?: Record<string, z.ZodType>;
  catchall?: z.ZodType;
  values?: unknown[];
  entries?: Record<string, unknown>;
  element?: z.ZodType;
  options?: z.ZodType[];
  innerType?: z.ZodType;
  valueType?: z.ZodType;
  in?: z.ZodType;
}

/** Values that the schema might take. `wrong`: one leaf in so many is of any type instead. */
export function shaped(schema: z.ZodType, wrong: number): fc.Arbitrary<unknown> {
  const right = kind(schema._zod.def as unknown as Def, wrong);
  return fc.oneof({ weight: wrong, arbitrary: right }, { weight: 1, arbitrary: odd });
}

function kind(def: Def, wrong: number): fc.Arbitrary<unknown> {
  const inner = (schema: z.ZodType): fc.Arbitrary<unknown> => shaped(schema, wrong);
  switch (def.type) {
    case "object":
      return object(def, inner);
    case "string":
      return fc.oneof({ weight: 3, arbitrary: someId }, { weight: 2, arbitrary: words });
    case "number":
      return fc.oneof(fc.nat(5), fc.integer(), fc.constantFrom(-1, 0.5, 2 ** 31, 2 ** 53 + 2, -0));
    case "boolean":
      return fc.boolean();
    case "literal":
      return fc.constantFrom(...(def.values ?? []));
    case "enum":
      return fc.constantFrom(...Object.values(def.entries ?? {}));
    case "array":
      return fc.array(def.element ? inner(def.element) : odd, { maxLength: 4 });
    case "union":
      return fc.oneof(...(def.options ?? []).map(inner));
    case "optional":
    case "nullable":
    case "default":
    case "catch":
      return def.innerType ? fc.oneof(inner(def.innerType), fc.constant(null)) : odd;
    case "record":
      return fc.dictionary(words, def.valueType ? inner(def.valueType) : odd, { maxKeys: 3 });
    case "pipe":
      return def.in ? inner(def.in) : odd;
    case "lazy":
    case "unknown":
      return odd;
    default:
      // A new kind in the protocol must not pass by unfuzzed.
      throw new Error(`Nothing is generated for a schema of the kind ${def.type}.`);
  }
}

function object({ shape = {} }: Def, inner: (schema: z.ZodType) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const fields = Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, inner(schema)]));
  // What is demanded is there nine times in ten, what may be left out half the time.
  const demanded = Object.entries(shape).flatMap(([name, schema]) => (schema._zod.optin === "optional" ? [] : [name]));
  const whole = fc.record(fields, { requiredKeys: demanded });
  return fc.oneof({ weight: 9, arbitrary: whole }, { weight: 1, arbitrary: fc.record(fields, { requiredKeys: [] }) });
}
