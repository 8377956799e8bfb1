import type { Conversation, MessageStep, PausePoint, Run } from "../../../src/protocol/entities.js";
import type { LiveAttempt, Welcome } from "../../../src/protocol/frames.js";

export const conversation: Conversation = {
  id: "c_1",
  owner: "you",
  title: "Test",
  skill: "assistant",
  state: "idle",
  pausePointId: null,
  head: null,
  createdAt: 1,
  updatedAt: 1,
  members: [],
};

export const run = (over: Partial<Run> = {}): Run => ({
  runId: "r1",
  status: "running",
  messageId: "m2",
  step: 0,
  stopReason: null,
  detail: null,
  startedAt: 1,
  endedAt: null,
  ...over,
});

export const step = (over: Partial<MessageStep> = {}): MessageStep => ({
  messageId: "u_1",
  position: 1,
  step: 0,
  parentId: null,
  role: "user",
  parts: [{ type: "text", text: "hello" }],
  calls: [],
  runId: null,
  author: { person: "you", device: "Chrome on Linux" },
  delivery: "sent",
  createdAt: 1,
  ...over,
});

export const pausePoint = (over: Partial<PausePoint> = {}): PausePoint => ({
  id: "c_1.1",
  conversationId: "c_1",
  version: 1,
  runId: "r1",
  turnIndex: 0,
  stepIndex: 0,
  toolCallId: "call_1",
  action: "execute_transfer",
  kind: "approval",
  title: "Transfer",
  summary: "Transfer 500 EUR from operations to savings",
  description: "",
  options: null,
  payload: { amount: 500 },
  payloadSchema: null,
  risk: "high",
  state: "pending",
  decision: null,
  payloadOverride: null,
  choice: null,
  reply: null,
  decidedBy: null,
  decidedDevice: null,
  decidedVia: null,
  createdAt: 1,
  expiresAt: null,
  decidedAt: null,
  onExpiry: "continue",
  ...over,
});

export const welcome = (over: Partial<Welcome> = {}): Welcome => ({
  type: "welcome",
  protocol: 1,
  epoch: "e1",
  seq: 1,
  now: 1000,
  mode: "snapshot",
  conversation,
  run: null,
  messages: [],
  pausePoints: [],
  devices: [],
  hasOlder: false,
  live: null,
  you: { person: "you", role: "owner" },
  ...over,
});

export const delta = (over: Partial<LiveAttempt> = {}): LiveAttempt & { type: "delta" } => ({
  type: "delta",
  runId: "r1",
  messageId: "m2",
  step: 0,
  attempt: 1,
  n: 1,
  chunks: [],
  ...over,
});

export const text = (id: string, words: string) => [
  { type: "text-start", id },
  { type: "text-delta", id, delta: words },
];
