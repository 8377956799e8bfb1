import * as z from "zod";
import { durationMs } from "../core/limits.js";
import { approvalMarker } from "../core/marker.js";
import { allow, ask, type ParsedInput, type PausePointDraft, type PolicyVerdict, type Tool, type ToolContext } from "../core/tool.js";
import { json, type Json } from "../protocol/json.js";
import type { Risk } from "../protocol/entities.js";
import type { ToolEnv } from "./env.js";

export { allow, ask, deny, OutcomeUnknown } from "../core/tool.js";
export type { PolicyVerdict } from "../core/tool.js";

const DEFAULT_TIMEOUT = "60s";
const MAX_TIMEOUT_MS = durationMs("10m");
const SUMMARY_CHARACTERS = 300;

type Output<Schema extends z.ZodObject> = z.output<Schema>;
type ExecuteContext = Omit<ToolContext, "env"> & { env: ToolEnv };

interface Definition<Schema extends z.ZodObject> {
  /** What the model calls it: letters, digits, `_` and `-`. */
  name: string;
  /** For the model: what it does and when to use it. */
  description: string;
  /** What is shown, stored and executed is this schema's output, so its output must be JSON and parse to itself. */
  input: Schema;
  /** One sentence for the card: what happens with this input. */
  summary?(input: Output<Schema>): string;
}

export interface ToolDefinition<Schema extends z.ZodObject> extends Definition<Schema> {
  risk: Risk;
  /** `allow()`, `deny(reason)` or `ask({…})`, at once. Absent: asks, unless `readOnly`. One that throws counts as `ask`. */
  approval?(input: Output<Schema>): PolicyVerdict;
  /** Changes nothing anywhere: runs without a card and may be run again. `approval` and `idempotent` still win. */
  readOnly?: boolean;
  /** Running it again with the same `idempotencyKey` is harmless. Else a crash while it runs asks a person. */
  idempotent?: boolean | ((input: Output<Schema>) => boolean);
  /** Runs only after the calls before it in the same step, and only if all of them succeeded. */
  afterSiblings?: boolean;
  /** `"30s"` or milliseconds; 60 s when absent, 10 min at most. */
  timeout?: string | number;
  execute(input: Output<Schema>, context: ExecuteContext): unknown;
}

/**
 * Makes a tool of a zod schema, a policy and a function. Throws on a definition that can't work
 * (a bad name, a timeout over ten minutes, a schema that JSON Schema can't express).
 *
 * @example
 * export const refund = defineTool({
 *   name: "refund",
 *   description: "Give a customer money back.",
 *   input: z.object({ order: z.string(), amount: z.number().positive() }),
 *   risk: "high",
 *   approval: ({ amount }) => (amount > 20 ? ask({ expiresIn: "4h" }) : allow()),
 *   summary: ({ order, amount }) => `Refund ${amount} EUR for order ${order}`,
 *   idempotent: true,
 *   execute: ({ order, amount }, { idempotencyKey, signal }) => payments.refund(order, amount, { idempotencyKey, signal }),
 * });
 */
export function defineTool<Schema extends z.ZodObject>(definition: ToolDefinition<Schema>): Tool {
  const { risk, approval, readOnly = false, idempotent = readOnly, afterSiblings = false, timeout = DEFAULT_TIMEOUT } = definition;
  const timeoutMs = durationMs(timeout);
  if (timeoutMs > MAX_TIMEOUT_MS) throw new Error(`Tool ${definition.name}: its timeout is over ten minutes.`);
  // The run loop hands back only what `parse` gave, or an override that `parse` took (H6).
  const typed = (input: Json) => input as Output<Schema>;
  return {
    ...base(definition),
    risk,
    afterSiblings,
    timeoutMs,
    policy(input) {
      if (!approval) return readOnly ? allow() : ask();
      return checkedVerdict(approval(typed(input)));
    },
    idempotent: (input) => (typeof idempotent === "function" ? idempotent(typed(input)) : idempotent),
    execute: async (input, context) => definition.execute(typed(input), { ...context, env: context.env as ToolEnv }),
  };
}

