import * as z from "zod";

// What a provider demands of a request. A stand-in answers 400 with the reason when a rule is broken, as the real
// one would; so a bad history fails whatever test sent it.

const TEXT = z.string().regex(/\S/, "is empty, or blank");
const NAME = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, "is not a legal name");
const ID = z.string().min(1).max(64);

const argumentsText = z.string().refine((text) => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}, "are not a JSON object");

const signature = z.strictObject({ google: z.strictObject({ thought_signature: z.string().min(1) }) });
const call = z.strictObject({ id: ID, type: z.literal("function"), function: z.strictObject({ name: NAME, arguments: argumentsText }), extra_content: signature.optional() });
const system = z.strictObject({ role: z.literal("system"), content: TEXT });
const user = z.strictObject({ role: z.literal("user"), content: TEXT });
const tools = z.array(
  z.strictObject({ type: z.literal("function"), function: z.strictObject({ name: NAME, description: TEXT, parameters: z.looseObject({ type: z.literal("object") }) }) }),
);

const openAiMessage = z.discriminatedUnion("role", [
  system,
  user,
  z.strictObject({ role: z.literal("assistant"), content: TEXT.nullable(), reasoning_content: TEXT.optional(), tool_calls: z.array(call).min(1).optional() }),
  z.strictObject({ role: z.literal("tool"), tool_call_id: ID, content: TEXT }),
]);

/** A body of `POST /chat/completions`. Stricter than most servers: what the strictest of them refuses is refused. */
export const openAiRequest = z.strictObject({
  model: z.string().min(1),
  messages: z.array(openAiMessage).min(1),
  tools: tools.min(1).optional(),
  tool_choice: z.enum(["auto", "none", "required"]).optional(),
  stream: z.literal(true),
  stream_options: z.strictObject({ include_usage: z.boolean() }).optional(),
});

const workersAiMessage = z.discriminatedUnion("role", [
  system,
  user,
  // The binding refuses a content of null; beside calls it is an empty string.
  z.strictObject({
    role: z.literal("assistant"),
    content: z.string(),
    reasoning: TEXT.optional(),
    tool_calls: z
      .array(call.omit({ extra_content: true }))
      .min(1)
      .optional(),
  }),
  z.strictObject({ role: z.literal("tool"), name: NAME, tool_call_id: ID, content: TEXT }),
]);

/** The inputs of `AI.run` for a text model. */
export const workersAiInputs = z.strictObject({
  messages: z.array(workersAiMessage).min(1),
  tools: tools.min(1).optional(),
  tool_choice: z.enum(["auto", "none", "required"]).optional(),
  stream: z.literal(true),
  max_tokens: z.undefined().optional(),
  temperature: z.undefined().optional(),
  top_p: z.undefined().optional(),
});

/** A message as both providers have it. */
export type Message = z.infer<typeof openAiMessage> | z.infer<typeof workersAiMessage>;

export type Checked<T> = { ok: true; value: T } | { ok: false; reason: string };

/** Parses a request and checks the order of its messages; the reason is for the 400. */
export function check<T extends { messages: Message[] }>(schema: z.ZodType<T>, body: unknown): Checked<T> {
  const parsed = schema.safeParse(body);
  if (!parsed.success) return { ok: false, reason: parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ") };
  const reason = disorder(parsed.data.messages);
  return reason === null ? { ok: true, value: parsed.data } : { ok: false, reason };
}

/** The first rule about the order of messages that is broken; null when none is. */
function disorder(messages: Message[]): string | null {
  const ids = new Set<string>();
  let open: string[] = [];
  let before: Message["role"] | null = null;
  for (const [index, message] of messages.entries()) {
    const at = (what: string) => `messages.${index}: ${what}`;
    if (message.role === "tool") {
      if (open[0] !== message.tool_call_id) return at(`a result of ${message.tool_call_id} where one of ${open[0] ?? "no call"} must stand`);
      open = open.slice(1);
    } else if (open.length > 0) return at(`a message of the ${message.role} where the result of ${open[0]} must stand`);
    else if (message.role === "system" && index > 0) return at("a system message that is not the first");
    else if ((before === null || before === "system") && message.role === "assistant") return at("the conversation begins with the assistant");
    else if (message.role === "user" && before === "tool") return at("a message of the user after a result, which only the assistant may answer");
    else if (message.role === before) return at(`two messages of the ${message.role} in a row`);
    if (message.role === "assistant") {
      if (!message.content && !message.tool_calls) return at("an assistant's message without text and without calls");
      for (const { id } of message.tool_calls ?? []) {
        if (ids.has(id)) return at(`the call id ${id} comes twice`);
        ids.add(id);
        open.push(id);
      }
    }
    before = message.role;
  }
  if (open.length > 0) return `the call ${open[0]} has no result`;
  return before === "user" || before === "tool" ? null : "the last message is not the user's and no result";
}
