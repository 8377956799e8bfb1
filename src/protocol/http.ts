import * as z from "zod";
import { decision, type Decision } from "./commands.js";
import { json } from "./json.js";
import type { Verdict } from "./entities.js";
import { conversationState, pausePointState, risk, role, pausePointKind } from "./entities.js";

// Bodies and answers of the HTTP routes. An error is `application/problem+json` (RFC 9457).

export const problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number(),
  /** Stable; for programs. */
  code: z.string(),
  /** For people: what happened and what to do next. */
  detail: z.string(),
});
export type Problem = z.infer<typeof problem>;

export const createConversationBody = z.object({
  title: z.string().trim().min(1).max(200).optional(),
  skill: z.string().min(1).max(64).optional(),
});

/** A new title, by the owner; or the message whose branch is to be in use, by whoever may write. */
export const patchConversationBody = z.union([
  z.object({ title: z.string().trim().min(1).max(200) }),
  z.object({ head: z.string().min(1).max(128), /** Cancels the live run. */ withdraw: z.boolean().optional() }),
]);

export const cancelBody = z.object({ runId: z.string().min(1).max(128) });

export const memberBody = z.object({ role: role.exclude(["owner"]) });

const VERDICTS: Record<string, Verdict> = { approve: "approve", approved: "approve", reject: "reject", rejected: "reject" };

/** The older spelling of a decision: `resolution` is a verdict, one of the options, or an object of values. */
const resolved = z
  .object({ pausePointId: decision.shape.pausePointId, version: decision.shape.version, resolution: json, freeformReply: z.string().optional() })
  .transform(({ pausePointId, version, resolution, freeformReply }): Decision => {
    const verdict = typeof resolution === "string" && Object.hasOwn(VERDICTS, resolution) ? VERDICTS[resolution] : undefined;
    const values = typeof resolution === "object" && resolution !== null && !Array.isArray(resolution);
    return {
      pausePointId,
      decision: verdict ?? "approve",
      ...(version === undefined ? {} : { version }),
      ...(freeformReply === undefined ? {} : { reply: freeformReply }),
      ...(verdict ? {} : values ? { payloadOverride: resolution } : { choice: resolution }),
    };
  });

const eitherSpelling = z.union([decision, resolved]);

/** `POST /api/chat/resume`: one decision, or several. */
export const resumeBody = z.union([z.object({ decisions: z.array(eitherSpelling).min(1).max(200) }), eitherSpelling]);

/** One row of `GET /api/conversations`. */
export const conversationListItem = z.object({
  id: z.string(),
  title: z.string(),
  skill: z.string(),
  state: conversationState,
  pausePointId: z.string().nullable(),
  owner: z.string(),
  createdAt: z.number(),
  updatedAt: z.number(),
});
export type ConversationListItem = z.infer<typeof conversationListItem>;

/** One row of `GET /api/approvals`. Payloads are shown by the item's own route only. */
export const approvalListItem = z.object({
  id: z.string(),
  conversationId: z.string(),
  action: z.string(),
  kind: pausePointKind,
  title: z.string(),
  summary: z.string(),
  risk,
  state: pausePointState,
  createdAt: z.number(),
  expiresAt: z.number().nullable(),
  decidedAt: z.number().nullable(),
  decidedBy: z.string().nullable(),
});
export type ApprovalListItem = z.infer<typeof approvalListItem>;

/** `GET /api/ledger`. Amounts are in minor units (cents). */
export const ledger = z.object({
  accounts: z.array(z.object({ id: z.string(), name: z.string(), currency: z.string(), balanceMinor: z.number() })),
  transfers: z.array(z.object({ key: z.string(), from: z.string(), to: z.string(), amountMinor: z.number(), currency: z.string(), createdAt: z.number() })),
});
export type Ledger = z.infer<typeof ledger>;

/** `GET /api/emails`: what `send_email` wrote while no mail binding is configured. */
export const sentEmail = z.object({ key: z.string(), to: z.string(), subject: z.string(), body: z.string(), createdAt: z.number() });
export type SentEmail = z.infer<typeof sentEmail>;

/** `GET /api/me`. */
export const me = z.object({
  /** What the person is known by here, for ever. With AUTH=local it is the name. */
  person: z.string(),
  name: z.string(),
  /** Only an address that is known to be theirs. */
  email: z.string().nullable(),
  auth: z.enum(["local", "access"]),
  /** May see the deployment's status. */
  operator: z.boolean(),
  model: z.string(),
  demo: z.boolean(),
  version: z.string(),
  skills: z.array(z.object({ name: z.string(), title: z.string() })),
});
export type Me = z.infer<typeof me>;
