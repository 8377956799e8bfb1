import { abortAllDurableObjects, runInDurableObject, SELF } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { byteLength } from "../../src/protocol/json.js";
import { say, ScriptedModel, type Answer } from "../kit/model.js";
import { control, resetControl } from "./entry.js";
import { api, BASE, Device, migrateD1, newConversation, stubOf } from "./kit.js";

beforeEach(migrateD1);
afterEach(async () => {
  resetControl();
  await abortAllDurableObjects();
});

const TRANSFER = "Transfer 250 EUR from operations to savings";

/** Everything that changes the journal in a way that a client could see. */
const seqOf = (id: string): Promise<number> => runInDurableObject(stubOf(id), (_, state) => state.storage.sql.exec<{ seq: number }>("SELECT seq FROM conversation").one().seq);

describe("hostile and broken clients", () => {
  it("[S8] [C45] frames of every broken kind get an error or a close, and others notice nothing", async () => {
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    await laptop.say(TRANSFER);
    await laptop.rest("suspended");
    const seq = await seqOf(id);
    const frames = laptop.frames.length;
    const errors = [
      "",
      "{",
      "null",
      "[]",
      '"x"',
      "{}",
      '{"type":"nonsense"}',
      '{"type":"send"}',
      '{"type":"decide","opId":"x"}',
      `{"type":"send","opId":"x","messageId":"y","text":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
      '{"type":"hello","protocol":"1"}',
      "\u{FFFD}\u0000",
    ];
    const hostile = await Device.connect(id, "ana", "hostile");
    for (const text of errors) {
      const before = hostile.frames.length;
      hostile.socket.send(text);
      await hostile.until(() => hostile.frames.slice(before).find((frame) => frame.type === "error" || (frame.type === "ack" && frame.status === "rejected")));
    }
    for (const data of [new ArrayBuffer(8), "x".repeat(256 * 1024 + 1), "x".repeat(1024 * 1024)]) {
      const device = await Device.connect(id, "ana", "hostile");
      device.socket.send(data);
      await device.until(() => device.closedWith !== null).catch(() => {});
      expect(device.closedWith).toBe(4400);
    }
    const flood = await Device.connect(id, "ana", "flood");
    for (let n = 0; n < 1000; n += 1) flood.socket.send("{");
    await flood.until(() => flood.closedWith !== null).catch(() => {});
    expect(flood.closedWith).toBe(4429);
    expect(await seqOf(id)).toBe(seq);
    expect(laptop.closedWith).toBeNull();
    expect(laptop.frames.slice(frames).filter((frame) => frame.type !== "presence")).toEqual([]);
  });

  it("[S6] a device that does not say what it has seen gets no more deltas, but every change", async () => {
    const slowly: Answer = async function* () {
      yield { type: "text-start", id: "t" };
      for (let n = 0; n < 40; n += 1) {
        yield { type: "text-delta", id: "t", delta: "y".repeat(20_000) };
        await scheduler.wait(5);
      }
      yield { type: "text-end", id: "t" };
    };
    control.model = new ScriptedModel().plan(slowly, slowly, say("done")).model;
    const id = await newConversation();
    const slow = await Device.connect(id, "ana", "slow");
    const quick = await Device.connect(id, "ben", "quick");
    const deltas = (device: Device): number => device.frames.filter((frame) => frame.type === "delta").length;
    for (let turn = 1; turn <= 3; turn += 1) {
      await quick.say(`${turn}`);
      await Promise.all([slow, quick].map((device) => device.until(() => device.run?.runId === `r${turn}` && device.run.status === "completed")));
      quick.send({ type: "seen", n: 0, seq: quick.seq });
      if (turn === 1) expect(deltas(slow)).toBeGreaterThan(0);
    }
    const missed = deltas(quick) - deltas(slow);
    expect(missed).toBeGreaterThan(3);
    expect(slow.text).toBe(quick.text);
  });

  it("[S6] a device that asks for ever more without saying what it has seen is closed with 4429", async () => {
    control.model = new ScriptedModel().model;
    const id = await newConversation();
    const greedy = await Device.connect(id, "ana", "greedy");
    for (let turn = 1; turn <= 15; turn += 1) {
      await greedy.say(`${turn} ${"é".repeat(7_500)}`);
      await greedy.until(() => greedy.run?.runId === `r${turn}` && greedy.run.status === "completed");
    }
    const last = [...greedy.messages.values()].at(-1)!;
    for (let n = 0; n < 60; n += 1) greedy.socket.send(JSON.stringify({ type: "older", opId: `${n}`, before: last.messageId }));
    await greedy.until(() => greedy.closedWith !== null).catch(() => {});
    expect(greedy.closedWith).toBe(4429);
    // Counted in bytes, not in characters: no more than the limit and the frame that passed it.
    const bytes = greedy.frames.reduce((sum, frame) => sum + byteLength(JSON.stringify(frame)), 0);
    expect(bytes).toBeLessThan(5 * 1024 * 1024);
  });

  it("[C46] a socket or a POST from a foreign origin is refused", async () => {
    const id = await newConversation();
    const headers = { authorization: "Bearer local:ana", origin: "https://evil.example" };
    expect((await SELF.fetch(`${BASE}/api/conversations/${id}/socket`, { headers: { ...headers, upgrade: "websocket" } })).status).toBe(403);
    expect(await api("ana", "POST", "/api/conversations", {}, { origin: "https://evil.example" })).toMatchObject({ status: 403, body: { code: "foreign_origin" } });
    expect((await api("ana", "POST", "/api/conversations", {}, { origin: "http://localhost" })).status).toBe(201);
  });

  it("an object without a conversation writes nothing, whatever is asked of it", async () => {
    const unknown = `c_${"7".repeat(32)}`;
    expect((await api("ana", "GET", `/api/conversations/${unknown}`)).status).toBe(404);
    expect((await api("ana", "POST", "/api/chat/resume", { pausePointId: `${unknown}.1`, decision: "approve" })).status).toBe(404);
    expect((await api("ana", "POST", `/api/conversations/${unknown}/cancel`, { runId: "r1" })).status).toBe(404);
    expect((await api("ana", "DELETE", `/api/conversations/${unknown}`)).status).toBe(404);
    expect(
      await runInDurableObject(stubOf(unknown), (_, state) => state.storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'").toArray()),
    ).toEqual([]);
  });
});
