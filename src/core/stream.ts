import type { Chunk } from "../protocol/frames.js";
import type { LivePart } from "../protocol/fold.js";
import { LiveStep } from "./delta.js";
import { modelHistory } from "./history.js";
import { runId, toolCallId } from "./ids.js";
import { isLive } from "./journal.js";
import type { Transaction } from "./transaction.js";
import type { CallRow, RunRow } from "./rows.js";
import { admitCall } from "./policy.js";
import { spanned, type Ports } from "./ports.js";
import { deliverQueued, finishRun, insertAssistantStep, settle } from "./run.js";
import { wordSentence } from "./told-by-message.js";
import type { StoredPart } from "./views.js";

// One step: the model is called, its answer streamed, and the whole committed with its calls.

/** A step being streamed in this process. */
export interface Streaming {
  live: LiveStep;
  abort: AbortController;
}

/** Writes that a model call is about to be begun (H8, H18). Null when the run is not to go on. */
export function beginAttempt(ports: Ports, tx: Transaction, run: RunRow, counted: boolean): RunRow | null {
  if (!counted && run.fruitless >= ports.limits.fruitless) {
    finishRun(tx, run, "failed", "error", `The answer was interrupted ${run.fruitless} times without getting further, so the run has ended. Write again to go on.`);
    return null;
  }
  if (ports.resume.mode === "message" && tx.conversation.word === null) tx.setWord(ports.randomWord());
  const current = deliverQueued(tx, run);
  if (counted) return current;
  const attempt = run.attempt + 1;
  const written = tx.countAttempt(run.turn, { attempt, fruitless: run.fruitless + 1 }, { status: "running", attempt: run.attempt });
  return written ? { ...current, attempt, fruitless: run.fruitless + 1 } : null;
}

/** Streams one attempt to its end and commits it. What comes too late changes nothing (H17). */
export async function streamStep(ports: Ports, run: RunRow, isExecuting: (call: CallRow) => boolean, streaming: (now: Streaming | null) => void): Promise<void> {
  const { journal, limits, clock } = ports;
  const { skill, word } = journal.conversation();
  const { system, tools } = ports.agent(skill);
  const live = new LiveStep({ runId: runId(run.turn), messageId: run.messageId, step: run.step, attempt: run.attempt }, clock, (flush) => ports.live(flush, false));
  const abort = new AbortController();
  streaming({ live, abort });
  let failure: string | null = null;
  const usage = { inputTokens: 0, outputTokens: 0 };
  try {
    const messages = modelHistory(journal.read, run, limits.contextTokens);
    const modelTools = [...tools.values()].map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    const named = new CallIds(run);
    const asked = { system: word === null ? system : system + wordSentence(word), messages, tools: modelTools, signal: abort.signal };
    await spanned(ports, "model", { conversation: journal.conversation().id, run: runId(run.turn), step: run.step, attempt: run.attempt }, async () => {
      for await (const chunk of untilTimeout(ports, ports.model(asked), abort)) {
        if (chunk.type === "error") throw new Error(String(chunk["errorText"]));
        if (chunk.type === "finish" || chunk.type === "message-metadata") countTokens(usage, chunk);
        if (!STREAMED.has(chunk.type)) continue;
        if (!live.push(named.rename(chunk), limits.stepBytes)) throw new Error("The model's answer is longer than one step may be, so it was cut.");
        if (named.count > limits.callsPerStep) throw new Error(`The model proposed more than ${limits.callsPerStep} calls at once, so none of them was taken.`);
      }
    });
    if (live.parts.length === 0) failure = "The model gave an empty answer. Write again to try once more.";
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
  } finally {
    abort.abort();
  }
  const rest = live.end();
  streaming(null);
  const current = journal.run(run.turn);
  if (current?.status !== "running" || current.attempt !== run.attempt) return;
  ports.live(rest, true);
  journal.transaction("step", (tx) => {
    commitStep(ports, tx, run, live.parts, failure, usage);
    settle(ports, tx, isExecuting);
  });
}

function commitStep(ports: Ports, tx: Transaction, run: RunRow, parts: LivePart[], failure: string | null, usage: { inputTokens: number; outputTokens: number }): void {
  const stored = tx.run(run.turn);
  if (stored?.status !== "running" || stored.attempt !== run.attempt) return;
  const tokens = { inputTokens: stored.inputTokens + usage.inputTokens, outputTokens: stored.outputTokens + usage.outputTokens };
  if (failure !== null) {
    ports.log("step.failed", { run: runId(run.turn), step: run.step, attempt: run.attempt });
    finishRun(tx, stored, "failed", "error", failure, storeParts(parts, false));
    return;
  }
  insertAssistantStep(tx, run, storeParts(parts, true));
  tx.updateRun(run.turn, { step: run.step + 1, fruitless: 0, ...tokens }, { status: "running", attempt: run.attempt });
  for (const [index, part] of toolParts(parts).entries()) admitCall(ports, tx, run, index, part);
}

