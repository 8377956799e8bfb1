import type { Call } from "./answer.ts";

// Words in a text that make the stand-in misbehave as real providers do:
//   "fail with 429"            the answer is that status; "fail once with 429" only to the first request
//   "wait 3600"                with that many seconds in Retry-After
//   "stall", "stall at once"   sends nothing more, after a few words or before the first one
//   "be cut", "be cut at once" the connection breaks
//   "end early"                the stream ends without a finish reason and without [DONE]
//   "be filtered"              ends with the reason content_filter; "write too much" with length
//   "break an event"           sends an event that is not JSON; "send an error" one that is an error
//   "decline"                 refuses in words, in the field that OpenAI has for that
//   "say nothing"              an answer of nothing; "only blanks" one of white space
//   "think"                    reasoning before the answer; "only think" reasoning and nothing else
//   "not json"                 the input of each call is cut in the middle
//   "ids: empty" (same, constructor, __proto__, long, emoji)   call ids of that kind
//   "odd name", "no name"      calls of a tool that can't be
//   "call as text"             writes its call as JSON text, as small models do
//   "no index"                sends each call whole, and without its index
//   "signed"                   calls carry a signature that must come back

export type Ending = "stop" | "length" | "content_filter" | "stall" | "cut" | "early" | "broken-event" | "error-event";

export interface Oddity {
  ending: Ending;
  refusal: { status: number; retryAfter: number | null; once: boolean } | null;
  text?: string;
  /** The text is a refusal of the model's. */
  declined?: boolean;
  /** Calls come whole and without their index. */
  indexless?: boolean;
  change?(call: Call, index: number): Call;
}

const ENDINGS: [RegExp, Ending][] = [
  [/\bstall\b/i, "stall"],
  [/\bbe cut\b/i, "cut"],
  [/\bend early\b/i, "early"],
  [/\bbe filtered\b/i, "content_filter"],
  [/\bwrite too much\b/i, "length"],
  [/\bbreak an event\b/i, "broken-event"],
  [/\bsend an error\b/i, "error-event"],
];

const IDS = new Map<string, (index: number) => string | null>([
  ["empty", () => ""],
  ["none", () => null],
  ["same", () => "call_1"],
  ["constructor", (index) => (index === 0 ? "constructor" : "toString")],
  ["__proto__", (index) => (index === 0 ? "__proto__" : "hasOwnProperty")],
  ["long", (index) => `${index}`.padEnd(300, "x")],
  ["emoji", (index) => "🙂".repeat(index + 1)],
]);

export function oddityOf(text: string): Oddity {
  const fails = /\bfail (once )?with (\d{3})\b/i.exec(text);
  const wait = /\bwait (\d+)\b/i.exec(text);
  const idOf = IDS.get(/\bids: (\w+)/i.exec(text)?.[1] ?? "");
  const silent = /\b(?:say nothing|only think|at once)\b/i.test(text);
  const blank = /\bonly blanks\b/i.test(text);
  return {
    ending: ENDINGS.find(([words]) => words.test(text))?.[1] ?? "stop",
    refusal: fails ? { status: Number(fails[2]), retryAfter: wait ? Number(wait[1]) : null, once: fails[1] !== undefined } : null,
    declined: /\bdecline\b/i.test(text),
    indexless: /\bno index\b/i.test(text),
    ...(silent && { text: "" }),
    ...(blank && { text: " \n " }),
    change: (call, index) => ({
      ...call,
      ...(idOf && { id: idOf(index) }),
      ...(/\bnot json\b/i.test(text) && { arguments: call.arguments.slice(0, -8) }),
      ...(/\bodd name\b/i.test(text) && { name: "functions.execute transfer 🚀" }),
      ...(/\bno name\b/i.test(text) && { name: "" }),
      ...(/\bsigned\b/i.test(text) && { signature: `signature-${index}` }),
    }),
  };
}
