import { HERE_ID } from "./odd.js";

// What honest clients send, each from the same beginning: a text `u1` whose run `r1` waits for the card 1 (a transfer)
// and the card 2 (a question to a device). Every life plays them first, so that none is damaged which was never right.

export type Entry = "socket" | "chat socket" | "http";

export interface Input {
  entry: Entry;
  person: string;
  /** A frame or a body. */
  text: string;
  method: string;
  path: string;
  headers: Record<string, string>;
}

export const OPENING = "Transfer 250 EUR from operations to savings and where am I";

const HERE = { latitude: 52.5, longitude: 13.4, accuracyMeters: 20 };
const id = HERE_ID;
const user = (messageId: string, text: string): object => ({ id: messageId, role: "user", parts: [{ type: "text", text }] });
const assistant = (...parts: object[]): object => ({ id: "m2", role: "assistant", parts: [{ type: "step-start" }, ...parts] });
const approval = (approved: boolean): object => ({
  type: "tool-execute_transfer",
  toolCallId: "r1-0-0",
  state: "approval-responded",
  input: { from: "operations", to: "savings", amount: 250, currency: "EUR" },
  approval: { id: `${id}.1`, approved, reason: "fine", descriptor: { version: 1 } },
});
const output = { type: "tool-get_location", toolCallId: "r1-0-1", state: "output-available", input: { reason: "x" }, output: HERE };

const FRAMES: object[] = [
  { type: "hello", protocol: 1, device: { id: "d", name: "laptop" } },
  { type: "hello", protocol: 1, epoch: "e", seq: 3, device: { id: "d", name: "laptop" } },
  { type: "send", opId: "op1", messageId: "u2", text: "and then list the accounts" },
  { type: "send", opId: "op2", messageId: "u3", text: "edited", parentId: null, withdraw: true },
  { type: "send", opId: "op3", messageId: "u4", text: "never mind", withdraw: true },
  { type: "decide", opId: "op4", pausePointId: `${id}.1`, version: 1, decision: "approve", reply: "fine" },
  { type: "decide", opId: "op5", pausePointId: `${id}.1`, decision: "approve", payloadOverride: { from: "operations", to: "savings", amount: 50, currency: "EUR" } },
  { type: "decide", opId: "op6", pausePointId: `${id}.2`, decision: "approve", payloadOverride: HERE },
  { type: "decide", opId: "op7", pausePointId: `${id}.2`, decision: "reject", reply: "no" },
  { type: "cancel", opId: "op8", runId: "r1" },
  { type: "regenerate", opId: "op9", messageId: "u1", withdraw: true },
  { type: "head", opId: "op10", messageId: "u1", withdraw: true },
  { type: "older", opId: "op11", before: "m2" },
  { type: "seen", n: 3, seq: 4 },
  { type: "ping" },
];
const CHATS: object[] = [
  { id, messages: [user("u1", OPENING), user("u5", "hello")], trigger: "submit-message" },
  { id, messages: [user("u1", OPENING), assistant(approval(true))], trigger: "submit-message", messageId: "m2" },
  { id, messages: [user("u1", OPENING), assistant(approval(false), output)] },
  { id, messages: [user("u1", OPENING), assistant(output)] },
  { id, messages: [user("u1", OPENING)], trigger: "regenerate-message", withdraw: true },
  { id, messages: [user("u6", "another")], messageId: "u1", withdraw: true },
  { id: "my chat", messages: [user("u7", "hello")] },
];
const BODIES: [method: string, path: string, body: object | null][] = [
  ...CHATS.map((body): [string, string, object] => ["POST", "/api/chat", body]),
  ["POST", "/api/chat/resume", { pausePointId: `${id}.1`, version: 1, decision: "approve", reply: "fine" }],
  ["POST", "/api/chat/resume", { pausePointId: `${id}.1`, resolution: "rejected", freeformReply: "no" }],
  ["POST", "/api/chat/resume", { pausePointId: `${id}.2`, resolution: HERE }],
  [
    "POST",
    "/api/chat/resume",
    {
      decisions: [
        { pausePointId: `${id}.1`, decision: "approve" },
        { pausePointId: `${id}.2`, decision: "reject" },
      ],
    },
  ],
  ["POST", "/api/conversations", { title: "a title", skill: "treasurer" }],
  ["PATCH", `/api/conversations/${id}`, { title: "another" }],
  ["PATCH", `/api/conversations/${id}`, { head: "u1", withdraw: true }],
  ["POST", `/api/conversations/${id}/cancel`, { runId: "r1" }],
  ["PUT", `/api/conversations/${id}/members/dora`, { role: "approver" }],
  ["DELETE", `/api/conversations/${id}/members/vic`, null],
  ["DELETE", `/api/conversations/${id}`, null],
  ["POST", `/api/conversations/${id}/reindex`, null],
  ["POST", "/api/reindex", { after: id }],
  ["POST", "/auth/local", { name: "ana" }],
  ...["", "?limit=5&cursor=1~c_1"].map((query): [string, string, null] => ["GET", `/api/conversations${query}`, null]),
  ...["", "/messages?limit=1&before=2", "/messages/m2"].map((rest): [string, string, null] => ["GET", `/api/conversations/${id}${rest}`, null]),
  ["GET", `/api/chat/${id}/stream`, null],
  ["GET", "/api/approvals?state=pending&limit=3", null],
  ["GET", `/api/approvals/${id}.1`, null],
  ["GET", `/api/status?conversation=${id}`, null],
  ["GET", "/api/me", null],
  ["GET", "/api/ledger", null],
  ["GET", "/healthz", null],
];

const base = { person: "ana", method: "GET", path: "", headers: {} };
const chatFrames: object[] = [
  ...CHATS.map((body, n) => ({ type: "send", requestId: `r${n}`, headers: {}, body: {}, ...body })),
  { type: "resume", requestId: "r8", id, headers: { "x-device-id": "d" }, body: {} },
  { type: "abort", requestId: "r8" },
];

export const HONEST: Input[] = [
  ...FRAMES.map((frame): Input => ({ ...base, entry: "socket", text: JSON.stringify(frame) })),
  ...chatFrames.map((frame): Input => ({ ...base, entry: "chat socket", text: JSON.stringify(frame) })),
  ...BODIES.map(([method, path, body]): Input => ({ ...base, entry: "http", method, path, text: body === null ? "" : JSON.stringify(body) })),
];
