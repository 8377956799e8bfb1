import * as z from "zod";

// What an operator is told, and asks for, over HTTP. Times are milliseconds UTC.

const counts = z.object({ count: z.number(), overHour: z.number(), overDay: z.number(), oldest: z.number().nullable() });
const waiting = z.object({ count: z.number(), oldest: z.number().nullable() });

/** What D1 knows. `overdue`: pending cards past their deadline, which is an alarm that has not fired. */
export const indexStatus = z.object({
  conversations: z.object({ running: counts, paused: counts, idle: counts }),
  cards: z.object({ pending: waiting, overdue: waiting, recovery: waiting }),
});
export type IndexStatus = z.infer<typeof indexStatus>;

/** What one conversation's object says of itself. */
export const objectStatus = z.object({
  conversation: z.string(),
  run: z.object({ runId: z.string(), status: z.string(), startedAt: z.number() }).nullable(),
  startedCalls: z.object({ count: z.number(), oldest: z.number().nullable() }),
  /** Calls whose outcome nobody knows: those of the newest run that ended so, and those that a recovery card asks about. */
  unknownCalls: z.number(),
  undelivered: z.object({ count: z.number(), oldest: z.number().nullable() }),
  parked: z.number(),
  alarm: z.number().nullable(),
  due: z.number().nullable(),
  alarmOverdue: z.boolean(),
});
export type ObjectStatus = z.infer<typeof objectStatus>;

/** `GET /api/status`. `index` is null when D1 did not answer; then no object is known to be asked. */
export const status = z.object({
  now: z.number(),
  version: z.string(),
  index: indexStatus.nullable(),
  indexError: z.string().nullable(),
  objects: z.array(z.union([objectStatus, z.object({ conversation: z.string(), error: z.string() })])),
});
export type Status = z.infer<typeof status>;

/** `POST /api/reindex`: the objects of these ids of the platform's, or, without them, the next conversations that D1 knows. */
export const reindexBody = z.object({ objects: z.array(z.string()).max(20).optional(), after: z.string().max(64).optional() });

/** How many objects were asked, how many have a conversation, rows sent; who failed; where to go on, or null at the end. */
export const reindexAnswer = z.object({
  conversations: z.number(),
  empty: z.number(),
  rows: z.number(),
  failed: z.array(z.object({ object: z.string(), error: z.string() })),
  next: z.string().nullable(),
});
export type ReindexAnswer = z.infer<typeof reindexAnswer>;
