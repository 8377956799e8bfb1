import type { ModelMessage } from "ai";
import type { Model } from "../core/model.js";

// A person may write before the model has answered its calls' results: the run was cancelled, or the card withdrawn.
// Mistral's API, and the chat templates of several models, take nothing but the assistant's word after a result.
const UNANSWERED: ModelMessage = { role: "assistant", content: [{ type: "text", text: "(A new message came before I had answered these results.)" }] };

/** The same model, given histories in which roles take turns after results too. */
export function answeringResults(model: Model): Model {
  return (request) =>
    model({
      ...request,
      messages: request.messages.flatMap((message, index, all) => (message.role === "user" && all[index - 1]?.role === "tool" ? [UNANSWERED, message] : [message])),
    });
}
