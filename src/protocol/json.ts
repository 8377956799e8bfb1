import * as z from "zod";

export { byteLength, canonicalJson } from "./canonical.js";

/** Any JSON value. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** Parses any JSON value; refuses what JSON can't carry (undefined, NaN, functions). */
export const json: z.ZodType<Json> = z.json() as z.ZodType<Json>;
