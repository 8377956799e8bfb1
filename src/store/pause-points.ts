import * as z from "zod";
import { approvalListItem, type ApprovalListItem } from "../protocol/http.js";
import type { PausePointState } from "../protocol/entities.js";
import { pausePointId, runId } from "../core/ids.js";
import type { PausePointRow } from "../core/rows.js";
import { readCursor, toPage, type Page } from "./conversations.js";

const COLUMNS = [
  "id",
  "conversation_id",
  "user_id",
  "run_id",
  "turn_index",
  "step_index",
  "tool_call_id",
  "action",
  "kind",
  "title",
  "summary",
  "description",
  "options",
  "payload",
  "payload_schema",
  "risk",
  "state",
  "version",
  "decision",
  "payload_override",
  "choice",
  "reply",
  "decided_by",
  "decided_device",
  "decided_via",
  "created_at",
  "expires_at",
  "decided_at",
  "on_expiry",
  "for_person",
];
const FIXED = new Set(["id", "conversation_id", "user_id", "run_id", "turn_index", "step_index", "tool_call_id", "action", "kind", "created_at", "for_person"]);
const UPSERT = `INSERT INTO pause_points (${COLUMNS.join(", ")}) VALUES (${COLUMNS.map(() => "?").join(", ")})
  ON CONFLICT (id) DO UPDATE SET ${COLUMNS.filter((column) => !FIXED.has(column))
    .map((column) => `${column} = excluded.${column}`)
    .join(", ")}
  WHERE excluded.version > pause_points.version`;

/** The statement that carries a pause point to the index; refused by D1 when the row there is as new. */
export function upsertPausePoint(db: D1Database, conversation: { id: string; owner: string }, row: PausePointRow): D1PreparedStatement {
  return db
    .prepare(UPSERT)
    .bind(
      pausePointId(conversation.id, row.n),
      conversation.id,
      conversation.owner,
      runId(row.turn),
      row.turn,
      row.step,
      row.toolCallId,
      row.action,
      row.kind,
      row.title,
      row.summary,
      row.description,
      row.options,
      row.payload,
      row.payloadSchema,
      row.risk,
      row.state,
      row.version,
      row.decision,
      row.payloadOverride,
      row.choice,
      row.reply,
      row.decidedBy,
      row.decidedDevice,
      row.decidedVia,
      row.createdAt,
      row.expiresAt,
      row.decidedAt,
      row.onExpiry,
      row.forPerson,
    );
}

/** Empties what people and the model wrote in the pause points of a deleted conversation (H15). What is not there yet comes empty. */
export function emptyPausePoints(db: D1Database, conversationId: string): D1PreparedStatement {
  return db
    .prepare(
      `UPDATE pause_points SET title = '', summary = '', description = '', options = NULL, payload = NULL, payload_schema = NULL,
       payload_override = NULL, choice = NULL, reply = NULL WHERE conversation_id = ?`,
    )
    .bind(conversationId);
}

const listRow = z.object({
  id: z.string(),
  conversation_id: z.string(),
  action: z.string(),
  kind: z.string(),
  title: z.string(),
  summary: z.string(),
  risk: z.string(),
  state: z.string(),
  created_at: z.number(),
  expires_at: z.number().nullable(),
  decided_at: z.number().nullable(),
  decided_by: z.string().nullable(),
});

/** Pause points of all conversations of a person, newest first. A card past its deadline counts as expired (H21). */
export async function listPausePoints(
  db: D1Database,
  person: string,
  state: PausePointState | null,
  now: number,
  limit: number,
  cursor: string | null,
): Promise<Page<ApprovalListItem>> {
  const [at, id] = readCursor(cursor);
  const { results } = await db
    .prepare(
      `WITH mine AS (
         SELECT p.id, p.conversation_id, p.action, p.kind, p.title, p.summary, p.risk, p.created_at, p.expires_at, p.decided_at, p.decided_by,
           CASE WHEN p.state = 'pending' AND p.expires_at <= ?2 THEN 'expired' ELSE p.state END AS state
         FROM members m JOIN conversations c ON c.id = m.conversation_id JOIN pause_points p ON p.conversation_id = c.id
         WHERE m.person = ?1 AND m.removed = 0 AND c.deleted_at IS NULL AND (p.for_person IS NULL OR p.for_person = ?1))
       SELECT * FROM mine WHERE (?3 IS NULL OR state = ?3) AND (created_at < ?4 OR (created_at = ?4 AND id < ?5))
       ORDER BY created_at DESC, id DESC LIMIT ?6`,
    )
    .bind(person, now, state, at, id, limit + 1)
    .all();
  const items = results.map((result) => {
    const row = listRow.parse(result);
    return approvalListItem.parse({
      id: row.id,
      conversationId: row.conversation_id,
      action: row.action,
      kind: row.kind,
      title: row.title,
      summary: row.summary,
      risk: row.risk,
      state: row.state,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
      decidedAt: row.decided_at,
      decidedBy: row.decided_by,
    });
  });
  return toPage(items, limit, (last) => [last.createdAt, last.id]);
}
