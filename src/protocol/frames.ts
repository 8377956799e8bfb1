import * as z from "zod";
import { conversation, device, messageStep, pausePoint, presence, run } from "./entities.js";
import { decision } from "./commands.js";

/** The version of the sync protocol spoken here. */
export const PROTOCOL = 1;

/** Largest frame taken from a client, in bytes (S8). */
export const CLIENT_FRAME_BYTES = 256 * 1024;
/** Largest frame sent to a client, in bytes (H20). */
export const SERVER_FRAME_BYTES = 1024 * 1024;

/** Close codes (S7). A client retries after 4401 (once signed in) and 4429, not after the others. */
export const CLOSE = {
  malformed: 4400,
  notSignedIn: 4401,
  notAllowed: 4403,
  notFound: 4404,
  unknownProtocol: 4426,
  tooMuch: 4429,
} as const;

const id = z.string().min(1).max(128);
const opId = id;

export const clientFrame = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("hello"),
    protocol: z.number().int(),
    epoch: z.string().max(64).optional(),
    seq: z.number().int().nonnegative().optional(),
    device,
  }),
  z.object({
    type: z.literal("send"),
    opId,
    messageId: id,
    text: z.string(),
    /** An edit: the message that the text hangs under; null is the beginning. */
    parentId: id.nullable().optional(),
    withdraw: z.boolean().optional(),
  }),
  z.object({ type: z.literal("regenerate"), opId, messageId: id, withdraw: z.boolean().optional() }),
  z.object({ type: z.literal("head"), opId, messageId: id, withdraw: z.boolean().optional() }),
  z.object({ type: z.literal("decide"), opId, ...decision.shape }),
  z.object({ type: z.literal("cancel"), opId, runId: id }),
  z.object({ type: z.literal("older"), opId, before: id }),
  z.object({ type: z.literal("seen"), n: z.number().int().nonnegative(), seq: z.number().int().nonnegative() }),
  z.object({ type: z.literal("ping") }),
]);
export type ClientFrame = z.infer<typeof clientFrame>;

/** AI SDK `UIMessageChunk`s, as they came from the model, with tool call ids of our own. */
const chunk = z.looseObject({ type: z.string() });
export type Chunk = z.infer<typeof chunk>;

const attempt = z.object({
  runId: z.string(),
  messageId: z.string(),
  step: z.number(),
  attempt: z.number(),
  /** Flushes of this attempt so far, counted from 1. */
  n: z.number(),
  chunks: z.array(chunk),
});
export type LiveAttempt = z.infer<typeof attempt>;

const change = z.object({
  type: z.literal("change"),
  seq: z.number(),
  now: z.number(),
  messages: z.array(messageStep).optional(),
  pausePoints: z.array(pausePoint).optional(),
  run: run.nullable().optional(),
  conversation: conversation.optional(),
  /** Another frame of the same change follows; `seq` counts from the last one. */
  more: z.literal(true).optional(),
});
export type Change = z.infer<typeof change>;

const welcome = z.object({
  type: z.literal("welcome"),
  protocol: z.number(),
  epoch: z.string(),
  seq: z.number(),
  now: z.number(),
  mode: z.enum(["snapshot", "delta"]),
  conversation,
  run: run.nullable(),
  messages: z.array(messageStep),
  pausePoints: z.array(pausePoint),
  devices: z.array(presence),
  hasOlder: z.boolean(),
  live: attempt.nullable(),
  /** Who the server takes this socket for, and what they may do here. */
  you: z.object({ person: z.string(), role: z.enum(["owner", "approver", "viewer"]) }),
});
export type Welcome = z.infer<typeof welcome>;

const ack = z.object({
  type: z.literal("ack"),
  opId: z.string(),
  status: z.enum(["applied", "duplicate", "conflict", "rejected"]),
  code: z.string().optional(),
  message: z.string().optional(),
  /** The card as it is now, with a decision's answer. */
  current: pausePoint.optional(),
});
export type Ack = z.infer<typeof ack>;

export const serverFrame = z.discriminatedUnion("type", [
  welcome,
  change,
  z.object({ type: z.literal("delta"), ...attempt.shape }),
  z.object({ type: z.literal("page"), opId: z.string(), messages: z.array(messageStep), pausePoints: z.array(pausePoint), hasOlder: z.boolean() }),
  z.object({ type: z.literal("presence"), devices: z.array(presence) }),
  ack,
  z.object({ type: z.literal("error"), code: z.string(), message: z.string() }),
  z.object({ type: z.literal("pong") }),
]);
export type ServerFrame = z.infer<typeof serverFrame>;
