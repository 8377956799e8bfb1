import { runInDurableObject, SELF } from "cloudflare:test";
import { expect } from "vitest";
import type { Json } from "../../src/protocol/json.js";
import { getLocation } from "../../src/tools/get-location.js";
import { propose, say } from "../kit/model.js";
import { pay, type Scripted } from "./chat-kit.js";
import { Frames } from "./chat-frames.js";
import { control } from "./entry.js";
import { api, BASE, Device, newConversation, stubOf } from "./kit.js";

// Every entry by which something of a client's reaches a conversation, behind one face, so that one test goes to all of them.

/** What a door said: `ok`, or the code of the refusal; `closed 44xx` for a socket that was closed. */
type Said = string;

export interface Scene {
  id: string;
  /** Another device of the conversation. */
  witness: Device;
}

interface Answer {
  person?: string;
  card: string;
  approved?: boolean;
  reply?: string;
  /** Fields that a hostile client adds. */
  more?: object;
}

interface Text {
  person?: string;
  messageId: string;
  text: string;
  /** A history that stands before it. */
  history?: object[];
}

export interface Door {
  /** Which card of the scene this entry answers: 1 asks for an approval, 2 asks a device. */
  card: 1 | 2;
  answer(scene: Scene, answer: Answer): Promise<Said>;
  /** Supplies a made-up output for the call that only the server may run. */
  supply(scene: Scene, output: Json): Promise<Said>;
  say: ((scene: Scene, text: Text) => Promise<Said>) | null;
  /** What is no frame, and no body, of this entry. */
  broken(scene: Scene): (string | ArrayBuffer)[];
  raw(scene: Scene, data: string | ArrayBuffer): Promise<Said>;
  /** Comes from a page of this origin. */
  from(scene: Scene, origin: string): Promise<number>;
}

export const HERE = { latitude: 52.5, longitude: 13.4, accuracyMeters: 20 };

/** A run that waits for an approval and for a device of ana's. */
export async function scene(script: Scripted): Promise<Scene> {
  control.tools?.set(getLocation.name, getLocation);
  script.model.plan([...pay("bob"), ...propose("get_location", { reason: "for the weather" })], say("Done."));
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  await laptop.say("go", { messageId: "u1" });
  await laptop.rest("suspended");
  const witness = await Device.connect(id, "ben");
  return { id, witness };
}

/** Every row that the conversation has, but for what has been told to D1. */
export const rows = (id: string): Promise<string> =>
  runInDurableObject(stubOf(id), (_, { storage: { sql } }) => {
    const tables = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY name").toArray();
    return JSON.stringify(
      tables.map(({ name }) => [
        name,
        sql
          .exec(`SELECT * FROM "${name}" ORDER BY 1, 2`)
          .toArray()
          .map(({ mirrored: _, ...row }) => row),
      ]),
    );
  });

/** Does something, and checks that it changed no row and that the other device heard nothing of it. */
export async function changesNothing<T>({ id, witness }: Scene, work: () => Promise<T>): Promise<T> {
  const [before, heard] = [await rows(id), witness.frames.length];
  const result = await work();
  expect(await rows(id)).toBe(before);
  expect(witness.closedWith).toBeNull();
  expect(witness.frames.slice(heard).filter(({ type }) => type !== "presence")).toEqual([]);
  return result;
}

const saidBy = ({ status, body }: { status: number; body: any }): Said => (status === 200 ? "ok" : body.code);
const NO_JSON = ["{", "nul", '{"a":', "\u{FFFD}\u0000", '"\\ud800'];
const deep = (open: string, close: string): string => open.repeat(5_000) + close.repeat(5_000);
const WRONG_TYPES = ["null", "[]", '"x"', "7", "{}", '{"__proto__":{"decision":"approve"}}'];

