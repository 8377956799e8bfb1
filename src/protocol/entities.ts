import * as z from "zod";
import { json } from "./json.js";

// What the server tells its clients about a conversation. All times are integer milliseconds UTC,
// by the server's clock. Each entity carries the `seq` of its last change.

export const risk = z.enum(["low", "medium", "high"]);
export type Risk = z.infer<typeof risk>;

export const role = z.enum(["owner", "approver", "viewer"]);
export type Role = z.infer<typeof role>;

export const verdict = z.enum(["approve", "reject"]);
export type Verdict = z.infer<typeof verdict>;

export const onExpiry = z.enum(["continue", "halt"]);
export type OnExpiry = z.infer<typeof onExpiry>;

/** One browser profile or API client of one person. */
export const device = z.object({ id: z.string().min(1).max(64), name: z.string().min(1).max(80) });
export type Device = z.infer<typeof device>;

export const conversationState = z.enum(["idle", "running", "paused"]);
export type ConversationState = z.infer<typeof conversationState>;

export const conversation = z.object({
  id: z.string(),
  owner: z.string(),
  title: z.string(),
  skill: z.string(),
  state: conversationState,
  /** The first pending pause point, when the conversation is paused. */
  pausePointId: z.string().nullable(),
  /** The message id of the leaf in use; null in an empty conversation. */
  head: z.string().nullable(),
  createdAt: z.number(),
  updatedAt: z.number(),
  members: z.array(z.object({ person: z.string(), role })),
});
export type Conversation = z.infer<typeof conversation>;

export const runStatus = z.enum(["running", "suspended", "completed", "failed", "cancelled"]);
export type RunStatus = z.infer<typeof runStatus>;

/** Why a run that has ended, ended. */
export const stopReason = z.enum(["finished", "pause", "halted", "repeated_call", "step_limit", "error", "cancelled"]);
export type StopReason = z.infer<typeof stopReason>;

export const run = z.object({
  runId: z.string(),
  status: runStatus,
  /** The message that the run is writing, or wrote last. */
  messageId: z.string(),
  /** What that message answers: the end of the branch until its first step is stored. Absent from an older release. */
  parentId: z.string().nullable().optional(),
  /** Steps committed so far. */
  step: z.number(),
  stopReason: stopReason.nullable(),
  /** A sentence for people: what went wrong or who cancelled. */
  detail: z.string().nullable(),
  startedAt: z.number(),
  endedAt: z.number().nullable(),
});
export type Run = z.infer<typeof run>;

export const callState = z.enum(["proposed", "awaiting", "ready", "started", "succeeded", "failed", "denied", "unknown"]);
export type CallState = z.infer<typeof callState>;

/** Why a call did not run (`denied`), or was settled without a result of its own. */
export const callCause = z.enum([
  "rejected",
  "expired",
  "cancelled",
  "withdrawn",
  "policy",
  "repeated",
  "siblings",
  "invalid",
  "changed",
  "threw",
  "timed_out",
  "interrupted",
  "told",
]);
export type CallCause = z.infer<typeof callCause>;

/** The state of one tool call, beside the AI SDK part that shows it. */
export const call = z.object({
  toolCallId: z.string(),
  tool: z.string(),
  state: callState,
  cause: callCause.nullable(),
  /** The tool's own sentence about what it does with this input. */
  summary: z.string(),
  /** Times that `execute` was begun. */
  tries: z.number(),
  startedAt: z.number().nullable(),
  endedAt: z.number().nullable(),
  /** The newest pause point about this call. */
  pausePointId: z.string().nullable(),
});
export type Call = z.infer<typeof call>;

export const delivery = z.enum(["sent", "queued", "unanswered"]);
export type Delivery = z.infer<typeof delivery>;

/**
 * One stored row of a message. A person's message is one row (`step` 0); a run's message is one row a
 * step. Join rows of equal `messageId` in order of `step` to get an AI SDK `UIMessage`.
 */
export const messageStep = z.object({
  messageId: z.string(),
  /** Place in the conversation: larger is later. */
  position: z.number(),
  step: z.number(),
  parentId: z.string().nullable(),
  role: z.enum(["user", "assistant"]),
  /** AI SDK `UIMessage` parts. A part over 16 KiB is cut and says so in `cut`. */
  parts: z.array(z.looseObject({ type: z.string() })),
  calls: z.array(call),
  runId: z.string().nullable(),
  author: z.object({ person: z.string(), device: z.string() }).nullable(),
  delivery,
  createdAt: z.number(),
  removed: z.literal(true).optional(),
});
export type MessageStep = z.infer<typeof messageStep>;

export const pausePointKind = z.enum(["approval", "choice", "data_entry", "clarification", "recovery"]);
export type PausePointKind = z.infer<typeof pausePointKind>;

export const pausePointState = z.enum(["pending", "approved", "rejected", "expired", "cancelled"]);
export type PausePointState = z.infer<typeof pausePointState>;

export const pausePoint = z.object({
  id: z.string(),
  conversationId: z.string(),
  version: z.number(),
  runId: z.string(),
  turnIndex: z.number(),
  stepIndex: z.number(),
  toolCallId: z.string(),
  /** The tool's name. */
  action: z.string(),
  kind: pausePointKind,
  title: z.string(),
  summary: z.string(),
  /** The agent's own words, in Markdown. Never shown as fact. */
  description: z.string(),
  options: z.array(z.union([z.string(), z.number(), z.boolean()])).nullable(),
  payload: json.nullable(),
  /** JSON Schema of the payload: what the form is made of. */
  payloadSchema: json.nullable(),
  risk,
  state: pausePointState,
  decision: verdict.nullable(),
  payloadOverride: json.nullable(),
  choice: json.nullable(),
  reply: z.string().nullable(),
  decidedBy: z.string().nullable(),
  decidedDevice: z.string().nullable(),
  decidedVia: z.string().nullable(),
  createdAt: z.number(),
  expiresAt: z.number().nullable(),
  decidedAt: z.number().nullable(),
  onExpiry,
  /** A question to a device: only this person may answer, with values that fit `payloadSchema`; `payload` is what the device is given. */
  forPerson: z.string().nullable().optional(),
  /** Set when payload, schema, description and override were left out for size: fetch the item. */
  brief: z.literal(true).optional(),
});
export type PausePoint = z.infer<typeof pausePoint>;

export const presence = z.object({ person: z.string(), device });
export type Presence = z.infer<typeof presence>;
