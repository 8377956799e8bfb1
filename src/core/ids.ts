// Every id of ours is made here, from places in the journal: the same place always has the same id.

/** The spelling of random bits and hashes in ids. */
export const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export const runId = (turn: number): string => `r${turn}`;

/** Number of a run, or 0 for what is not a run id. */
export const turnOf = (id: string): number => (/^r[1-9]\d{0,9}$/.test(id) ? Number(id.slice(1)) : 0);

export const assistantMessageId = (position: number): string => `m${position}`;

/** The id of a person's text whose own id a newer version has taken over. */
export const supersededMessageId = (position: number, newer: number): string => `u${position}-${newer}`;

/** The id of a message that tells decisions (RESUME_MODE=message). */
export const decisionsMessageId = (position: number): string => `d${position}`;

export const isSuperseded = (step: { messageId: string; position: number }): boolean => step.messageId.startsWith(`u${step.position}-`) && isReservedMessageId(step.messageId);

/** Message ids that a client may not use, for they are ours. */
export const isReservedMessageId = (id: string): boolean => /^([md]\d+|u\d+-\d+)$/.test(id);

/** The position that an agent's message id names, or 0 for any other text. */
export const positionOf = (id: string): number => Number(/^m([1-9]\d{0,9})$/.exec(id)?.[1] ?? 0);

/** Ours, never the model's: models repeat theirs, or leave them empty (C12). */
export const toolCallId = (turn: number, step: number, index: number): string => `r${turn}-${step}-${index}`;

export const pausePointId = (conversationId: string, n: number): string => `${conversationId}.${n}`;

/** Number of a pause point of this conversation, or 0 for any other text. */
export function pausePointNumber(conversationId: string, id: string): number {
  const n = id.startsWith(`${conversationId}.`) ? id.slice(conversationId.length + 1) : "";
  return /^[1-9]\d{0,9}$/.test(n) ? Number(n) : 0;
}

/** The conversation that a pause point's id names, or null. */
export function conversationOf(pausePointId: string): string | null {
  return /^(c_[0-9a-f]{32})\.[1-9]\d{0,9}$/.exec(pausePointId)?.[1] ?? null;
}

export const isConversationId = (id: string): boolean => /^c_[0-9a-f]{32}$/.test(id);

export const idempotencyKey = (conversationId: string, call: { turn: number; step: number; index: number }): string =>
  `${conversationId}.${runId(call.turn)}.${call.step}.${call.index}`;