/** A tool that is itself a question to a person: the model calls it, a card opens, the answer is its result. */
export function definePausingTool<Schema extends z.ZodObject>(definition: Definition<Schema> & { draft(input: Output<Schema>): PausePointDraft }): Tool {
  return {
    ...base(definition),
    risk: "low",
    afterSiblings: false,
    timeoutMs: durationMs(DEFAULT_TIMEOUT),
    policy: allow,
    idempotent: () => true,
    pause: (input, pausePointId) => ({ draft: definition.draft(input as Output<Schema>), result: approvalMarker(pausePointId) }),
    execute: () => Promise.reject(new Error(`${definition.name} is a question to a person; it is never executed.`)),
  };
}

/**
 * A tool that a device of the person answers: what only a browser or a phone can know or do. It needs no card, for the
 * device asks the person itself; the first answer of one of their devices counts.
 */
export function defineDeviceTool<Schema extends z.ZodObject>(
  definition: Definition<Schema> & {
    /** What a device may answer. Its output must be JSON. */
    output: z.ZodObject;
    /** How long the question waits: `"5m"`, or milliseconds; as long as a card when absent. */
    expiresIn?: string | number;
  },
): Tool {
  const { output, expiresIn } = definition;
  if (expiresIn !== undefined) durationMs(expiresIn);
  return {
    ...base(definition),
    risk: "low",
    afterSiblings: false,
    timeoutMs: durationMs(DEFAULT_TIMEOUT),
    policy: allow,
    idempotent: () => true,
    device: { outputSchema: jsonSchemaOf(output), parse: (answer) => parse(output, answer), expiresIn },
    execute: () => Promise.reject(new Error(`${definition.name} is answered by a device; it is never executed here.`)),
  };
}

function base<Schema extends z.ZodObject>({ name, description, input: schema, summary }: Definition<Schema>) {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) throw new Error(`"${name}" is not a tool name that every provider takes.`);
  return {
    name,
    description,
    inputSchema: jsonSchemaOf(schema),
    parse: (input: unknown) => parse(schema, input),
    summary(input: Json) {
      try {
        if (summary) return summary(input as Output<Schema>);
      } catch {
        // A card without the tool's own sentence is better than no card.
      }
      return plainSummary(name, input);
    },
  };
}

function jsonSchemaOf(schema: z.ZodObject): Json {
  const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema, { io: "input", target: "draft-7" });
  return jsonSchema as Json;
}

function parse(schema: z.ZodObject, input: unknown): ParsedInput {
  const parsed = schema.safeParse(input);
  if (parsed.success) {
    const value = json.safeParse(parsed.data);
    return value.success ? { ok: true, value: value.data } : { ok: false, faults: [{ path: [], message: "holds a value that JSON can't carry" }] };
  }
  return {
    ok: false,
    faults: parsed.error.issues.map(({ path, message }) => ({ path: path.map((key) => (typeof key === "symbol" ? String(key) : key)), message })),
  };
}

/**
 * A policy written in JavaScript can return anything, a promise for instance. What isn't a verdict throws,
 * and the run loop takes a policy that throws for `ask`, or refuses the edited input (H12).
 */
function checkedVerdict(verdict: PolicyVerdict): PolicyVerdict {
  const spoken = (verdict as PolicyVerdict | undefined)?.verdict;
  if (spoken === "allow" || spoken === "deny" || spoken === "ask") return verdict;
  throw new Error("The policy returned no verdict. Return allow(), deny(reason) or ask({…}).");
}

function plainSummary(name: string, input: Json): string {
  const fields = Object.entries(input ?? {}).map(([field, value]) => `${field}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  const sentence = `${name} ${fields.join(", ")}`.trimEnd();
  return sentence.length > SUMMARY_CHARACTERS ? `${sentence.slice(0, SUMMARY_CHARACTERS - 1)}…` : sentence;
}
