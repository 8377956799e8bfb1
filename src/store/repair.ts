import * as z from "zod";

// What D1 holds, asked for repair: which conversations it knows, and how new its rows of one are.

/** The highest version that D1 holds of a conversation, these members of it and its pause points; 0 when it holds nothing. */
export async function heldVersion(db: D1Database, conversationId: string, members: string[]): Promise<number> {
  const row = await db
    .prepare(
      `SELECT max(coalesce((SELECT max(version) FROM conversations WHERE id = ?1), 0), coalesce((SELECT max(version) FROM members WHERE conversation_id = ?1 AND person IN (SELECT value FROM json_each(?2))), 0),
       coalesce((SELECT max(version) FROM pause_points WHERE conversation_id = ?1), 0)) AS version`,
    )
    .bind(conversationId, JSON.stringify(members))
    .first();
  return z.object({ version: z.number().int() }).parse(row).version;
}

/** Ids of conversations that D1 knows, deleted ones too, in order, after one of them. */
export async function conversationIds(db: D1Database, after: string, limit: number): Promise<string[]> {
  const { results } = await db.prepare("SELECT id FROM conversations WHERE id > ?1 ORDER BY id LIMIT ?2").bind(after, limit).all();
  return z
    .array(z.object({ id: z.string() }))
    .parse(results)
    .map(({ id }) => id);
}
