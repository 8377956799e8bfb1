import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart, LanguageModelV4StreamResult } from "@ai-sdk/provider";
import { specialOf } from "./demo-phrases.js";
import { listed } from "./demo-questions.js";
import { react } from "./demo-reactions.js";
import { readRequests } from "./demo-requests.js";
import { currentTurn, type Turn } from "./demo-turn.js";

// The embedded model: no network, no key, the same answer to the same words. It reads plain requests by
// pattern (demo-requests.ts) and tells what came of them (demo-reactions.ts). It is for trying and testing.
//
// Phrases for the tour and for tests, beside the requests that each tool has:
//   "insist"               proposes a call again, unchanged, whenever a person rejected it
//   "say 40 words"         streams that many words; "slowly" streams 400
//   "think first"          streams a line of reasoning before the answer
//   "broken call"          proposes execute_transfer with an input that is not JSON
//   "unknown tool"         proposes a tool that does not exist
//   "fail after 10 words"  the provider fails in mid-answer; "fail at once" before its first word
//   "say nothing"          an answer without a word

export interface DemoSettings {
  /** Pause between words, so that streaming can be seen. 0: as fast as it is read. */
  delayMs?: number;
}

/** What the demo does in one step. */
interface Answer {
  thought?: string;
  text: string;
  calls: { tool: string; input: string }[];
  /** Fails after the text, with this message. */
  failure?: string;
}

export function demoModel({ delayMs = 0 }: DemoSettings = {}): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "holdpoint",
    modelId: "demo",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("The demo model only streams.")),
    async doStream(options): Promise<LanguageModelV4StreamResult> {
      return { stream: streamOf(partsOf(options), delayMs, options.abortSignal) };
    },
  };
}

function* partsOf(options: LanguageModelV4CallOptions): Generator<LanguageModelV4StreamPart> {
  const turn = currentTurn(options.prompt);
  const offered = new Set((options.tools ?? []).map((tool) => tool.name));
  const { thought, text, calls, failure } = answer(turn, offered);
  yield { type: "stream-start", warnings: [] };
  if (thought) yield* spoken("reasoning", thought);
  if (text) yield* spoken("text", text);
  if (failure) {
    yield { type: "error", error: new Error(failure) };
    return;
  }
  for (const [index, { tool, input }] of calls.entries()) {
    const id = `call_${index + 1}`;
    yield { type: "tool-input-start", id, toolName: tool };
    yield { type: "tool-input-delta", id, delta: input };
    yield { type: "tool-input-end", id };
    yield { type: "tool-call", toolCallId: id, toolName: tool, input };
  }
  const read = Math.ceil(JSON.stringify(options.prompt).length / 4);
  const written = words(text).length + calls.length;
  yield {
    type: "finish",
    finishReason: { unified: calls.length > 0 ? "tool-calls" : "stop", raw: undefined },
    usage: {
      inputTokens: { total: read, noCache: read, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: written, text: written, reasoning: undefined },
    },
  };
}

function* spoken(kind: "text" | "reasoning", text: string): Generator<LanguageModelV4StreamPart> {
  const id = `${kind}_1`;
  yield { type: `${kind}-start`, id };
  for (const delta of words(text)) yield { type: `${kind}-delta`, id, delta };
  yield { type: `${kind}-end`, id };
}

const words = (text: string): string[] => text.match(/\s*\S+/g) ?? [];

function answer(turn: Turn, offered: ReadonlySet<string>): Answer {
  const told = turn.decisions.map((decision) => `I was told: ${decision}.`);
  const reactions = [...told, ...turn.outcomes.map((outcome) => react(outcome, turn.insists)).filter(Boolean)];
  if (turn.texts.length === 0) {
    const again = turn.insists ? turn.outcomes.filter(({ refused }) => refused).map(({ tool, input }) => ({ tool, input: JSON.stringify(input) })) : [];
    return { text: [...reactions, ...(again.length > 0 ? ["I insist, and propose the same again."] : [])].join("\n\n"), calls: again };
  }
  const requests = turn.texts.flatMap(readRequests);
  // Texts that an earlier, failed run left unanswered come along; its phrase must not make this run fail too.
  const special = specialOf(turn.texts.at(-1) ?? "");
  const possible = requests.filter(({ tool }) => offered.has(tool));
  const missing = requests.filter(({ tool }) => !offered.has(tool));
  const paragraphs = [
    ...reactions,
    ...(special?.text ? [special.text] : []),
    ...(possible.length > 0 ? [`I will ${listed(possible.map(({ intent }) => intent))}.`] : []),
    ...missing.map(({ intent, tool }) => `I can't ${intent}: the tool ${tool} is not among mine in this conversation.`),
    ...(requests.length === 0 && !special ? [help(offered, /^\s*help\b/i.test(turn.texts.at(-1) ?? ""))] : []),
  ];
  const calls = [...possible.map(({ tool, input }) => ({ tool, input: JSON.stringify(input) })), ...(special?.calls ?? [])];
  return { ...special, text: special?.silent ? "" : paragraphs.join("\n\n"), calls };
}

const EXAMPLES: [tool: string, example: string][] = [
  ["execute_transfer", "Transfer 250 EUR from operations to savings"],
  ["list_accounts", "List the accounts"],
  ["send_email", "E-mail bob@example.com that the invoice is paid"],
  ["http_request", "Fetch https://example.com"],
  ["current_time", "What time is it in Berlin?"],
  ["get_location", "Where am I?"],
  ["ask_clarification", "Ask me which colour: red, green or blue"],
  ["wait_for_approval", "Ask for approval to deploy version 3"],
  ["wait_for_approval", "Let me choose between tea and coffee"],
  ["wait_for_approval", "Ask me to fill in name and seats"],
];

function help(offered: ReadonlySet<string>, asked: boolean): string {
  const examples = EXAMPLES.filter(([tool]) => offered.has(tool)).map(([, example]) => `- ${example}`);
  const intro = asked
    ? "I am a demo: a small offline program in place of a language model."
    : "I am a demo: a small offline program in place of a language model, and I did not understand that.";
  return examples.length > 0 ? `${intro} These I do understand, also several in one message:\n\n${examples.join("\n")}` : intro;
}

function streamOf(parts: Generator<LanguageModelV4StreamPart>, delayMs: number, signal?: AbortSignal): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = parts.next();
        if (done) return controller.close();
        if (delayMs > 0 && "delta" in value) await new Promise((resolve) => setTimeout(resolve, delayMs));
        if (signal?.aborted) return controller.error(signal.reason);
        controller.enqueue(value);
      },
    },
    // Nothing is made before it is asked for: a consumer that stops reading stops the demo.
    { highWaterMark: 0 },
  );
}
