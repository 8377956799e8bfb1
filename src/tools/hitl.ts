import * as z from "zod";
import type { Json } from "../protocol/json.js";
import { risk } from "../protocol/entities.js";
import { definePausingTool } from "./define-tool.js";

const TITLE_CHARACTERS = 80;

const options = z
  .array(z.union([z.string().max(200), z.number(), z.boolean()]))
  .min(2)
  .max(20)
  .refine((values) => new Set(values).size === values.length, "the options must differ");

const ONLY_UNGATED =
  "Most tools stop by themselves when a person must approve them: just call the tool then, and don't ask here first. " +
  "An approval given here authorises no tool. Nobody answering is not consent, and a rejected question is not asked again.";

export const waitForApproval = definePausingTool({
  name: "wait_for_approval",
  description:
    "Stop and wait for a person's decision about something that no tool of yours asks about itself: a plan, a text, a choice. " +
    "kind approval: yes or no. kind choice: one of `options`. kind data_entry: the person fills in the fields of `payload`, " +
    `each with the JSON type of the value that you put there. ${ONLY_UNGATED}`,
  input: z
    .object({
      title: z.string().trim().min(1).max(TITLE_CHARACTERS).describe("What is to be decided, in at most 80 characters"),
      description: z.string().max(20_000).describe("Markdown: what the person must know to decide"),
      kind: z.enum(["approval", "choice", "data_entry"]).default("approval"),
      options: options.optional().describe("For kind choice: what can be chosen"),
      payload: z.record(z.string(), z.unknown()).optional().describe("For kind data_entry: the fields with their present or empty values"),
      risk: risk.optional(),
    })
    .refine(({ kind, options }) => kind !== "choice" || options !== undefined, { path: ["options"], message: "kind choice needs options" })
    .refine(({ kind, payload }) => kind !== "data_entry" || Object.keys(payload ?? {}).length > 0, {
      path: ["payload"],
      message: "kind data_entry needs a payload with at least one field",
    }),
  summary: ({ title }) => title,
  draft: ({ payload, ...question }) => ({ ...question, payload: payload as Json | undefined }),
});

export const askClarification = definePausingTool({
  name: "ask_clarification",
  description:
    "Ask the person a question that you can't go on without, and wait for the answer. With `options` they may choose one. " +
    `Ask for everything that you need at once. ${ONLY_UNGATED}`,
  input: z.object({ question: z.string().trim().min(1).max(4_000), options: options.optional() }),
  summary: ({ question }) => question,
  draft: ({ question, options }) => ({
    kind: "clarification",
    ...(question.length <= TITLE_CHARACTERS ? { title: question } : { title: `${question.slice(0, TITLE_CHARACTERS - 1).trimEnd()}…`, description: question }),
    options,
    risk: "low",
  }),
});
