import type { Call, Conversation, MessageStep, PausePoint, Run } from "../protocol/entities.js";
import type { Json } from "../protocol/json.js";
import { pausePointId, runId } from "./ids.js";
import type { CallRow, ConversationRow, MemberRow, PausePointRow, Reads, RunRow, StepRow } from "./rows.js";
import { explainCall, storedJson } from "./outcome.js";

// Rows as clients see them. A tool part is made from its call's row each time, so that what a call did
// is stored once.

/** A part as it is stored in `steps.parts`; a tool call is `{type: "call", index}`. */
export interface StoredPart {
  type: string;
  [field: string]: unknown;
}

export const conversationView = (row: ConversationRow, members: MemberRow[]): Conversation => ({
  id: row.id,
  owner: row.owner,
  title: row.title,
  skill: row.skill,
  state: row.state,
  pausePointId: row.pausePointId,
  head: row.headId,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  members: members.filter((member) => !member.removed).map(({ person, role }) => ({ person, role })),
});

export const runView = (row: RunRow): Run => ({
  runId: runId(row.turn),
  status: row.status,
  messageId: row.messageId,
  parentId: row.parentId,
  step: row.step,
  stopReason: row.stopReason,
  detail: row.detail,
  startedAt: row.startedAt,
  endedAt: row.endedAt,
});

export function pausePointView(conversationId: string, row: PausePointRow): PausePoint {
  return {
    id: pausePointId(conversationId, row.n),
    conversationId,
    version: row.version,
    runId: runId(row.turn),
    turnIndex: row.turn,
    stepIndex: row.step,
    toolCallId: row.toolCallId,
    action: row.action,
    kind: row.kind,
    title: row.title,
    summary: row.summary,
    description: row.description,
    options: (storedJson(row.options) as (string | number | boolean)[] | undefined) ?? null,
    payload: storedJson(row.payload) ?? null,
    payloadSchema: storedJson(row.payloadSchema) ?? null,
    risk: row.risk,
    state: row.state,
    decision: row.decision,
    payloadOverride: storedJson(row.payloadOverride) ?? null,
    choice: storedJson(row.choice) ?? null,
    reply: row.reply,
    decidedBy: row.decidedBy,
    decidedDevice: row.decidedDevice,
    decidedVia: row.decidedVia,
    createdAt: row.createdAt,
    expiresAt: row.expiresAt,
    decidedAt: row.decidedAt,
    onExpiry: row.onExpiry,
    forPerson: row.forPerson,
  };
}

export function storedParts(row: StepRow): StoredPart[] {
  const parts = storedJson(row.parts);
  if (!Array.isArray(parts)) return [{ type: "data-notice", data: { code: "unreadable", text: "This part of the conversation can't be read." } }];
  return parts as unknown as StoredPart[];
}

export function messageStepView(reads: Reads, conversationId: string, row: StepRow): MessageStep {
  const calls = row.role === "assistant" ? reads.callsOfStep(row.turn, row.step).filter((call) => call.position === row.position) : [];
  const parts: MessageStep["parts"] = row.role === "assistant" ? [{ type: "step-start" }] : [];
  for (const part of storedParts(row)) {
    if (part.type !== "call") parts.push(part);
    else {
      const call = calls.find((one) => one.index === part["index"]);
      if (call) parts.push(toolPart(reads, conversationId, call));
    }
  }
  return {
    messageId: row.messageId,
    position: row.position,
    step: row.step,
    parentId: row.parentId,
    role: row.role,
    parts,
    calls: calls.map((call) => callView(conversationId, call)),
    runId: row.turn ? runId(row.turn) : null,
    author: row.person === null ? null : { person: row.person, device: row.device ?? "" },
    delivery: row.delivery,
    createdAt: row.createdAt,
  };
}

const callView = (conversationId: string, call: CallRow): Call => ({
  toolCallId: call.toolCallId,
  tool: call.tool,
  state: call.state,
  cause: call.cause,
  summary: call.summary,
  tries: call.tries,
  startedAt: call.startedAt,
  endedAt: call.endedAt,
  pausePointId: call.pausePoint === null ? null : pausePointId(conversationId, call.pausePoint),
});

export interface Approval {
  id: string;
  approved?: boolean;
  reason?: string;
  requestReason?: string;
  descriptor?: Json;
}

/** A tool part in the AI SDK's own states; those shapes pass its validation. */
export interface ToolPart {
  [field: string]: unknown;
  type: `tool-${string}`;
  toolCallId: string;
  state: "input-available" | "approval-requested" | "approval-responded" | "output-available" | "output-denied" | "output-error";
  input: Json;
  output?: Json;
  errorText?: string;
  approval?: Approval;
}

export function toolPart(reads: Reads, conversationId: string, call: CallRow): ToolPart {
  const pausePoint = call.pausePoint === null ? null : reads.get("pausePoints", call.pausePoint);
  const decided = call.approval === null ? null : reads.get("pausePoints", call.approval);
  const input = storedJson(call.override) ?? storedJson(call.input) ?? call.input;
  // A question to a device is no approval: a stock client finds a call that it answers itself.
  const approval = pausePoint && pausePoint.forPerson === null ? approvalOf(conversationId, pausePoint) : undefined;
  const part = { type: `tool-${call.tool}` as const, toolCallId: call.toolCallId, input, ...providerMetadata(call) };
  const approved = approval?.approved === true ? { approval } : {};
  switch (call.state) {
    case "awaiting":
      if (!approval) return { ...part, state: "input-available" };
      // What is approved is the card's payload, which an edit may have replaced (H12). A question's is not its input.
      return {
        ...part,
        ...(pausePoint && call.output === null ? { input: storedJson(pausePoint.payload) ?? input } : {}),
        state: "approval-requested",
        ...(approval ? { approval } : {}),
      };
    case "proposed":
    case "ready":
    case "started":
      return { ...part, state: approval?.approved ? "approval-responded" : "input-available", ...approved };
    case "succeeded":
      return { ...part, state: "output-available", output: storedJson(call.output) ?? null, ...approved };
    case "denied":
      if (approval?.approved === false) return { ...part, state: "output-denied", approval };
      return { ...part, state: "output-error", errorText: explainCall(call, decided), ...approved };
    case "failed":
    case "unknown":
      return { ...part, state: "output-error", errorText: explainCall(call, decided), ...approved };
  }
}

const providerMetadata = (call: CallRow): { callProviderMetadata?: Json } => {
  const metadata = storedJson(call.providerMetadata);
  return metadata === undefined ? {} : { callProviderMetadata: metadata };
};

function approvalOf(conversationId: string, row: PausePointRow): Approval {
  const descriptor = { kind: row.kind, risk: row.risk, title: row.title, version: row.version };
  const asked = { id: pausePointId(conversationId, row.n), requestReason: row.summary || row.title, descriptor };
  if (row.state === "pending") return asked;
  return { ...asked, approved: row.state === "approved", reason: reasonOf(row) };
}

/** Always a sentence: without one a client of the AI SDK keeps its own person's words beside another's decision. */
function reasonOf(row: PausePointRow): string {
  switch (row.state) {
    case "expired":
      return "Nobody decided before the deadline.";
    case "cancelled":
      return "The question was withdrawn.";
    default:
      return row.reply ?? `${row.state === "approved" ? "Approved" : "Rejected"} by ${row.decidedBy} on ${row.decidedDevice ?? "a device"}.`;
  }
}
