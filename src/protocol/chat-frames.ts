import * as z from "zod";
import type { Chunk } from "./frames.js";

// Frames of the AI SDK's `WebSocketChatTransport`, as it sends and takes them. One socket carries the requests
// of several chats; each request has an id of the client's, and its chunks are numbered from 0.

/** Largest frame taken, in bytes: a stock client sends its whole history along, as over HTTP. */
export const CHAT_FRAME_BYTES = 4 * 1024 * 1024;

export const chatRequestId = z.string().regex(/^[\x21-\x7e]{1,64}$/);
const named = { requestId: chatRequestId, id: z.string().min(1).max(200), headers: z.record(z.string(), z.string()).catch({}) };

/** Only what tells requests apart is demanded here. The rest of a `send` is read as a body of `POST /api/chat` is. */
export const chatClientFrame = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("send"), ...named }),
  z.looseObject({ type: z.literal("resume"), ...named }),
  z.object({ type: z.literal("abort"), requestId: chatRequestId }),
]);
export type ChatClientFrame = z.infer<typeof chatClientFrame>;

export type ChatServerFrame =
  | { type: "start"; requestId: string }
  | { type: "chunk"; requestId: string; sequence: number; chunk: Chunk }
  | { type: "end"; requestId: string }
  | { type: "no-active"; requestId: string }
  /** `errorText` is a problem document as text, for the transport has no place for a code. */
  | { type: "error"; requestId: string; errorText: string };
