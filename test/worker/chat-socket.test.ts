import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import type { Chunk } from "../../src/protocol/frames.js";
import { say } from "../kit/model.js";
import { pay, useScript } from "./chat-kit.js";
import { Frames } from "./chat-frames.js";
import { api, Device, newConversation, stubOf } from "./kit.js";

// What a stock client's WebSocketChatTransport is given, frame by frame.

const script = useScript();

const decide = (card: string, decision: "approve" | "reject") => api("ana", "POST", "/api/chat/resume", { pausePointId: card, decision });

interface Kept {
  chatOf: string;
  held: string | null;
  streaming: boolean;
}
/** What the object keeps with each socket of a chat client. */
const kept = (id: string): Promise<Kept[]> => runInDurableObject(stubOf(id), (_, state) => state.getWebSockets("chat").map((socket) => socket.deserializeAttachment() as Kept));

const heldBy = (id: string, requestId: string): Promise<unknown> =>
  vi.waitUntil(async () => (await kept(id)).some(({ held }) => held === requestId), { interval: 1, timeout: 5000 });

/** A conversation whose card waits, a minute after it came to rest, and a socket of ana's whose resume is held. */
async function holding(...later: Chunk[][]): Promise<{ id: string; card: string; page: Frames }> {
  script.model.plan(pay("a"), ...later);
  const id = await newConversation();
  const first = await Frames.open("ana");
  first.say(id, "u1", "go");
  await first.ended("u1");
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
  const page = await Frames.open("ana");
  page.resume(id, "held");
  await heldBy(id, "held");
  return { id, card: `${id}.1`, page };
}

const halting = async function* (): AsyncGenerator<Chunk> {
  yield* say("The first half, ").slice(0, -1);
  await script.released;
  yield { type: "text-delta", id: "t", delta: "and the second." };
  yield { type: "text-end", id: "t" };
};

describe("requests on one socket", () => {
  it("[C31] every request counts its chunks from 0 and ends with one frame; a resume begins with start", async () => {
    script.model.plan(say("One."), say("Two."));
    const id = await newConversation();
    const page = await Frames.open("ana");
    page.say(id, "u1", "first");
    await page.ended("u1");
    page.say(id, "u2", "second");
    await page.ended("u2");
    page.resume(id, "r1");
    for (const request of ["u1", "u2", "r1"]) {
      const frames = await page.ended(request);
      const chunks = frames.filter(({ type }) => type === "chunk");
      expect(chunks.map(({ sequence }) => sequence)).toEqual(chunks.map((_, place) => place));
      expect(chunks[0]?.chunk).toEqual({ type: "start", messageId: request === "u1" ? "m2" : request === "u2" ? "m4" : expect.stringMatching(/^m[24]$/) });
      expect(frames.map(({ type }) => type)).toEqual([...(request === "r1" ? ["start"] : []), ...chunks.map(() => "chunk"), "end"]);
    }
  });

  it("[H4] abort ends the frames of its request and nothing else: the run goes on, and so does the socket", async () => {
    script.model.plan(halting);
    const id = await newConversation();
    const page = await Frames.open("ana");
    page.say(id, "u1", "go");
    await page.until(() => page.of("u1").some(({ chunk }) => chunk?.type === "text-delta"));
    page.send({ type: "abort", requestId: "u1" });
    await vi.waitUntil(async () => (await kept(id)).every(({ streaming }) => !streaming), { interval: 1, timeout: 5000 });
    const frames = page.of("u1").length;
    script.release();
    await vi.waitUntil(async () => (await api("ana", "GET", `/api/conversations/${id}`)).body.run.status === "completed", { interval: 1, timeout: 5000 });
    page.resume(id, "r1");
    expect(JSON.stringify(await page.ended("r1"))).toContain("and the second.");
    expect(page.of("u1")).toHaveLength(frames);
  });

  it("[C29] the device is the one that the frame names, and who decides is who opened the socket", async () => {
    const { id, card, page } = await holding(say("Done."));
    const answered = { type: "tool-pay", state: "approval-responded", approval: { id: card, approved: true } };
    const headers = { authorization: "Bearer local:ana", "x-device-id": "tablet-1", "x-device-name": "ana’s tablet" };
    page.send({ type: "send", requestId: "a1", id, messageId: "m2", headers, body: {}, messages: [{ id: "m2", role: "assistant", parts: [{ type: "step-start" }, answered] }] });
    await page.ended("a1");
    expect((await api("ana", "GET", `/api/approvals/${card}`)).body).toMatchObject({ state: "approved", decidedBy: "ana", decidedDevice: "ana’s tablet", decidedVia: "socket" });
  });
});

