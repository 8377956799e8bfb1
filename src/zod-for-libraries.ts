import * as zod from "zod";

// What libraries in the Worker get when they import "zod/v4" (see [alias] in wrangler.toml). Some write
// `import { z }`, and that one name carries all of zod, every language's messages included: 65 KiB of gzip.
// A test compares this list with what those libraries use.

export * from "zod";

export const z = {
  any: zod.any,
  array: zod.array,
  base64: zod.base64,
  boolean: zod.boolean,
  discriminatedUnion: zod.discriminatedUnion,
  enum: zod.enum,
  iso: zod.iso,
  json: zod.json,
  literal: zod.literal,
  looseObject: zod.looseObject,
  never: zod.never,
  NEVER: zod.NEVER,
  number: zod.number,
  object: zod.object,
  optional: zod.optional,
  record: zod.record,
  string: zod.string,
  union: zod.union,
  unknown: zod.unknown,
  ZodIssueCode: zod.ZodIssueCode,
};
