import * as z from "zod";
import type { IndexStatus } from "../protocol/status.js";

// What the index can tell an operator. It is as new as the outboxes have made it.

const HOUR = 3_600_000;
/** A running conversation that has shown no change for so long, or a card so long past its deadline, is looked into. */
const LATE_MS = 60_000;

const counts = z.object({ count: z.number(), overHour: z.number(), overDay: z.number(), oldest: z.number().nullable() });
const waiting = z.object({ count: z.number(), oldest: z.number().nullable() });

/** Conversations by state and age, cards, and the ids of at most `limit` conversations that look wrong, the oldest first. */
export async function indexStatus(db: D1Database, now: number, limit: number): Promise<{ index: IndexStatus; suspects: string[] }> {
  const cards = `SELECT count(*) AS count, min(p.created_at) AS oldest FROM pause_points p JOIN conversations c ON c.id = p.conversation_id WHERE c.deleted_at IS NULL AND p.state = 'pending'`;
  const [states, pending, overdue, recovery, suspects] = await db.batch([
    db
      .prepare(
        `SELECT state, count(*) AS count, coalesce(sum(updated_at <= ?1), 0) AS overHour, coalesce(sum(updated_at <= ?2), 0) AS overDay, min(updated_at) AS oldest
         FROM conversations WHERE deleted_at IS NULL GROUP BY state`,
      )
      .bind(now - HOUR, now - 24 * HOUR),
    db.prepare(cards),
    db.prepare(`${cards.replace("p.created_at", "p.expires_at")} AND p.expires_at <= ?1`).bind(now - LATE_MS),
    db.prepare(`${cards} AND p.kind = 'recovery'`),
    db
      .prepare(
        `SELECT id, min(at) AS at FROM (
           SELECT id, updated_at AS at FROM conversations WHERE deleted_at IS NULL AND state = 'running' AND updated_at <= ?1
           UNION ALL SELECT c.id, coalesce(p.expires_at, p.created_at) FROM pause_points p JOIN conversations c ON c.id = p.conversation_id
             WHERE c.deleted_at IS NULL AND p.state = 'pending' AND (p.expires_at <= ?1 OR p.kind = 'recovery'))
         GROUP BY id ORDER BY at LIMIT ?2`,
      )
      .bind(now - LATE_MS, limit),
  ]);
  const none = { count: 0, overHour: 0, overDay: 0, oldest: null };
  const byState = new Map((states?.results ?? []).map((row) => [(row as { state: string }).state, counts.parse(row)]));
  const one = (found: D1Result | undefined) => waiting.parse(found?.results[0]);
  return {
    index: {
      conversations: { running: byState.get("running") ?? none, paused: byState.get("paused") ?? none, idle: byState.get("idle") ?? none },
      cards: { pending: one(pending), overdue: one(overdue), recovery: one(recovery) },
    },
    suspects: z
      .array(z.object({ id: z.string() }))
      .parse(suspects?.results)
      .map(({ id }) => id),
  };
}
