import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { answerTo, wordsOf, type Answer } from "./answer.ts";
import { check, openAiRequest } from "./rules.ts";

// A stand-in for a server with OpenAI's chat-completions API: real HTTP on loopback, the real wire format, and the
// strictest rules that such servers have. `npm run tour -- --model openai-compatible/stand-in` and the tests use it.

/** The one model that it serves. */
export const STAND_IN = "stand-in";
const FRAGMENT = 9;

export interface OpenAiStandIn {
  /** For OPENAI_BASE_URL. */
  url: string;
  /** Bodies of the requests that passed the rules, oldest first. */
  requests: { messages: object[]; tools?: object[] | undefined }[];
  /** Why requests were answered 400. */
  broken: string[];
  /** Requests of every kind. */
  asked: number;
  close(): Promise<void>;
}

export interface StandInOptions {
  /** Refuses every other key; takes any when absent. */
  apiKey?: string;
  /** Pause between two events, in milliseconds. */
  delayMs?: number;
}

export async function startOpenAiStandIn({ apiKey, delayMs = 0 }: StandInOptions = {}): Promise<OpenAiStandIn> {
  const failed = new Set<string>();
  const server = createServer((request, response) => {
    standIn.asked += 1;
    void answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await jsonOf(request);
    if (request.method !== "POST" || request.url !== "/v1/chat/completions") return refuse(response, 404, `There is no ${request.method} ${request.url} here.`);
    if (apiKey !== undefined && request.headers.authorization !== `Bearer ${apiKey}`) return refuse(response, 401, "Incorrect API key provided.", "invalid_api_key");
    const checked = check(openAiRequest, body);
    if (!checked.ok) {
      standIn.broken.push(checked.reason);
      return refuse(response, 400, checked.reason);
    }
    const { model, messages, stream_options } = checked.value;
    if (model !== STAND_IN) return refuse(response, 404, `The model \`${model}\` does not exist or you do not have access to it.`, "model_not_found");
    const key = JSON.stringify(messages);
    const said = answerTo(messages);
    if (said.refusal && !(said.refusal.once && failed.has(key))) {
      failed.add(key);
      const { status, retryAfter } = said.refusal;
      return refuse(response, status, "The stand-in was asked to fail.", undefined, retryAfter === null ? {} : { "retry-after": String(retryAfter) });
    }
    standIn.requests.push(checked.value);
    await stream(response, said, stream_options?.include_usage === true, delayMs);
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const standIn: OpenAiStandIn = {
    url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/v1`,
    requests: [],
    broken: [],
    asked: 0,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return standIn;
}

async function jsonOf(request: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  try {
    return JSON.parse(Buffer.concat(pieces).toString());
  } catch {
    return null;
  }
}

function refuse(response: ServerResponse, status: number, message: string, code?: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify({ error: { message, type: status < 500 ? "invalid_request_error" : "server_error", param: null, code: code ?? null } }));
}

async function stream(response: ServerResponse, answer: Answer, withUsage: boolean, delayMs: number): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
  response.flushHeaders();
  response.write(": a comment, as gateways send to keep a connection alive\r\n\r\n");
  for (const event of eventsOf(answer, withUsage)) {
    // Cut between two bytes of one character, as a network does.
    const bytes = Buffer.from(`data: ${event}\n\n`);
    const cut = bytes.findIndex((byte: number) => byte >= 0x80) + 1;
    response.write(bytes.subarray(0, cut));
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    response.write(bytes.subarray(cut));
  }
  switch (answer.ending) {
    case "stall":
      return;
    case "cut":
      // What was written must leave first.
      await new Promise((resolve) => setTimeout(resolve, 20));
      response.destroy();
      return;
    default:
      response.end();
  }
}

/** The events of an answer, in OpenAI's order: role, reasoning, text, calls in fragments, finish reason, usage, [DONE]. */
function* eventsOf({ reasoning, text, calls, ending, indexless, declined }: Answer, withUsage: boolean): Generator<string> {
  const chunk = (choices: object[], more: object = {}) =>
    JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_790_000_000, model: STAND_IN, choices, ...more });
  const delta = (value: object) => chunk([{ index: 0, delta: value, finish_reason: null }]);
  yield delta({ role: "assistant", content: "" });
  for (const word of wordsOf(reasoning)) yield delta({ reasoning_content: word });
  for (const word of wordsOf(text)) yield delta(declined ? { refusal: word } : { content: word });
  for (const [index, { id, name, signature, arguments: input }] of calls.entries()) {
    if (indexless) {
      // As Google's server does.
      yield delta({ tool_calls: [{ id, type: "function", function: { name, arguments: input } }] });
      continue;
    }
    const begun = { index, type: "function", function: { name, arguments: "" }, ...(id !== null && { id }) };
    yield delta({ tool_calls: [{ ...begun, ...(signature && { extra_content: { google: { thought_signature: signature } } }) }] });
  }
  // Fragments of several calls come in turn, told apart by their index only.
  const longest = indexless ? 0 : Math.max(0, ...calls.map((call) => call.arguments.length));
  for (let from = 0; from < longest; from += FRAGMENT) {
    for (const [index, call] of calls.entries()) {
      const fragment = call.arguments.slice(from, from + FRAGMENT);
      if (fragment) yield delta({ tool_calls: [{ index, function: { arguments: fragment } }] });
    }
  }
  if (ending === "stall" || ending === "cut" || ending === "early") return;
  if (ending === "broken-event") yield '{"id":"chatcmpl-1","choices":[{"index":0,';
  if (ending === "error-event") yield JSON.stringify({ error: { message: "The stand-in was asked to break off.", type: "server_error", param: null, code: null } });
  yield chunk([{ index: 0, delta: {}, finish_reason: ending === "length" || ending === "content_filter" ? ending : calls.length > 0 ? "tool_calls" : "stop" }]);
  if (withUsage) yield chunk([], { usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } });
  yield "[DONE]";
}
