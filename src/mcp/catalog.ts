import * as z from "zod";
import { byteLength, json, type Json } from "../protocol/json.js";
import { isOdd, plain, plainLine } from "./plain.js";
import { cleanSchema } from "./schema.js";

// What a server says that it can do, cleaned and cut. This is what the journal keeps, and what a tool is made from.

const MOST_TOOLS = 64;
const MOST_NAME = 128;
const DESCRIPTION = 2_000;
const SCHEMA_BYTES = 16 * 1024;
const CATALOG_BYTES = 256 * 1024;

const described = z.object({
  /** The server's own name of it. */
  name: z.string(),
  description: z.string(),
  schema: z.record(z.string(), json),
  readOnly: z.boolean(),
  destructive: z.boolean(),
  idempotent: z.boolean(),
});
/** A tool as its server describes it. The hints are claims. */
export type DescribedTool = z.infer<typeof described>;

const row = z.array(described);

/** The tools of a stored catalog; none when it can't be read. */
export function storedTools(text: string): DescribedTool[] {
  try {
    return row.parse(JSON.parse(text));
  } catch {
    return [];
  }
}

export interface LeftOut {
  tool: string;
  reason: string;
}

/** What of a server's list is usable, and what was left out and why. The server's order is kept. */
export function describeAll(listed: unknown[], wanted: readonly string[] | undefined): { tools: DescribedTool[]; leftOut: LeftOut[] } {
  const tools: DescribedTool[] = [];
  const leftOut: LeftOut[] = [];
  let bytes = 0;
  for (const one of listed) {
    const tool = describe(one);
    if ("reason" in tool) leftOut.push(tool);
    else if (wanted && !wanted.includes(tool.name)) continue;
    else if (tools.some(({ name }) => name === tool.name)) leftOut.push({ tool: safeName(tool.name), reason: "its name is there twice" });
    else if (tools.length >= MOST_TOOLS) leftOut.push({ tool: safeName(tool.name), reason: `the server has more than ${MOST_TOOLS} tools` });
    else if ((bytes += byteLength(JSON.stringify(tool))) > CATALOG_BYTES) leftOut.push({ tool: safeName(tool.name), reason: "the server's descriptions are too long together" });
    else tools.push(tool);
  }
  return { tools, leftOut };
}

const raw = z.object({
  name: z.string().min(1).max(MOST_NAME),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: json,
  annotations: z.looseObject({ title: z.unknown(), readOnlyHint: z.unknown(), destructiveHint: z.unknown(), idempotentHint: z.unknown() }).partial().optional(),
});

/** One tool of a list, or why it can't be used. */
export function describe(listed: unknown): DescribedTool | LeftOut {
  const parsed = raw.safeParse(listed);
  const name = (listed as { name?: unknown } | null)?.name;
  const leftOut = (reason: string): LeftOut => ({ tool: safeName(typeof name === "string" ? name : ""), reason });
  if (!parsed.success) return leftOut("its description can't be read");
  const tool = parsed.data;
  if (isOdd(tool.name)) return leftOut("its name has odd characters");
  if (byteLength(JSON.stringify(tool.inputSchema)) > SCHEMA_BYTES) return leftOut("its schema is too large");
  const schema = cleanSchema(tool.inputSchema);
  if (!schema) return leftOut("its schema is not of an object, nests too deep, refers elsewhere, or has odd names");
  const title = tool.title ? `${plainLine(tool.title, 200)}. ` : "";
  const hints = tool.annotations;
  return {
    name: tool.name,
    description: title + plain(tool.description ?? "", DESCRIPTION),
    schema: schema as Record<string, Json>,
    readOnly: hints?.readOnlyHint === true,
    destructive: hints?.destructiveHint === true,
    idempotent: hints?.idempotentHint === true,
  };
}

/** A stranger's name for the operator's log: nothing in it but letters, digits, `_`, `-` and `.`. */
export const safeName = (name: string): string => name.replace(/[^A-Za-z0-9_.-]+/g, "_").slice(0, 64);
