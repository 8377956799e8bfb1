import {
  any,
  array,
  base64,
  boolean,
  discriminatedUnion,
  enum as enumOf,
  iso,
  json,
  literal,
  looseObject,
  never,
  NEVER,
  number,
  object,
  optional,
  record,
  string,
  union,
  unknown,
  ZodIssueCode,
} from "zod";

// What libraries in the Worker get when they import "zod/v4" (see [alias] in wrangler.toml). Some write
// `import { z }`, and that one name carries all of zod, every language's messages included: 65 KiB of gzip.
// A test compares this list with what those libraries use.

export * from "zod";

export const z = {
  any,
  array,
  base64,
  boolean,
  discriminatedUnion,
  enum: enumOf,
  iso,
  json,
  literal,
  looseObject,
  never,
  NEVER,
  number,
  object,
  optional,
  record,
  string,
  union,
  unknown,
  ZodIssueCode,
};
