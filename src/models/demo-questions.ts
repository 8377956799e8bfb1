import type { Reader } from "./demo-requests.js";

// Requests for the two tools that are questions themselves.

const TITLE_CHARACTERS = 80;

const approval: Reader = (clause) => {
  const match = /\b(?:ask|get|request|wait)\b(?:\s+me)?(?:\s+for)?\s+(?:an?\s+|my\s+)?approval\s*(to\b|for\b|before\b|of\b)?:?\s*(.*)$/is.exec(clause);
  if (!match) return null;
  const risk = /\b(low|medium|high)[ -]risk\b/i.exec(clause)?.[1]?.toLowerCase();
  const what = plain(match[2]?.replace(/[,(]?\s*\b(?:low|medium|high)[ -]risk\b\)?/i, "") ?? "") || "go on";
  const about = `${match[1]?.toLowerCase() ?? "to"} ${what}`;
  return waitForApproval(
    { title: title(what), description: `You told me to wait for approval **${about}**. Nothing of it has happened yet.`, ...(risk && { risk }) },
    `ask for approval ${about}`,
  );
};

const choice: Reader = (clause) => {
  const match = /\b(?:let me|have me|ask me to)\s+(?:choose|pick|decide|select)(?:\s+(?:one|a \w+))?\s*(?:between|from|among|of|:)?\s*(.+)$/is.exec(clause);
  const options = items(match?.[1] ?? "");
  if (!match || options.length < 2) return null;
  return waitForApproval(
    { kind: "choice", title: `Choose between ${listed(options)}`.slice(0, TITLE_CHARACTERS), description: "You asked me to let you choose.", options },
    `let you choose between ${listed(options)}`,
  );
};

const dataEntry: Reader = (clause) => {
  const match = /\b(?:let me|have me|ask me to)\s+(?:fill in|fill out|enter|provide|type in)\s+(.+)$/is.exec(clause);
  const fields = items(match?.[1] ?? "").map(field);
  if (!match || fields.length === 0) return null;
  const names = listed(fields.map(([name]) => name));
  return waitForApproval(
    { kind: "data_entry", title: `Fill in ${names}`.slice(0, TITLE_CHARACTERS), description: "You asked me for a form.", payload: Object.fromEntries(fields) },
    `ask you to fill in ${names}`,
  );
};

const clarification: Reader = (clause) => {
  const forThing = /\bask me\s+(?:for|about)\s+(?:(my|our|the|an?)\s+)?(.+)$/is.exec(clause);
  if (forThing) return ask(`What is ${forThing[1] && /my|our/i.test(forThing[1]) ? "your" : "the"} ${plain(forThing[2] ?? "")}?`);
  const match = /\bask me\s*:?\s*((?:which|what|who|whom|whose|when|where|how|why|whether|if)\b[^:]*)(?::\s*(.+))?$/is.exec(clause);
  if (!match) return null;
  const options = items(match[2] ?? "");
  return ask(`${capital(plain(match[1] ?? ""))}?`, options.length >= 2 ? options : undefined);
};

const ask = (question: string, options?: string[]) => ({ tool: "ask_clarification", input: { question, ...(options && { options }) }, intent: "ask you that" });

const waitForApproval = (input: object, intent: string) => ({ tool: "wait_for_approval", input, intent });

export const QUESTIONS: Reader[] = [approval, choice, dataEntry, clarification];

const NUMBERS = /^(seats?|count|number|amount|quantity|age|price|total|days?|people|size)$/i;
const SWITCHES = /^(confirmed|agreed?|accepted|active|enabled|urgent)$/i;

/** A field of the form with its first value: `seats=2` as given, else an empty value of the type its name suggests. */
function field(item: string): [string, unknown] {
  const [name = "", given] = item.split(/\s*=\s*/, 2);
  const key = name
    .trim()
    .replace(/^(?:the|my|a|an|number of)\s+/i, "")
    .replace(/\s+/g, "_");
  if (given !== undefined) return [key, /^(?:true|false|-?\d+(?:\.\d+)?)$/.test(given) ? JSON.parse(given) : given];
  return [key, NUMBERS.test(key) ? 0 : SWITCHES.test(key) ? false : ""];
}

const items = (list: string): string[] =>
  plain(list)
    .split(/\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+/i)
    .map((item) => item.trim().replace(/^["“](.*)["”]$/s, "$1"))
    .filter(Boolean);

export const listed = (names: string[]): string => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);
const plain = (text: string): string => text.trim().replace(/[.!?\s]+$/, "");
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function title(what: string): string {
  const text = capital(what);
  return text.length <= TITLE_CHARACTERS ? text : `${text.slice(0, TITLE_CHARACTERS - 1)}…`;
}
