import { oddityOf, type Oddity } from "./oddities.ts";
import type { Message } from "./rules.ts";

// What the stand-in says: a model in miniature, which proposes calls from plain requests and tells what came of them.

export interface Call {
  /** As the provider would give it; not unique, for real models' ids are not. */
  id: string | null;
  name: string;
  /** JSON text, or what stands in its place. */
  arguments: string;
  /** Must come back with the call, as it was. */
  signature?: string;
}

export interface Answer extends Oddity {
  reasoning: string;
  text: string;
  calls: Call[];
}

const TRANSFER = /\b(?:transfer|move|pay)\s+(\d+(?:\.\d+)?)\s*([a-z]{3})\s+from\s+([\w-]+)\s+to\s+([\w-]+)/gi;

/** The answer to a conversation whose messages have passed the rules. */
export function answerTo(messages: Message[]): Answer {
  const last = messages.at(-1);
  if (last?.role !== "user") return { reasoning: "", text: resultsOf(messages).map(told).join("\n\n"), calls: [], ending: "stop", refusal: null };
  // Texts that stayed unanswered come along in one message, the newest last.
  const text = last.content.trim().split("\n").at(-1) ?? "";
  const odd = oddityOf(text);
  if (/\bcall as text\b/i.test(text)) return { ...odd, reasoning: "", text: JSON.stringify(callsFor(text)), calls: [] };
  const calls = callsFor(text).map(({ name, input }, index): Call => ({ id: `call_${index + 1}`, name, arguments: JSON.stringify(input) }));
  return {
    reasoning: /\bthink\b/i.test(text) ? "The person wants me to think, so this is a thought." : "",
    text:
      calls.length > 0
        ? `I will make ${calls.length === 1 ? "one call" : `${calls.length} calls`} for that.`
        : `I am a stand-in for a model and have nothing to do for “${text.slice(0, 60)}”.`,
    ...odd,
    calls: odd.change ? calls.map(odd.change) : calls,
  };
}

function callsFor(text: string): { name: string; input: object }[] {
  const calls: { name: string; input: object }[] = [];
  for (const [, amount, currency = "", from, to] of text.matchAll(TRANSFER)) {
    calls.push({ name: "execute_transfer", input: { from, to, amount: Number(amount), currency: currency.toUpperCase() } });
  }
  if (/\b(?:accounts|balances)\b/i.test(text)) calls.push({ name: "list_accounts", input: {} });
  if (/\bwhat time\b/i.test(text)) calls.push({ name: "current_time", input: {} });
  const address = /\bmail\s+(\S+@[\w.-]+\w)/i.exec(text)?.[1];
  if (address) calls.push({ name: "send_email", input: { to: address, subject: "A message", body: text } });
  const url = /\bfetch\s+(https?:\S+)/i.exec(text)?.[1];
  if (url) calls.push({ name: "http_request", input: { method: "GET", url } });
  const question = /\bask me\s+(.+)/i.exec(text)?.[1];
  if (question) calls.push({ name: "ask_clarification", input: { question: `${question.replace(/[.?!]+$/, "")}?` } });
  const approval = /\bapproval to\s+(.+)/i.exec(text)?.[1];
  if (approval) calls.push({ name: "wait_for_approval", input: { title: approval.slice(0, 80), description: "You asked me to wait for it." } });
  return calls;
}

function resultsOf(messages: Message[]): { name: string; content: string }[] {
  const at = messages.findLastIndex((message) => message.role === "assistant");
  const asked = messages[at];
  const names = new Map(asked?.role === "assistant" ? asked.tool_calls?.map(({ id, function: { name } }) => [id, name] as const) : []);
  return messages.slice(at + 1).flatMap((message) => (message.role === "tool" ? [{ name: names.get(message.tool_call_id) ?? "a tool", content: message.content }] : []));
}

interface Told {
  outcome?: unknown;
  message?: unknown;
  result?: unknown;
  answer?: unknown;
  decision?: { by?: unknown; device?: unknown; reply?: unknown };
}

function told({ name, content }: { name: string; content: string }): string {
  const value = JSON.parse(content) as Told;
  if (typeof value !== "object" || value === null || typeof value.outcome !== "string") return `${name} answered ${content}.`;
  const { decision } = value;
  return [
    `${name}: ${value.outcome}.`,
    decision && `${decision.by}${decision.device ? ` on ${decision.device}` : ""} decided.`,
    decision?.reply && `Their words: "${decision.reply}"`,
    value.message,
    value.result !== undefined && `The result: ${JSON.stringify(value.result)}`,
    value.answer !== undefined && `The answer: ${JSON.stringify(value.answer)}`,
  ]
    .filter(Boolean)
    .join(" ");
}

/** Words with the blanks before them; text of blanks only is one. */
export const wordsOf = (text: string): string[] => text.match(/\s*\S+|\s+$/g) ?? [];
