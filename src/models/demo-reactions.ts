import type { ToldDecision, ToldOutcome } from "../core/outcome.js";
import type { Json } from "../protocol/json.js";
import type { Outcome } from "./demo-turn.js";

// What the demo says about the results of its calls. People's words are repeated exactly, in quotes.

const OUTCOMES = new Set(["succeeded", "answered", "rejected", "expired", "cancelled", "denied", "failed", "unknown"]);

/** One paragraph about what came of one call. `insists`: it will be proposed again. */
export function react({ tool, input, result }: Outcome, insists = false): string {
  if (!isTold(result)) return described(tool, input, result);
  const { outcome } = result;
  switch (outcome) {
    case "succeeded": {
      const { decision } = result;
      if (!decision) return described(tool, input, result.result);
      return [`Approved by ${who(decision)}.`, edits(decision), reply(decision), described(tool, decision.edited?.approved ?? input, result.result)].filter(Boolean).join(" ");
    }
    case "answered":
      return answered(result.decision, result.answer);
    case "rejected":
      return [
        `${sentenceCase(who(result.decision))} rejected ${subject(tool)}.`,
        reply(result.decision),
        insists ? "It did not run." : "It did not run, and I won't propose it again.",
      ]
        .filter(Boolean)
        .join(" ");
    case "expired":
      return `Nobody decided about ${subject(tool)} in time, so it did not run. Silence is not consent.`;
    case "cancelled":
      return `${sentenceCase(subject(tool))} was cancelled: ${result.message}`;
    case "denied":
      return `${sentenceCase(subject(tool))} was not allowed: ${result.message}`;
    case "failed":
      return [
        result.decision && `${sentenceCase(subject(tool))} was approved by ${who(result.decision)}, but failed:`,
        !result.decision && `${sentenceCase(subject(tool))} failed:`,
        result.message,
      ]
        .filter(Boolean)
        .join(" ");
    case "unknown":
      return [`It is not known whether ${subject(tool)} happened.`, result.message, result.decision && reply(result.decision)].filter(Boolean).join(" ");
  }
}

// A tool's own result may have a field `outcome` as well, but not with the rest of what is told.
const isTold = (result: unknown): result is ToldOutcome =>
  typeof result === "object" &&
  result !== null &&
  "outcome" in result &&
  typeof result.outcome === "string" &&
  OUTCOMES.has(result.outcome) &&
  ("decision" in result || "message" in result || result.outcome === "succeeded");

const who = ({ by = "a person", device }: ToldDecision = {}): string => (device ? `${by} on ${device}` : by);
const reply = ({ reply }: ToldDecision = {}): string => (reply ? `Their words: "${reply}"` : "");
const sentenceCase = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const shown = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

function edits({ by = "a person", edited }: ToldDecision): string {
  if (!edited) return "";
  const changes = edited.changed.map(({ path, from, to }) => `${path || "the input"} from ${shown(from)} to ${shown(to)}`);
  return `${sentenceCase(by)} changed it first: ${changes.join(", ")}.`;
}

function answered(decision: ToldDecision | undefined, answer: Json | undefined): string {
  if (decision === undefined || answer === undefined) return "";
  const by = who(decision);
  if (decision.choice !== undefined) return [`${sentenceCase(by)} chose ${JSON.stringify(decision.choice)}.`, reply(decision)].filter(Boolean).join(" ");
  if (typeof answer === "object" && answer !== null) {
    const fields = Object.entries(answer).map(([field, value]) => `${field}: ${shown(value as Json)}`);
    return [`${sentenceCase(by)} filled in ${fields.join(", ")}.`, reply(decision)].filter(Boolean).join(" ");
  }
  if (answer === "approved") return [`${sentenceCase(by)} approved.`, reply(decision)].filter(Boolean).join(" ");
  return `${sentenceCase(by)} answered: "${shown(answer)}"`;
}

const SUBJECTS: Record<string, string> = {
  execute_transfer: "the transfer",
  send_email: "the e-mail",
  http_request: "the request",
  list_accounts: "the look at the accounts",
  current_time: "the look at the clock",
  get_location: "the question where you are",
  wait_for_approval: "the question",
  ask_clarification: "the question",
};

const subject = (tool: string): string => SUBJECTS[tool] ?? `the call of ${tool}`;

// Results are data from outside; what does not have the expected fields is shown as it is.
function described(tool: string, input: unknown, result: unknown): string {
  const field = fields(result);
  switch (tool) {
    case "execute_transfer":
      if (typeof field["amount"] !== "number") break;
      return `Done: ${money(field["amount"])} ${field["currency"]} went from ${field["from"]} to ${field["to"]}.${balances(field)}`;
    case "list_accounts":
      if (!Array.isArray(field["accounts"])) break;
      return `The accounts:\n\n${field["accounts"].map((account) => `- ${fields(account)["id"]}: ${money(fields(account)["balance"])} ${fields(account)["currency"]}`).join("\n")}`;
    case "get_location":
      if (typeof field["latitude"] !== "number" || typeof field["longitude"] !== "number") break;
      return `You are at ${field["latitude"]}, ${field["longitude"]}, give or take ${field["accuracyMeters"]} m.`;
    case "current_time":
      if (typeof field["utc"] !== "string") break;
      return typeof field["local"] === "string" ? `It is ${field["local"]}.` : `It is ${field["utc"].replace("T", " ").slice(0, 16)} UTC.`;
    case "http_request":
      if (typeof field["status"] !== "number") break;
      return `${field["url"]} answered ${field["status"]}.${excerpt(field)}`;
    case "send_email":
      if (typeof field["to"] !== "string") break;
      return field["sent"] ? `The e-mail to ${field["to"]} is on its way.` : `The e-mail to ${field["to"]} is written. ${field["note"] ?? ""}`.trimEnd();
  }
  return `${sentenceCase(subject(tool))} is done: ${JSON.stringify(result) ?? "no result"}`;
}

const fields = (value: unknown): Record<string, unknown> => (typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {});

function balances(field: Record<string, unknown>): string {
  const entries = Object.entries(fields(field["balances"])).map(([account, balance]) => `${account} ${money(balance)} ${field["currency"]}`);
  return entries.length > 0 ? ` The balances now: ${entries.join(", ")}.` : "";
}

function excerpt(field: Record<string, unknown>): string {
  const redirect = fields(field["redirect"]);
  const notFollowed = typeof redirect["to"] === "string" ? ` It points to ${redirect["to"]}, where I did not go: ${redirect["notFollowed"]}.` : "";
  const body = typeof field["body"] === "string" ? field["body"].trim().slice(0, 200).replaceAll("`", "'") : "";
  return `${notFollowed}${body ? ` It begins:\n\n\`\`\`\n${body}\n\`\`\`` : ""}`;
}

const money = (amount: unknown): string =>
  typeof amount === "number" ? amount.toLocaleString("en-US", { minimumFractionDigits: amount % 1 === 0 ? 0 : 2, maximumFractionDigits: 2 }) : String(amount);
