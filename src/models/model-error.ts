import { APICallError, InvalidResponseDataError, JSONParseError, StreamProviderError, TypeValidationError } from "ai";

/** A model call that failed. The message is for people: what happened and what to do next. */
export class ModelError extends Error {
  override name = "ModelError";
}

const MESSAGE_CHARACTERS = 300;

/** What a failed model call means for the person who waits for the answer. */
export function explainModelError(error: unknown): ModelError {
  return error instanceof ModelError ? error : new ModelError(sentence(error), { cause: error });
}

function sentence(error: unknown): string {
  if (UNREADABLE.some((kind) => kind.isInstance(error))) return `The model's provider sent something that can't be read. ${AGAIN}`;
  if (StreamProviderError.isInstance(error))
    return error.statusCode === undefined ? `The model's provider broke the answer off: ${messageOf(error)} ${AGAIN}` : answered(error.statusCode, messageOf(error), 0);
  if (APICallError.isInstance(error)) return isWorkersAi(error) ? ofWorkersAi(error) : answered(error.statusCode, messageOf(error), retryAfterMs(error) ?? 0);
  if (isTimeout(error)) return `The model's provider did not answer in time. ${AGAIN}`;
  if (isBrokenConnection(error)) return CUT_OFF;
  return `The model failed: ${messageOf(error)} ${AGAIN}`;
}

const AGAIN = "Write again to try once more.";
const IF_IT_GOES_ON = "If it goes on, whoever runs this deployment must";
export const CUT_OFF = `The answer was cut off before its end. ${AGAIN}`;

/** Answers that are no answer: broken JSON, a shape that is none of the API's. A stream without its end is told apart before this. */
const UNREADABLE = [JSONParseError, TypeValidationError, InvalidResponseDataError];

function answered(status: number | undefined, message: string, waitMs: number): string {
  switch (status) {
    case 200:
      return CUT_OFF;
    case undefined:
      return `The model's provider could not be reached: ${message} ${AGAIN} ${IF_IT_GOES_ON} check OPENAI_BASE_URL.`;
    case 401:
    case 403:
      return `The model's provider refused the key, or wants one (${status}). Whoever runs this deployment must check OPENAI_API_KEY.`;
    case 404:
      return "The model's provider does not know this model (404). Whoever runs this deployment must check the settings MODEL and OPENAI_BASE_URL.";
    case 408:
    case 504:
      return `The model's provider did not answer in time (${status}). ${AGAIN}`;
    case 413:
      return tooLong(status);
    case 429:
      return `The model's provider has more requests than it allows (429). Write again ${waitMs > 0 ? `in ${duration(waitMs)}` : "in a while"}.`;
    default:
      if (status >= 500) return `The model's provider has a fault (${status}). ${AGAIN}`;
      if (/context.{0,3}(?:length|window)|too many tokens|prompt is too long/i.test(message)) return tooLong(status);
      return `The model's provider refused the request (${status}): ${message} ${AGAIN} ${IF_IT_GOES_ON} look into it.`;
  }
}

const tooLong = (status: number): string => `The conversation is too long for the model (${status}). Begin a new one, or have MODEL_CONTEXT_TOKENS lowered.`;

function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 120) return `${seconds} second${seconds === 1 ? "" : "s"}`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`;
}

// The binding throws its own codes, and has no key; its provider turns those that it knows into HTTP statuses.
const isWorkersAi = (error: APICallError): boolean => error.url.startsWith("workers-ai:");

/** Whether the day's allowance of Workers AI is gone: a 429 that waiting does not mend. */
export const isUsedUp = (error: APICallError): boolean => isWorkersAi(error) && /\b3036\b/.test(messageOf(error));

function ofWorkersAi(error: APICallError): string {
  const said = messageOf(error);
  if (/\b5007\b/.test(said)) return "Workers AI does not know this model (5007). Whoever runs this deployment must check the setting MODEL.";
  if (isUsedUp(error)) return "The account has used up what Workers AI gives it for today (3036). Whoever runs this deployment can raise the limit; it is reset at 00:00 UTC.";
  if (error.statusCode === 403) return `Workers AI does not let this account use the model: ${said} Whoever runs this deployment must check it.`;
  return error.statusCode === undefined ? `Workers AI could not answer: ${said} ${AGAIN} ${IF_IT_GOES_ON} look into it.` : answered(error.statusCode, said, 0);
}

/** How long the provider asks to wait, from its headers; null when it doesn't say. */
export function retryAfterMs(error: APICallError): number | null {
  const headers = error.responseHeaders ?? {};
  const milliseconds = Number.parseFloat(headers["retry-after-ms"] ?? "");
  if (milliseconds >= 0) return milliseconds;
  const after = headers["retry-after"] ?? "";
  const wait = /^\s*[\d.]+\s*$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.now();
  return wait >= 0 ? wait : null;
}

// What `fetch` and a binding's stream throw when the other side goes away in mid-stream.
const isBrokenConnection = (error: unknown) => error instanceof Error && /^(?:terminated|network connection lost|.*\bother side closed\b|.*\bECONNRESET\b)/i.test(error.message);

const isTimeout = (error: unknown) => error instanceof Error && error.name === "TimeoutError";

/** The provider's own words as a sentence, cut; its body where it gave no message. */
function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : typeof error === "string" ? error : "";
  const said = (message || (APICallError.isInstance(error) && error.responseBody) || "it gave no reason").trim();
  if (said.length > MESSAGE_CHARACTERS) return `${said.slice(0, MESSAGE_CHARACTERS)}…`;
  return /[.!?…]$/.test(said) ? said : `${said}.`;
}
