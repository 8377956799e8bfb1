import { APICallError } from "ai";

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
  if (!APICallError.isInstance(error)) {
    if (isTimeout(error)) return "The model's provider did not answer in time. Write again to try once more.";
    return `The model failed: ${messageOf(error)}`;
  }
  const status = error.statusCode;
  switch (status) {
    case undefined:
      return `The model's provider could not be reached: ${messageOf(error)}`;
    case 401:
    case 403:
      return `The model's provider refused the key (${status}). Whoever runs this deployment must check it.`;
    case 404:
      return "The model's provider does not know this model (404). Whoever runs this deployment must check the setting MODEL.";
    case 408:
    case 504:
      return `The model's provider did not answer in time (${status}). Write again to try once more.`;
    case 413:
      return "The conversation is too long for the model's provider (413).";
    case 429: {
      const seconds = Math.ceil((retryAfterMs(error) ?? 0) / 1000);
      return `The model's provider has more requests than it allows (429). Write again ${seconds > 0 ? `in ${seconds} seconds` : "in a while"}.`;
    }
    default:
      return status >= 500
        ? `The model's provider has a fault (${status}). Write again to try once more.`
        : `The model's provider refused the request (${status}): ${messageOf(error)}`;
  }
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

const isTimeout = (error: unknown) => error instanceof Error && error.name === "TimeoutError";

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : typeof error === "string" ? error : "it gave no reason.";
  return message.length > MESSAGE_CHARACTERS ? `${message.slice(0, MESSAGE_CHARACTERS)}…` : message;
}