const socket: Door = {
  card: 1,
  answer: async ({ id }, { person = "ana", card, approved = true, reply, more }) => {
    const device = await Device.connect(id, person, "hostile");
    if (device.closedWith !== null) return `closed ${device.closedWith}`;
    const ack = await device.command({
      type: "decide",
      opId: crypto.randomUUID(),
      pausePointId: card,
      decision: approved ? "approve" : "reject",
      ...(reply === undefined ? {} : { reply }),
      ...more,
    });
    return ack.status === "applied" || ack.status === "duplicate" ? "ok" : (ack.code ?? ack.status);
  },
  supply: (at, output) => socket.answer(at, { card: `${at.id}.1`, more: { output, result: output, state: "output-available" } }),
  say: async ({ id }, { person = "ana", messageId, text, history }) => {
    const device = await Device.connect(id, person, "hostile");
    if (device.closedWith !== null) return `closed ${device.closedWith}`;
    const ack = await device.command({ type: "send", opId: crypto.randomUUID(), messageId, text, messages: history, parts: history });
    return ack.status === "applied" || ack.status === "duplicate" ? "ok" : (ack.code ?? ack.status);
  },
  broken: () => [
    "",
    ...NO_JSON,
    ...WRONG_TYPES,
    '{"type":"decide","opId":"x"}',
    '{"type":"tool-output","opId":"x","output":1}',
    `{"type":"send","opId":"x","messageId":"y","text":${deep("[", "]")}}`,
    "x".repeat(1024 * 1024),
    new ArrayBuffer(8),
  ],
  raw: async ({ id }, data) => {
    const device = await Device.connect(id, "ana", "hostile");
    const before = device.frames.length;
    device.socket.send(data);
    const said = await device.until(() => device.frames.slice(before).find(({ type }) => type === "error" || type === "ack")).catch(() => null);
    return said === null ? `closed ${device.closedWith}` : said.type === "error" || said.type === "ack" ? (said.code ?? "ok") : "ok";
  },
  from: async ({ id }, origin) =>
    (await SELF.fetch(`${BASE}/api/conversations/${id}/socket`, { headers: { upgrade: "websocket", authorization: "Bearer local:ana", origin } })).status,
};

/** A part of the message that waits, as a stock client sends it back. */
const partOf = ({ card, approved = true, reply, more }: Answer): object => ({
  type: "tool-pay",
  toolCallId: "r1-0-0",
  state: "approval-responded",
  input: { to: "bob", amount: 5 },
  approval: { id: card, approved, ...(reply === undefined ? {} : { reason: reply }) },
  ...more,
});
const deviceOf = ({ approved = true, reply, card, more }: Answer): object => ({
  type: "tool-get_location",
  // The call that a card of the scene is about: its number less one.
  toolCallId: `r1-0-${Number(card.split(".")[1]) - 1}`,
  ...(approved ? { state: "output-available", output: HERE } : { state: "output-error", errorText: reply ?? "no" }),
  ...more,
});
const about = (id: string, part: object): object => ({ id, messageId: "m2", messages: [{ id: "m2", role: "assistant", parts: [{ type: "step-start" }, part] }] });
const texts = (id: string, { messageId, text, history = [] }: Text): object => ({ id, messages: [...history, { id: messageId, role: "user", parts: [{ type: "text", text }] }] });
const brokenBodies = (id: string): string[] => [
  "",
  ...NO_JSON,
  ...WRONG_TYPES,
  JSON.stringify({ id }),
  JSON.stringify({ id, messages: {} }),
  JSON.stringify({ id, messages: [null] }),
  JSON.stringify({ id, messages: [{ id: "m2", role: "tool", parts: [] }] }),
  JSON.stringify({ id: [id], messages: [] }),
  `{"id":"${id}","messages":${deep('[{"a":', "}]")}}`,
  "x".repeat(4 * 1024 * 1024 + 1),
];

type Post = (scene: Scene, person: string, body: object) => Promise<Said>;

/** An entry of the AI SDK's chat: over HTTP or over its socket, for approvals or for the outputs of a device. */
function chatDoor(card: 1 | 2, post: Post, rest: Pick<Door, "broken" | "raw" | "from">): Door {
  const part = card === 1 ? partOf : deviceOf;
  return {
    card,
    answer: (at, answer) => post(at, answer.person ?? "ana", about(at.id, part(answer))),
    supply: (at, output) => post(at, "ana", about(at.id, { ...partOf({ card: `${at.id}.1` }), state: "output-available", output })),
    say: (at, text) => post(at, text.person ?? "ana", texts(at.id, text)),
    ...rest,
  };
}

