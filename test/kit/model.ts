import type { ModelMessage } from "ai";
import type { Model, ModelRequest } from "../../src/core/model.js";
import type { Chunk } from "../../src/protocol/frames.js";

// A model that answers from a script: one entry a call, each a list of chunks or what to do instead.

export type Answer = Chunk[] | { hang: true } | { throws: string; after?: Chunk[] } | ((request: ModelRequest) => AsyncIterable<Chunk> | Chunk[]);

export const say = (text: string): Chunk[] => [
  { type: "text-start", id: "t" },
  ...text.split(/(?<= )/).map((delta) => ({ type: "text-delta", id: "t", delta })),
  { type: "text-end", id: "t" },
];

let callNumber = 0;

/** A proposed call, with a model's id of its own unless one is given. */
export const propose = (toolName: string, input: unknown, id = `call_${(callNumber += 1)}`): Chunk[] => [{ type: "tool-input-available", toolCallId: id, toolName, input }];

export class ScriptedModel {
  readonly requests: ModelRequest[] = [];
  #answers: Answer[] = [];

  plan(...answers: Answer[]): this {
    this.#answers.push(...answers);
    return this;
  }

  get left(): number {
    return this.#answers.length;
  }

  readonly model: Model = (request) => {
    this.requests.push(structuredClone({ ...request, signal: undefined }) as unknown as ModelRequest);
    checkHistory(request.messages);
    const answer = this.#answers.shift() ?? say("Done.");
    return answerWith(answer, request);
  };

  /** What the model was told in the newest result of a tool. */
  lastResult(tool?: string): unknown {
    const results = (this.requests.at(-1)?.messages ?? []).flatMap((message) => (message.role === "tool" ? message.content : []));
    const last = results.findLast((part) => part.type === "tool-result" && (tool === undefined || part.toolName === tool));
    return last?.type === "tool-result" && last.output.type === "json" ? last.output.value : undefined;
  }
}

async function* answerWith(answer: Answer, request: ModelRequest): AsyncGenerator<Chunk> {
  if (typeof answer === "function") return yield* answer(request);
  if (Array.isArray(answer)) return yield* answer;
  if ("hang" in answer) {
    await new Promise((_, reject) => request.signal.addEventListener("abort", () => reject(new Error("aborted"))));
    return;
  }
  yield* answer.after ?? [];
  throw new Error(answer.throws);
}

/** H14, checked at every model call of every test: one result per call, and never an assistant's message last. */
export function checkHistory(messages: ModelMessage[]): void {
  const calls: string[] = [];
  const results: string[] = [];
  for (const message of messages) {
    if (typeof message.content === "string") continue;
    for (const part of message.content) {
      if (part.type === "tool-call") calls.push(part.toolCallId);
      if (part.type === "tool-result") results.push(part.toolCallId);
    }
  }
  if (JSON.stringify(calls) !== JSON.stringify(results)) throw new Error(`[H14] calls ${calls} have results ${results}`);
  if (messages.at(-1)?.role === "assistant" || messages.length === 0) throw new Error("[H14] the history ends with the assistant");
}