const toolParts = (parts: LivePart[]) => parts.filter((part): part is LivePart & { type: "tool" } => part.type === "tool");

/** Parts as the journal keeps them. Without calls, for a step that was cut: a call of it never was proposed. */
export function storeParts(parts: LivePart[], withCalls: boolean): StoredPart[] {
  let index = 0;
  return parts.flatMap((part): StoredPart[] => {
    if (part.type === "tool") return withCalls ? [{ type: "call", index: index++ }] : [];
    if (part.type === "other") return [{ ...part.chunk }];
    if (part.text === "" && part.providerMetadata === undefined) return [];
    return [{ type: part.type, text: part.text, state: "done", ...(part.providerMetadata === undefined ? {} : { providerMetadata: part.providerMetadata }) }];
  });
}

const STREAMED: ReadonlySet<string> = new Set([
  "text-start",
  "text-delta",
  "text-end",
  "reasoning-start",
  "reasoning-delta",
  "reasoning-end",
  "tool-input-start",
  "tool-input-delta",
  "tool-input-available",
  "tool-input-error",
  "source-url",
  "source-document",
]);

function countTokens(usage: { inputTokens: number; outputTokens: number }, chunk: Chunk): void {
  const metadata = chunk["messageMetadata"] as { usage?: { inputTokens?: number; outputTokens?: number } } | undefined;
  usage.inputTokens = metadata?.usage?.inputTokens ?? usage.inputTokens;
  usage.outputTokens = metadata?.usage?.outputTokens ?? usage.outputTokens;
}

/** Gives each call of a step an id of ours. A model's id that comes again after its input was complete is another call (C12). */
class CallIds {
  #byModelId = new Map<string, { id: string; complete: boolean }>();
  #next = 0;

  constructor(private readonly run: RunRow) {}

  get count(): number {
    return this.#next;
  }

  rename(chunk: Chunk): Chunk {
    if (!chunk.type.startsWith("tool-input")) return chunk;
    const theirs = String(chunk["toolCallId"]);
    const begins = chunk.type === "tool-input-start";
    const complete = chunk.type === "tool-input-available" || chunk.type === "tool-input-error";
    let known = this.#byModelId.get(theirs);
    if (!known || (known.complete && (begins || complete))) {
      known = { id: toolCallId(this.run.turn, this.run.step, this.#next++), complete: false };
      this.#byModelId.set(theirs, known);
    }
    known.complete ||= complete;
    return { ...chunk, toolCallId: known.id };
  }
}

/** Passes chunks on, and throws when none comes for too long, or the whole takes too long (H18). */
async function* untilTimeout(ports: Ports, chunks: AsyncIterable<Chunk>, abort: AbortController): AsyncIterable<Chunk> {
  const { clock, limits } = ports;
  const iterator = chunks[Symbol.asyncIterator]();
  const deadline = clock.now() + limits.modelStepMs;
  try {
    for (;;) {
      const patience = Math.min(limits.modelStallMs, deadline - clock.now());
      const next = await new Promise<IteratorResult<Chunk>>((resolve, reject) => {
        const timedOut = (): void => reject(new Error(`The model sent nothing for ${Math.round(patience / 1000)} seconds, so it was given up. Write again to try once more.`));
        const cancel = clock.after(Math.max(0, patience), timedOut);
        const aborted = (): void => reject(new Error("The answer was stopped."));
        abort.signal.addEventListener("abort", aborted, { once: true });
        iterator
          .next()
          .then(resolve, reject)
          .finally(() => {
            cancel();
            abort.signal.removeEventListener("abort", aborted);
          });
      });
      if (next.done) return;
      yield next.value;
    }
  } finally {
    // Not awaited: a model that hangs must not hold the run.
    void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}

/** What of a step that is being streamed can be kept when the run is cancelled. */
export function partialParts(run: RunRow, streaming: Streaming | null): StoredPart[] {
  const same = streaming && isLive(run) && streaming.live.id.runId === runId(run.turn) && streaming.live.id.attempt === run.attempt;
  return same ? storeParts(streaming.live.parts, false) : [];
}
