import { QUESTIONS } from "./demo-questions.js";

// Plain English to tool calls, by pattern. A message is cut into clauses, each clause is one request.

/** One request that the demo understood. */
export interface Request {
  tool: string;
  input: object;
  /** Completes "I will …". */
  intent: string;
}

/** Reads one clause; null when it is not this kind of request. */
export type Reader = (clause: string) => Request | null;

/** Every request in a text, in its order. */
export function readRequests(text: string): Request[] {
  return clauses(text).flatMap((clause) => firstOf(clause) ?? []);
}

function firstOf(clause: string): Request | null {
  for (const reader of READERS) {
    const request = reader(clause);
    if (request) return request;
  }
  return null;
}

const VERB = String.raw`transfer|move|wire|pay|e-?mail\s+\S+@|mail\s+\S+@|send|write|what(?:'s| is| day| time)|where am|list|show|check|fetch|get|open|download|post|put|patch|delete|head|ask|request|wait|let me|use\s+[a-z0-9-]+_|\d[\d.,]*\s*(?:eur|usd|gbp|euros?|dollars?|pounds?|[€$£])?\s+(?:from|to)\b`;
// Only where the next words begin a request: "red, green and blue" and "Tom and Ann" stay whole.
const BOUNDARY = new RegExp(String.raw`(?:[.;!?]\s+|\n+|,?\s+(?:and|then|also)\s+(?:then\s+|also\s+)?|,\s+)(?=(?:please\s+|could you\s+|can you\s+)?(?:${VERB}))`, "gi");
const QUOTED = /"[^"]*"|“[^”]*”|\{[^}]*\}/g;

function clauses(text: string): string[] {
  // What stands in quotes or braces is somebody's text, not a request.
  const masked = text.replace(QUOTED, (quoted) => "_".repeat(quoted.length));
  const cuts = [...masked.matchAll(BOUNDARY)].map((match) => ({ end: match.index, next: match.index + match[0].length }));
  const starts = [0, ...cuts.map(({ next }) => next)];
  return starts.map((start, index) => text.slice(start, cuts[index]?.end).trim());
}

const AMOUNT = String.raw`([€$£]?)\s*(\d+(?:[.,]\d+)*)\s*(euros?|dollars?|pounds?|[a-z]{3}(?=\s)|[€$£])?`;
const ACCOUNT = String.raw`(?:the\s+|my\s+|our\s+)?(?:account\s+)?("[^"]+"|supplier nordwind|[\p{L}\d][\p{L}\d_-]*)(?:\s+account)?`;
const FROM_TO = new RegExp(String.raw`${AMOUNT}\s+from\s+${ACCOUNT}\s+(?:in)?to\s+${ACCOUNT}`, "iu");
const TO_FROM = new RegExp(String.raw`${AMOUNT}\s+(?:in)?to\s+${ACCOUNT}\s+from\s+${ACCOUNT}`, "iu");
const CURRENCIES: Record<string, string> = { "€": "EUR", euro: "EUR", euros: "EUR", $: "USD", dollar: "USD", dollars: "USD", "£": "GBP", pound: "GBP", pounds: "GBP" };

const transfer: Reader = (clause) => {
  const forwards = FROM_TO.exec(clause);
  const match = forwards ?? TO_FROM.exec(clause);
  if (!match) return null;
  const [, sign = "", digits = "", word = "", first = "", second = ""] = match;
  const [from, to] = (forwards ? [first, second] : [second, first]).map(accountName);
  const unit = (sign || word).toLowerCase();
  const currency = CURRENCIES[unit] ?? (unit.toUpperCase() || "EUR");
  const amount = readAmount(digits);
  return { tool: "execute_transfer", input: { from, to, amount, currency }, intent: `transfer ${amount} ${currency} from ${from} to ${to}` };
};

const accountName = (name: string): string =>
  unquoted(name)
    .toLowerCase()
    .replace("supplier nordwind", "supplier-nordwind")
    .replace(/^nordwind$/, "supplier-nordwind");

/** "1,250.50" and "12,5" are both read as people mean them. */
function readAmount(digits: string): number {
  return Number(/^\d+,\d{1,2}$/.test(digits) ? digits.replace(",", ".") : digits.replaceAll(",", ""));
}

