import * as z from "zod";
import { sentEmail, type SentEmail } from "../protocol/http.js";

// What `send_email` wrote while no mail binding was configured: mail that anyone can read and nobody got.

/** Writes one mail. The same key again writes nothing. */
export async function writeEmail(db: D1Database, email: SentEmail & { conversationId: string }): Promise<void> {
  await db
    .prepare(
      `INSERT INTO emails (key, recipient, subject, body, created_at, conversation_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
       ON CONFLICT (key) DO NOTHING`,
    )
    .bind(email.key, email.to, email.subject, email.body, email.createdAt, email.conversationId)
    .run();
}

/** The newest mails. */
export async function emails(db: D1Database, limit = 100): Promise<SentEmail[]> {
  const { results } = await db
    .prepare(`SELECT key, recipient AS "to", subject, body, created_at AS createdAt FROM emails ORDER BY created_at DESC, key DESC LIMIT ?1`)
    .bind(limit)
    .all();
  return z.array(sentEmail).parse(results);
}