describe("a resume that is held", () => {
  it("[C28] [C17] nothing is answered while nothing happens; what another device does is pushed, from the beginning, though the object slept meanwhile", async () => {
    const { id, card, page } = await holding(say("Done."));
    await runInDurableObject(stubOf(id), (object) => void Object.assign(object, { awake: true }));
    await evictDurableObject(stubOf(id));
    expect(await runInDurableObject(stubOf(id), (object) => "awake" in object)).toBe(false);
    expect(page.frames).toEqual([]);
    expect((await decide(card, "approve")).status).toBe(200);
    const frames = await page.ended("held");
    expect(frames.map(({ type }) => type)).toEqual(["start", ...frames.slice(2).map(() => "chunk"), "end"]);
    expect(frames.flatMap(({ chunk }) => (chunk ? [chunk.type] : []))).toEqual(expect.arrayContaining(["tool-approval-response", "tool-output-available", "finish"]));
    expect(frames[1]).toMatchObject({ sequence: 0, chunk: { type: "start", messageId: "m2" } });
    expect(script.runs).toHaveLength(1);
  });

  it("[C17] it is no request in progress and sets no alarm: the object can sleep, again and again", async () => {
    const { id, card, page } = await holding();
    const { expiresAt } = (await api("ana", "GET", `/api/approvals/${card}`)).body;
    for (let night = 0; night < 3; night += 1) {
      await evictDurableObject(stubOf(id));
      // The only time that is due is the card's deadline.
      expect(await runInDurableObject(stubOf(id), (_, state) => state.storage.getAlarm())).toBe(expiresAt);
    }
    expect(await kept(id)).toContainEqual(expect.objectContaining({ held: "held", streaming: false }));
    expect([page.frames, page.closedWith]).toEqual([[], null]);
  });

  it("[C28] a title, a member, a text that waits: what an AI SDK client can't show is not pushed", async () => {
    const { id, card, page } = await holding(say("Done."));
    await api("ana", "PATCH", `/api/conversations/${id}`, { title: "Another" });
    await api("ana", "PUT", `/api/conversations/${id}/members/eve`, { role: "viewer" });
    await api("ana", "POST", "/api/chat", { id, messages: [{ id: "u2", role: "user", parts: [{ type: "text", text: "and this" }] }] });
    expect(await kept(id)).toContainEqual(expect.objectContaining({ held: "held" }));
    expect(page.frames).toEqual([]);
    await decide(card, "reject");
    expect((await page.ended("held")).flatMap(({ chunk }) => (chunk?.type === "start" ? [chunk["messageId"]] : []))).toEqual(["m2", "m4"]);
  });

  it("[C28] one that comes before its conversation waits for the first text, whose answer it is not shown twice, and is held from then on", async () => {
    script.model.plan(pay("a"), say("Done."));
    const page = await Frames.open("zoe");
    page.resume("a new chat", "early");
    page.resume("a new chat", "held");
    expect(await page.ended("early")).toEqual([{ type: "no-active", requestId: "early" }]);
    page.say("a new chat", "u1", "go");
    const request = (await page.ended("u1")).find(({ chunk }) => chunk?.type === "tool-approval-request");
    expect(page.of("held")).toEqual([]);
    expect((await api("zoe", "POST", "/api/chat/resume", { pausePointId: request?.chunk?.["approvalId"], decision: "approve" })).status).toBe(200);
    expect((await page.ended("held")).at(-1)?.type).toBe("end");
  });

  it("[C28] a newer one takes its place, and an aborted one is not answered", async () => {
    const { id, card, page } = await holding(say("Done."));
    page.resume(id, "newer");
    expect(await page.ended("held")).toEqual([{ type: "no-active", requestId: "held" }]);
    await heldBy(id, "newer");
    page.send({ type: "abort", requestId: "newer" });
    await vi.waitUntil(async () => (await kept(id)).every(({ held }) => held === null), { interval: 1, timeout: 5000 });
    await decide(card, "approve");
    page.resume(id, "last");
    await page.ended("last");
    expect(page.of("newer")).toEqual([]);
  });

  it("[C28] one who was just brought up to date is not shown the same again, so that a client may resume whenever it is at rest", async () => {
    script.model.plan(pay("a"), say("Done."));
    const id = await newConversation();
    const page = await Frames.open("ana");
    page.say(id, "u1", "go");
    await page.ended("u1");
    page.resume(id, "r1");
    await page.ended("r1");
    page.resume(id, "r2");
    await heldBy(id, "r2");
    await decide(`${id}.1`, "approve");
    await page.ended("r2");
    page.resume(id, "r3");
    await heldBy(id, "r3");
  });

  it("[C28] what its own client asks for is answered there, once, and it stays held", async () => {
    const { id, card, page } = await holding(say("Done."), pay("b"), say("Done."));
    const answered = { type: "tool-pay", state: "approval-responded", approval: { id: card, approved: true } };
    page.send({ type: "send", requestId: "a1", id, headers: {}, body: {}, messages: [{ id: "m2", role: "assistant", parts: [{ type: "step-start" }, answered] }] });
    await page.ended("a1");
    page.say(id, "u2", "more");
    await page.ended("u2");
    await heldBy(id, "held");
    expect(page.of("held")).toEqual([]);
    await decide(`${id}.2`, "approve");
    await page.ended("held");
  });

  it("[C32] an object that closes its sockets, or forgets an answer in mid-word, is a lost connection and never silence", async () => {
    const { id, page } = await holding();
    await evictDurableObject(stubOf(id), { webSockets: "close" });
    expect(await page.closed()).toBe(1012);
    const other = await Frames.open("ana");
    other.resume(id, "r1");
    await heldBy(id, "r1");
    // As if it had slept while it was answering.
    await runInDurableObject(stubOf(id), (_, state) => {
      for (const socket of state.getWebSockets("chat")) socket.serializeAttachment({ ...(socket.deserializeAttachment() as Kept), streaming: true });
    });
    await evictDurableObject(stubOf(id));
    await api("ana", "GET", `/api/conversations/${id}`);
    expect(await other.closed()).toBe(1012);
  });
});