const ADDRESS = /([\w.+'-]+@[\w-]+(?:\.[\w-]+)+)/;

const email: Reader = (clause) => {
  const match = /\b(?:e-?mail|mail|write|send)\b/i.test(clause) ? ADDRESS.exec(clause) : null;
  if (!match) return null;
  const to = match[1] ?? "";
  const rest = clause.slice(match.index + match[0].length);
  const subject = /\bsubject:?\s+("[^"]+"|“[^”]+”|\S+)/i.exec(rest);
  const said = /(?:\bthat\b|\bsaying\b|\bto say\b|:)\s*(?:that\s+)?(.+)$|("[^"]+"|“[^”]+”)/is.exec(subject ? rest.replace(subject[0], "") : rest);
  const words = said?.[1] ?? said?.[2] ?? "Hello from the demo agent.";
  const body = /^["“]/.test(words) ? unquoted(words) : sentence(words);
  return {
    tool: "send_email",
    input: { to, subject: subject ? unquoted(subject[1] ?? "") : body.replace(/\s+/g, " ").slice(0, 60).replace(/[.!]$/, ""), body },
    intent: `send an e-mail to ${to}`,
  };
};

const http: Reader = (clause) => {
  const match = /\b[a-z][a-z+.-]*:\/\/[^\s"<>]+/i.exec(clause);
  if (!match) return null;
  const url = match[0].replace(/[.,;!?)]+$/, "");
  const method = /\b(post|put|patch|delete|head)\b/i.exec(clause.slice(0, match.index))?.[1]?.toUpperCase() ?? "GET";
  const body = /(?:\bwith\b|\bbody\b|:)\s*(?:the\s+)?(?:body\s+)?("[^"]*"|“[^”]*”|\{.*\})/is.exec(clause.replace(match[0], ""))?.[1];
  const sends = method !== "GET" && method !== "HEAD" && body !== undefined;
  return { tool: "http_request", input: { url, method, ...(sends && { body: unquoted(body) }) }, intent: method === "GET" ? `fetch ${url}` : `send a ${method} to ${url}` };
};

const accounts: Reader = (clause) =>
  /\b(accounts?|balances?|ledger)\b/i.test(clause) && /\b(list|show|what|which|check|get|how much|see|look)\b/i.test(clause)
    ? { tool: "list_accounts", input: {}, intent: "look at the accounts" }
    : null;

const ZONES: Record<string, string> = {
  berlin: "Europe/Berlin",
  london: "Europe/London",
  paris: "Europe/Paris",
  "new york": "America/New_York",
  tokyo: "Asia/Tokyo",
  sydney: "Australia/Sydney",
  delhi: "Asia/Kolkata",
};

const time: Reader = (clause) => {
  if (!/\b(what time|(?:current|the) time|what(?:'s| is) the (?:time|date)|what day|today's date|the date)\b/i.test(clause)) return null;
  const place = /\bin\s+([A-Za-z]+\/[\w/+-]+|[A-Za-z]+(?: York)?)/i.exec(clause)?.[1] ?? "";
  const timeZone = place.includes("/") ? place : ZONES[place.toLowerCase()];
  return { tool: "current_time", input: timeZone ? { timeZone } : {}, intent: `look at the clock${timeZone ? ` in ${timeZone}` : ""}` };
};

const location: Reader = (clause) =>
  /\bwhere am i\b|\bmy (?:location|position)\b/i.test(clause)
    ? { tool: "get_location", input: { reason: "You asked where you are" }, intent: "ask your device where you are" }
    : null;

// Tools of MCP servers are not known here: they are called by name, with their input as JSON.
const byName: Reader = (clause) => {
  const match = /^(?:please\s+)?(?:use|call)\s+([a-z][\w-]{0,63})(?:\s+with\s+(\{.*\}))?[.!]?$/is.exec(clause);
  if (!match?.[1]) return null;
  try {
    return { tool: match[1], input: JSON.parse(match[2] ?? "{}") as object, intent: `use ${match[1]}` };
  } catch {
    return null;
  }
};

// What an e-mail is to say may read like a request; a question may be about an e-mail.
const plainEmail: Reader = (clause) => (/^(?:please\s+|could you\s+|can you\s+)?(?:e-?mail|mail|write|send)\b/i.test(clause) ? email(clause) : null);

const READERS: Reader[] = [byName, plainEmail, ...QUESTIONS, http, transfer, email, time, accounts, location];

const unquoted = (text: string): string => text.trim().replace(/^["“](.*)["”]$/s, "$1");

/** With a capital in front and a stop at its end. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  const capital = trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.!?…]$/.test(capital) ? capital : `${capital}.`;
}
