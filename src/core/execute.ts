import { byteLength, type Json } from "../protocol/json.js";
import { mayHaveRun, whyNotAsShown } from "./as-shown.js";
import { idempotencyKey, runId } from "./ids.js";
import type { Transaction } from "./transaction.js";
import type { CallRow, RunRow } from "./rows.js";
import { storedJson } from "./outcome.js";
import { isIdempotent } from "./policy.js";
import { spanned, type Ports } from "./ports.js";
import { askWhatHappened } from "./run.js";
import { holdsWord } from "./told-by-message.js";
import type { Tool, ToolContext } from "./tool.js";

// One try of one call: begun in the journal, executed, and its end recorded if nobody settled it before.

export interface Try {
  call: CallRow;
  tool: Tool;
  input: Json;
  key: string;
  person: string;
}

export type TryResult =
  | { end: "returned"; output: unknown }
  | { end: "threw"; error: string }
  | { end: "timed_out" }
  | { end: "changed"; error: string }
  | { end: "unknown"; error: string };

/**
 * Writes that a try is about to begin. Null when the call is no longer what was shown (H6): then it fails, or, when an
 * earlier try of it may have had its effect, a person is asked.
 */
export function beginTry(ports: Ports, tx: Transaction, run: RunRow, call: CallRow): Try | null {
  const tool = ports.agent(tx.conversation.skill).tools.get(call.tool);
  const input = storedJson(call.override ?? call.input);
  const changed = whyNotAsShown(tool, input, call);
  if (changed !== null || !tool || input === undefined) {
    if (mayHaveRun(call)) askWhatHappened(ports, tx, run, call, "interrupted");
    else tx.updateCall(call, { state: "failed", cause: "changed", error: `${changed} It has not run.`, endedAt: tx.now }, { state: "ready" });
    return null;
  }
  const tries = call.tries + 1;
  if (!tx.updateCall(call, { state: "started", tries, startedAt: tx.now, cause: null }, { state: "ready", tries: call.tries })) return null;
  return { call: { ...call, state: "started", tries, startedAt: tx.now }, tool, input, key: idempotencyKey(tx.conversation.id, call), person: run.person };
}

/** Runs the tool until it ends, its time is up, or the signal is aborted and the tool heeds it. Never throws. */
export async function runTool(ports: Ports, attempt: Try, abort: AbortController): Promise<TryResult> {
  const context = { idempotencyKey: attempt.key, signal: abort.signal, conversationId: ports.journal.conversation().id, person: attempt.person, env: ports.env };
  const attributes = { conversation: context.conversationId, run: runId(attempt.call.turn), call: attempt.call.toolCallId, tries: attempt.call.tries };
  return spanned(ports, "tool", attributes, () => untilEnd(ports, attempt, abort, context));
}

function untilEnd(ports: Ports, attempt: Try, abort: AbortController, context: ToolContext): Promise<TryResult> {
  return new Promise((resolve) => {
    const cancel = ports.clock.after(attempt.tool.timeoutMs, () => {
      resolve({ end: "timed_out" });
      abort.abort(new Error("The tool's time is up."));
    });
    const settled = (result: TryResult): void => {
      cancel();
      resolve(result);
    };
    try {
      attempt.tool.execute(attempt.input, context).then(
        (output) => settled({ end: "returned", output }),
        (error: unknown) => settled(thrown(error)),
      );
    } catch (error) {
      settled(thrown(error));
    }
  });
}

function thrown(error: unknown): TryResult {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof Error && error.name === "ChangedSinceShown") return { end: "changed", error: message };
  return error instanceof Error && error.name === "OutcomeUnknown" ? { end: "unknown", error: message } : { end: "threw", error: message };
}

/**
 * Records how a try ended, if the call is still in that very try; a late end of a call given up after
 * cancelling is recorded too (H19). What nobody can know becomes a recovery card (H18).
 */
export function recordResult(ports: Ports, tx: Transaction, attempt: Try, result: TryResult): boolean {
  const { call } = attempt;
  const run = tx.run(call.turn);
  const current = tx.store.get("calls", call.turn, call.step, call.index);
  if (!run || !current || current.tries !== call.tries) return false;
  const live = run.status === "running" || run.status === "suspended";
  const patch = withoutWord(ended(ports, tx.now, result), tx.conversation.word);
  const uncertain = whyUncertain(attempt, result);
  if (uncertain && live) {
    askWhatHappened(ports, tx, run, current, uncertain);
    return true;
  }
  if (uncertain) Object.assign(patch, { state: "unknown" });
  if (tx.updateCall(call, patch, { state: "started", tries: call.tries })) return true;
  return !live && tx.updateCall(call, patch, { state: "unknown", cause: "cancelled", tries: call.tries });
}

/** Why nobody knows what a try that ended so has done; null where its end says it. */
function whyUncertain({ tool, input, call }: Try, { end }: TryResult): "interrupted" | "timed_out" | "threw" | null {
  if (end === "unknown") return "threw";
  if (end === "timed_out" && !isIdempotent(tool, input)) return "timed_out";
  // This try has not run. The one before it was interrupted.
  return end === "changed" && call.tries > 1 ? "interrupted" : null;
}

function ended(ports: Ports, now: number, result: TryResult): Partial<CallRow> {
  switch (result.end) {
    case "returned":
      return { state: "succeeded", cause: null, output: resultText(result.output, ports.limits.toolResultBytes), endedAt: now };
    case "threw":
    case "unknown":
      return { state: "failed", cause: "threw", error: result.error.slice(0, 4000), endedAt: now };
    case "changed":
      return { state: "failed", cause: "changed", error: `${result.error.slice(0, 4000)} It has not run.`, endedAt: now };
    case "timed_out":
      return { state: "failed", cause: "timed_out", error: "The tool did not answer in time. It is made so that it can be called again without harm.", endedAt: now };
  }
}

/** A result that holds the word by which the server speaks to the model is not passed on: it could forge a decision. */
function withoutWord(patch: Partial<CallRow>, word: string | null): Partial<CallRow> {
  const note = "What the tool returned was left out: it holds a word by which only the server speaks here.";
  if (holdsWord(word, patch.output ?? "")) return { ...patch, output: JSON.stringify({ note }) };
  return holdsWord(word, patch.error ?? "") ? { ...patch, error: note } : patch;
}

/** A tool's result as JSON text; what is over the limit is cut, and says so (H20). */
function resultText(output: unknown, limit: number): string {
  let text: string;
  try {
    text = JSON.stringify(output ?? null) ?? "null";
  } catch {
    return JSON.stringify({ note: "The tool ended well, but what it returned is not JSON, so it can't be kept." });
  }
  const bytes = byteLength(text);
  if (bytes <= limit) return text;
  const whole = typeof output === "string" ? output : text;
  let length = whole.length;
  const cut = (): string => JSON.stringify({ note: `This result is ${bytes} bytes long. What is over ${limit} bytes was cut.`, text: whole.slice(0, length) });
  while (byteLength(cut()) > limit) length = Math.floor(length * 0.9);
  return cut();
}