describe("chat sockets beside the devices' own", () => {
  it("[S9] they are nobody's device: not in presence, no welcome, no change", async () => {
    const { id, card, page } = await holding(say("Done."));
    const laptop = await Device.connect(id, "ben");
    expect(laptop.welcome?.devices.map(({ person }) => person)).toEqual(["ben"]);
    await laptop.say("hello");
    expect(page.frames).toEqual([]);
    await decide(card, "reject");
    const types = (await page.ended("held")).map(({ type }) => type);
    expect(new Set(types)).toEqual(new Set(["start", "chunk", "end"]));
    await laptop.rest("completed");
  });

  it("[C42] who is removed gets what was said so far and no more; who deletes the conversation ends it for all", async () => {
    script.model.plan(halting);
    const id = await newConversation();
    const phone = await Device.connect(id, "ana");
    const [ana, ben] = [await Frames.open("ana"), await Frames.open("ben")];
    ben.say(id, "b1", "go");
    await ben.until(() => ben.of("b1").some(({ chunk }) => chunk?.type === "text-delta"));
    ana.resume(id, "a1");
    await ana.until(() => ana.of("a1").some(({ chunk }) => chunk?.type === "text-delta"));
    expect((await api("ana", "DELETE", `/api/conversations/${id}/members/ben`)).status).toBe(204);
    expect((await ben.ended("b1")).at(-1)?.type).toBe("end");
    ben.resume(id, "b2");
    ben.say(id, "b3", "still here?");
    expect(await ben.refusal("b3")).toMatchObject({ status: 404, code: "not_found" });
    expect(ben.of("b2")).toEqual([]);
    expect(ana.of("a1").some(({ type }) => type === "end")).toBe(false);
    expect((await api("ana", "DELETE", `/api/conversations/${id}`)).status).toBe(204);
    expect((await ana.ended("a1")).at(-1)?.type).toBe("end");
    ana.say(id, "a2", "gone?");
    expect(await ana.refusal("a2")).toMatchObject({ status: 404 });
    expect([phone.closedWith, ana.closedWith, ben.closedWith]).toEqual([4404, null, null]);
  });

  it("[C42] [H15] a held resume of who is removed, or of a conversation that is deleted, stays silent and costs no other chat its connection", async () => {
    const { id, card, page } = await holding(say("Done."), say("Yes?"));
    const ben = await Frames.open("ben");
    ben.resume(id, "b1");
    await heldBy(id, "b1");
    expect((await api("ana", "DELETE", `/api/conversations/${id}/members/ben`)).status).toBe(204);
    await decide(card, "approve");
    await page.ended("held");
    expect(ben.frames).toEqual([]);
    expect((await api("ana", "PUT", `/api/conversations/${id}/members/ben`, { role: "approver" })).status).toBe(204);
    page.say(id, "u2", "and now?");
    expect(JSON.stringify(await ben.ended("b1"))).toContain("Yes?");
    const quiet = await newConversation();
    await Device.connect(quiet, "ana");
    page.resume(quiet, "r1");
    await heldBy(quiet, "r1");
    expect((await api("ana", "DELETE", `/api/conversations/${quiet}`)).status).toBe(204);
    page.say(quiet, "u3", "gone?");
    expect(await page.refusal("u3")).toMatchObject({ status: 404 });
    expect([page.of("r1"), page.closedWith]).toEqual([[], null]);
  });
});
