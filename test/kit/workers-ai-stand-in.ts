import { answerTo, wordsOf, type Answer } from "../../src/cli/stand-in/answer.js";
import { check, workersAiInputs, type Message } from "../../src/cli/stand-in/rules.js";

// A stand-in for the Workers AI binding. It answers in the three formats that models there have, by the name of the model:
//   @cf/stand-in/native    events {"response": …, "tool_calls": […]}, as Llama and Mistral models
//   @cf/stand-in/choices   events {"choices": [{"delta": …}]}, as newer models
//   @cf/stand-in/whole     one object and no stream, with inputs that are objects, as models that can't stream

export const WORKERS_AI_MODELS = ["@cf/stand-in/native", "@cf/stand-in/choices", "@cf/stand-in/whole"] as const;

/** What the binding throws for a failure, by the HTTP status that a test asks for. */
const CODES: Record<number, string> = {
  400: "5006: Error: oneOf at '/' not met, 0 matches",
  401: "5018: The account is not allowed to access this model",
  404: "5007: No such model @cf/stand-in/missing or task",
  408: "3007: Request timeout",
  429: "3040: Capacity temporarily exceeded, please try again.",
  430: "3036: You have used up your daily free allocation of 10,000 neurons, please upgrade to Cloudflare's Workers Paid plan if you would like to continue usage.",
  500: "error code: 1031",
};

class InferenceUpstreamError extends Error {
  override name = "InferenceUpstreamError";
}

export class WorkersAiStandIn {
  readonly requests: { messages: Message[] }[] = [];
  readonly broken: string[] = [];
  asked = 0;
  #failed = new Set<string>();

  get binding(): Ai {
    return this as unknown as Ai;
  }

  async run(model: string, inputs: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<unknown> {
    this.asked += 1;
    const checked = check(workersAiInputs, JSON.parse(JSON.stringify(inputs)));
    if (!checked.ok) {
      this.broken.push(checked.reason);
      throw new InferenceUpstreamError(`5006: Error: ${checked.reason}`);
    }
    if (!(WORKERS_AI_MODELS as readonly string[]).includes(model)) throw new InferenceUpstreamError(`5007: No such model ${model} or task`);
    const key = model + JSON.stringify(checked.value.messages);
    const answer = answerTo(checked.value.messages);
    if (answer.refusal && !(answer.refusal.once && this.#failed.has(key))) {
      this.#failed.add(key);
      throw new InferenceUpstreamError(CODES[answer.refusal.status] ?? `error code: ${answer.refusal.status}`);
    }
    this.requests.push(checked.value);
    if (model === "@cf/stand-in/whole") return whole(answer);
    return streamOf([...(model === "@cf/stand-in/native" ? native(answer) : choices(answer))], answer, signal);
  }
}

const USAGE = { usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } };

function* native({ text, calls, ending, indexless }: Answer): Generator<object | string> {
  for (const word of wordsOf(text)) yield { response: word, p: "abcd" };
  if (indexless) yield { response: "", tool_calls: calls.map(({ name, arguments: input }) => ({ name, arguments: JSON.parse(input) as object })) };
  for (const [index, { id, name, arguments: input }] of indexless ? [] : calls.entries()) {
    yield { response: "", tool_calls: [{ id, type: "function", index, function: { name } }] };
    yield { response: "", tool_calls: [{ index, function: { arguments: input.slice(0, 9) } }] };
    yield { response: "", tool_calls: [{ index, function: { arguments: input.slice(9) } }] };
    yield { response: "", tool_calls: [{ id: null, type: null, index, function: { name: null, arguments: "" } }] };
  }
  if (ending === "broken-event") yield '{"response":';
  if (ending === "length" || ending === "content_filter") yield { response: "", finish_reason: ending };
  yield { response: "", ...USAGE };
  yield "[DONE]";
}

function* choices({ reasoning, text, calls, ending }: Answer): Generator<object | string> {
  const delta = (value: object, finish_reason: string | null = null) => ({ id: "id-1", object: "chat.completion.chunk", choices: [{ index: 0, delta: value, finish_reason }] });
  for (const word of wordsOf(reasoning)) yield delta({ reasoning_content: word });
  for (const word of wordsOf(text)) yield delta({ content: word });
  for (const [index, { id, name, arguments: input }] of calls.entries()) {
    yield delta({ tool_calls: [{ id, type: "function", index, function: { name, arguments: "" } }] });
    for (let from = 0; from < input.length; from += 9) yield delta({ tool_calls: [{ index, function: { arguments: input.slice(from, from + 9) } }] });
  }
  if (ending === "broken-event") yield '{"choices":';
  yield delta({}, ending === "length" || ending === "content_filter" ? ending : calls.length > 0 ? "tool_calls" : "stop");
  yield { choices: [], ...USAGE };
  yield "[DONE]";
}

function whole({ text, calls, ending }: Answer): object {
  const parsed = (input: string): unknown => {
    try {
      return JSON.parse(input);
    } catch {
      return input;
    }
  };
  return {
    response: text || null,
    ...(calls.length > 0 && { tool_calls: calls.map(({ name, arguments: input }) => ({ name, arguments: parsed(input) })) }),
    ...((ending === "length" || ending === "content_filter") && { finish_reason: ending }),
    ...USAGE,
  };
}

function streamOf(events: (object | string)[], { ending }: Answer, signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  // A stream that breaks off has lost its end: the events that say that it is over.
  const sent =
    ending === "stall" || ending === "cut" || ending === "early" ? events.filter((event) => typeof event === "object" && !("usage" in event) && !finishes(event)) : events;
  return new ReadableStream({
    start(controller) {
      signal?.addEventListener("abort", () => controller.error(signal.reason));
    },
    pull(controller) {
      const event = sent.shift();
      if (event !== undefined) return controller.enqueue(encoder.encode(`data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`));
      if (ending === "stall") return new Promise(() => {});
      if (ending === "cut") return controller.error(new Error("Network connection lost."));
      controller.close();
    },
  });
}

const finishes = (event: object): boolean => "choices" in event && (event.choices as { finish_reason: unknown }[])[0]?.finish_reason !== null;