const origins =
  (path: string, body: (id: string) => object) =>
  async ({ id }: Scene, origin: string) =>
    (await api("ana", "POST", path, body(id), { origin })).status;
const overHttp: Post = async (_, person, body) => saidBy(await api(person, "POST", "/api/chat", body));
const httpRest = {
  broken: ({ id }: Scene) => brokenBodies(id),
  raw: async (_: Scene, data: string | ArrayBuffer) => saidBy(await api("ana", "POST", "/api/chat", data)),
  from: origins("/api/chat", (id) => texts(id, { messageId: "u9", text: "x" })),
};

let requests = 0;
const overSocket: Post = async (_, person, body) => {
  const frames = await Frames.open(person);
  const requestId = `r${(requests += 1)}`;
  frames.send({ type: "send", requestId, headers: {}, body: {}, ...body });
  const last = (await frames.ended(requestId)).at(-1);
  frames.socket.close(1000, "");
  return last?.type === "error" ? JSON.parse(last.errorText ?? "{}").code : "ok";
};
const socketRest = {
  broken: ({ id }: Scene) => [...brokenBodies(id), new ArrayBuffer(8)],
  raw: async (_: Scene, data: string | ArrayBuffer) => {
    const frames = await Frames.open("ana");
    frames.socket.send(data);
    return `closed ${await frames.closed()}`;
  },
  from: async (_: Scene, origin: string) => (await SELF.fetch(`${BASE}/api/chat/socket`, { headers: { upgrade: "websocket", authorization: "Bearer local:ana", origin } })).status,
};

const resume: Door = {
  card: 1,
  answer: async (_, { person = "ana", card, approved = true, reply, more }) =>
    saidBy(await api(person, "POST", "/api/chat/resume", { pausePointId: card, decision: approved ? "approve" : "reject", ...(reply === undefined ? {} : { reply }), ...more })),
  supply: (at, output) => resume.answer(at, { card: `${at.id}.1`, more: { output, result: output, state: "output-available" } }),
  say: null,
  broken: ({ id }) => [
    "",
    ...NO_JSON,
    ...WRONG_TYPES,
    JSON.stringify({ pausePointId: `${id}.1` }),
    JSON.stringify({ pausePointId: `${id}.1`, decision: "maybe" }),
    JSON.stringify({ pausePointId: [`${id}.1`], decision: "approve" }),
    JSON.stringify({ decisions: [] }),
    JSON.stringify({ decisions: [{ pausePointId: `${id}.1`, decision: "approve" }, null] }),
    `{"pausePointId":"${id}.1","decision":"approve","payloadOverride":${deep("[", "]")}}`,
    "x".repeat(4 * 1024 * 1024 + 1),
  ],
  raw: async (_, data) => saidBy(await api("ana", "POST", "/api/chat/resume", data)),
  from: origins("/api/chat/resume", (id) => ({ pausePointId: `${id}.1`, decision: "approve" })),
};

/** A device's answer through the conversation's own socket: values of a decision. */
const deviceSocket: Door = {
  ...socket,
  card: 2,
  answer: (at, answer) => socket.answer(at, { ...answer, more: { ...(answer.approved === false ? {} : { payloadOverride: HERE }), ...answer.more } }),
};

export const DOORS = {
  "the conversation's socket": socket,
  "POST /api/chat": chatDoor(1, overHttp, httpRest),
  "the chat's socket": chatDoor(1, overSocket, socketRest),
  "POST /api/chat/resume": resume,
  "a device's answer on the conversation's socket": deviceSocket,
  "a device's answer by POST /api/chat": chatDoor(2, overHttp, httpRest),
  "a device's answer on the chat's socket": chatDoor(2, overSocket, socketRest),
} satisfies Record<string, Door>;
