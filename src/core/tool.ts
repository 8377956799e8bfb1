import type { Json } from "../protocol/json.js";
import type { OnExpiry, PausePointKind, Risk } from "../protocol/entities.js";

/** A question to put to a person, as a tool's policy or a pausing tool drafts it. */
export interface PausePointDraft {
  kind: Exclude<PausePointKind, "recovery">;
  title: string;
  description?: string | undefined;
  options?: (string | number | boolean)[] | undefined;
  payload?: Json | undefined;
  risk?: Risk | undefined;
}

/** What an `ask` may demand of the person who decides. */
export interface AskTerms {
  title?: string;
  description?: string;
  /** Risk shown on the card; the tool's own when absent. An override that raises it needs a new decision. */
  risk?: Risk;
  /** How long the question waits: `"90s"`, `"30m"`, `"24h"`, `"7d"`, or milliseconds. A day when absent. */
  expiresIn?: string | number;
  /** What happens when nobody answers: the agent is told (`continue`), or the run ends (`halt`). */
  onExpiry?: OnExpiry;
}

/** A policy's verdict on one call. */
export type PolicyVerdict = { verdict: "allow" } | { verdict: "deny"; reason: string } | { verdict: "ask"; terms: AskTerms };

export const allow = (): PolicyVerdict => ({ verdict: "allow" });
export const deny = (reason: string): PolicyVerdict => ({ verdict: "deny", reason });
export const ask = (terms: AskTerms = {}): PolicyVerdict => ({ verdict: "ask", terms });

/** The input as the schema puts it out (defaults filled in, unknown keys gone), or the path of each fault. */
export type ParsedInput = { ok: true; value: Json } | { ok: false; faults: InputFault[] };
export interface InputFault {
  path: (string | number)[];
  message: string;
}

/** What `execute` is given beside its input. */
export interface ToolContext {
  /** Ours, never the model's; the same on every try of one call. */
  idempotencyKey: string;
  /** Aborted on cancel and on timeout. */
  signal: AbortSignal;
  conversationId: string;
  /** The person whose text started the run. */
  person: string;
  env: unknown;
}

/** A tool as the run loop sees it. `tools/define-tool.ts` makes one from a zod schema. */
export interface Tool {
  name: string;
  description: string;
  /** JSON Schema of the input: given to the model, and the form on the card. */
  inputSchema: Json;
  parse(input: unknown): ParsedInput;
  risk: Risk;
  policy(input: Json): PolicyVerdict;
  summary(input: Json): string;
  /** Whether running it again with the same key is harmless. Then a crash is answered by a second try. */
  idempotent(input: Json): boolean;
  /** Waits for the calls before it in the same step, and runs only if all of them succeeded. */
  afterSiblings: boolean;
  timeoutMs: number;
  /** For tools that are questions themselves: the draft and the marker. Such a tool is never executed. */
  pause?(input: Json, pausePointId: string): { draft: PausePointDraft; result: string };
  /** For tools that a device of the person answers: what it may answer. Such a tool is never executed here. */
  device?: { outputSchema: Json; parse(output: unknown): ParsedInput; expiresIn?: string | number | undefined };
  execute(input: Json, context: ToolContext): Promise<unknown>;
}

export type Tools = ReadonlyMap<string, Tool>;

/** Thrown by a tool that can't know whether its effect happened. A person is asked then. */
export class OutcomeUnknown extends Error {
  override name = "OutcomeUnknown";
}

/** Thrown by a tool that finds, before it has done anything, that it is no longer what was shown (H6). */
export class ChangedSinceShown extends Error {
  override name = "ChangedSinceShown";
}
