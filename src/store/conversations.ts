import * as z from "zod";
import { conversationListItem, type ConversationListItem } from "../protocol/http.js";
import type { ConversationRow, MemberRow } from "../core/rows.js";

/** The statement that carries a conversation to the index; refused by D1 when the row there is as new. */
export function upsertConversation(db: D1Database, row: ConversationRow): D1PreparedStatement {
  return db
    .prepare(
      `INSERT INTO conversations (id, user_id, title, skill, state, pause_point_id, created_at, updated_at, deleted_at, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET title = excluded.title, state = excluded.state, pause_point_id = excluded.pause_point_id,
       updated_at = excluded.updated_at, deleted_at = excluded.deleted_at, version = excluded.version WHERE excluded.version > conversations.version`,
    )
    .bind(row.id, row.owner, row.title, row.skill, row.state, row.pausePointId, row.createdAt, row.updatedAt, row.deletedAt, row.version);
}

export function upsertMember(db: D1Database, conversationId: string, row: MemberRow): D1PreparedStatement {
  return db
    .prepare(
      `INSERT INTO members (person, conversation_id, role, removed, version) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (person, conversation_id) DO UPDATE SET role = excluded.role, removed = excluded.removed, version = excluded.version
       WHERE excluded.version > members.version`,
    )
    .bind(row.person, conversationId, row.role, row.removed, row.version);
}

const listRow = z.object({
  id: z.string(),
  user_id: z.string(),
  title: z.string(),
  skill: z.string(),
  state: z.string(),
  pause_point_id: z.string().nullable(),
  created_at: z.number(),
  updated_at: z.number(),
});

export interface Page<Item> {
  items: Item[];
  nextCursor: string | null;
}

/** A person's conversations, the newest change first. `cursor` is what the page before gave. */
export async function listConversations(db: D1Database, person: string, limit: number, cursor: string | null): Promise<Page<ConversationListItem>> {
  const [at, id] = readCursor(cursor);
  const { results } = await db
    .prepare(
      `SELECT c.id, c.user_id, c.title, c.skill, c.state, c.pause_point_id, c.created_at, c.updated_at
       FROM members m JOIN conversations c ON c.id = m.conversation_id
       WHERE m.person = ?1 AND m.removed = 0 AND c.deleted_at IS NULL AND (c.updated_at < ?2 OR (c.updated_at = ?2 AND c.id < ?3))
       ORDER BY c.updated_at DESC, c.id DESC LIMIT ?4`,
    )
    .bind(person, at, id, limit + 1)
    .all();
  const items = results.map((result) => {
    const row = listRow.parse(result);
    return conversationListItem.parse({
      id: row.id,
      owner: row.user_id,
      title: row.title,
      skill: row.skill,
      state: row.state,
      pausePointId: row.pause_point_id,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
    });
  });
  return toPage(items, limit, (last) => [last.updatedAt, last.id]);
}

/** A cursor is the place of the last row: its time and id. Anything else begins anew. */
export function readCursor(cursor: string | null): [number, string] {
  const match = /^(\d{1,16})~([\w.]{1,64})$/.exec(cursor ?? "");
  return match ? [Number(match[1]), match[2] ?? ""] : [Number.MAX_SAFE_INTEGER, ""];
}

export function toPage<Item>(rows: Item[], limit: number, place: (last: Item) => [number, string]): Page<Item> {
  const items = rows.slice(0, limit);
  const last = rows.length > limit ? items.at(-1) : undefined;
  return { items, nextCursor: last ? place(last).join("~") : null };
}
