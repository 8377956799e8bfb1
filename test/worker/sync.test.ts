import { abortAllDurableObjects, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { LiveAttempt } from "../../src/protocol/frames.js";
import { foldChunks, type LivePart } from "../../src/protocol/fold.js";
import { propose, say, ScriptedModel, type Answer } from "../kit/model.js";
import { listening } from "../release/life.js";
import { control, resetControl } from "./entry.js";
import { api, Device, migrateD1, newConversation, stubOf } from "./kit.js";

beforeEach(migrateD1);
afterEach(async () => {
  vi.useRealTimers();
  resetControl();
  await abortAllDurableObjects();
});

const TRANSFER = "Transfer 250 EUR from operations to savings";

/** Everything that changes the journal in a way that a client could see. */
const seqOf = (id: string): Promise<number> => runInDurableObject(stubOf(id), (_, state) => state.storage.sql.exec<{ seq: number }>("SELECT seq FROM conversation").one().seq);

/** A model that says one character at a time, each when the test asks for it. */
function stepwise(): { answer: Answer; next: (text: string) => Promise<void>; end: () => void } {
  const queue: (string | null)[] = [];
  const answer: Answer = async function* () {
    yield { type: "text-start", id: "t" };
    for (;;) {
      // Polled, for one object's promise must not be settled from outside of it.
      while (queue.length === 0) await scheduler.wait(1);
      const text = queue.shift();
      if (text === null || text === undefined) break;
      yield { type: "text-delta", id: "t", delta: text };
    }
    yield { type: "text-end", id: "t" };
  };
  return {
    answer,
    next: async (text) => {
      queue.push(text);
      while (queue.length > 0) await scheduler.wait(1);
    },
    end: () => void queue.push(null),
  };
}

/** A device's live text, by the rules of S3: replace at a welcome, apply n + 1, drop what is known, say hello at a gap. */
function liveText(device: Device): string {
  let parts: LivePart[] = [];
  let at = { attempt: -1, n: 0 };
  const begin = (live: LiveAttempt): void => {
    parts = foldChunks([], live.chunks);
    at = { attempt: live.attempt, n: live.n };
  };
  for (const frame of device.frames) {
    if (frame.type === "welcome") {
      parts = [];
      at = { attempt: -1, n: 0 };
      if (frame.live) begin(frame.live);
    } else if (frame.type === "delta") {
      if (frame.attempt === at.attempt && frame.n === at.n + 1) {
        foldChunks(parts, frame.chunks);
        at.n = frame.n;
      } else if (frame.n === 1) begin(frame);
      else if (frame.attempt !== at.attempt || frame.n > at.n) throw new Error("a gap: this device would say hello");
    }
  }
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

describe("joining and catching up", () => {
  it("[S1] the welcome names the run and every pending card, and the socket is live from then on", async () => {
    const model = new ScriptedModel().plan([
      ...propose("execute_transfer", { from: "a", to: "b", amount: 500, currency: "EUR" }),
      ...propose("execute_transfer", { from: "a", to: "b", amount: 600, currency: "EUR" }),
    ]);
    control.model = model.model;
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    await laptop.say("two");
    await laptop.rest("suspended");
    const late = await Device.connect(id, "ben", "phone", { epoch: laptop.epoch, seq: laptop.seq });
    expect(late.welcome).toMatchObject({ mode: "delta", messages: [], run: { status: "suspended" }, pausePoints: [{ state: "pending" }, { state: "pending" }] });
    await laptop.say("more");
    await late.until(() => [...late.messages.values()].find((step) => step.delivery === "queued"));
  });

  it("[S2] [C30] an old epoch, a seq beyond the server's, two hellos, or none: a snapshot once, never silence", async () => {
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    await laptop.say("say 5 words");
    await laptop.rest("completed");
    for (const has of [{ epoch: "old", seq: 1 }, { epoch: laptop.epoch, seq: laptop.seq + 1000 }, { epoch: laptop.epoch }, { seq: laptop.seq }, {}]) {
      const device = await Device.connect(id, "ana", "tablet", has);
      expect(device.welcome).toMatchObject({ mode: "snapshot" });
      expect(device.text).toBe(laptop.text);
    }
    const twice = await Device.connect(id, "ana", "tablet");
    twice.send({ type: "hello", protocol: 1, device: { id: "tablet", name: "tablet" } });
    await twice.until(() => twice.frames.filter((frame) => frame.type === "welcome").length === 2);
    expect(twice.text).toBe(laptop.text);
    const silent = await Device.open(id, "ana");
    silent.send({ type: "seen", n: 0, seq: 0 });
    await silent.until(() => silent.frames.find((frame) => frame.type === "error" && frame.code === "hello_first"));
  });

  it("[S2] a device that comes back gets just what it missed", async () => {
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    await laptop.say("say 5 words");
    await laptop.rest("completed");
    const { epoch, seq } = laptop;
    await laptop.say("say 6 words");
    await laptop.until(() => laptop.run?.runId === "r2" && laptop.run.status === "completed");
    const back = await Device.connect(id, "ana", "phone", { epoch, seq });
    expect(back.welcome?.mode).toBe("delta");
    expect([...back.messages.values()].map((step) => step.role)).toEqual(["user", "assistant"]);
  });

  it("[S3] [C31] a device that reconnects after every one-character delta ends with the server's text", async () => {
    const script = stepwise();
    control.model = new ScriptedModel().plan(script.answer).model;
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    await laptop.say("go");
    let phone = await Device.connect(id, "ben", "phone");
    for (let n = 1; n <= 100; n += 1) {
      await script.next("a");
      if (n < 20) await phone.until(() => liveText(phone).length === n);
      if (n % 2 === 0) {
        phone.socket.close();
        phone = await Device.connect(id, "ben", "phone");
        expect(liveText(phone)).toBe("a".repeat(n));
      }
    }
    script.end();
    await Promise.all([laptop.rest("completed"), phone.rest("completed")]);
    expect(phone.text).toBe(`go\n${"a".repeat(100)}`);
    expect(phone.text).toBe(laptop.text);
  });

  it("[S3] [H8] after a crash in mid-step the second attempt replaces the first, and no part appears twice", async () => {
    const script = stepwise();
    control.model = new ScriptedModel().plan(script.answer, say("All of it.")).model;
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    await laptop.say("go");
    await script.next("Half");
    await laptop.until(() => liveText(laptop) === "Half");
    await abortAllDurableObjects();
    const again = await Device.connect(id, "ana", "again");
    await again.rest("completed");
    expect(again.text).toBe("go\nAll of it.");
    const attempts = again.frames.filter((frame) => frame.type === "delta").map((frame) => frame.attempt);
    expect(new Set(attempts)).toEqual(attempts.length ? new Set([2]) : new Set());
  });

  it("[C34] before the first token a device that joins sees the run working, and then the text", async () => {
    const script = stepwise();
    control.model = new ScriptedModel().plan(script.answer).model;
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    await laptop.say("go");
    const phone = await Device.connect(id, "ben", "phone");
    expect(phone.welcome).toMatchObject({ run: { status: "running" }, conversation: { state: "running" } });
    await script.next("Here.");
    await phone.until(() => liveText(phone) === "Here.");
    script.end();
    await phone.rest("completed");
    expect(phone.text).toBe("go\nHere.");
  });

  it("[S4] chunks are merged and flushed at most every 40 ms", async () => {
    const id = await newConversation();
    control.model = new ScriptedModel().plan(say("word ".repeat(400))).model;
    const laptop = await Device.connect(id, "ana");
    await laptop.say("go");
    await laptop.rest("completed");
    expect(laptop.frames.filter((frame) => frame.type === "delta").length).toBeLessThan(40);
    expect(laptop.text).toBe(`go\n${"word ".repeat(400)}`);
  });

  it("[S4] the first flush carries the words that came with it, not the news that a text begins", async () => {
    const laptop = await listening();
    expect(laptop.frames.find((frame) => frame.type === "delta")).toMatchObject({ n: 1, chunks: [{ type: "text-start" }, { type: "text-delta", delta: "Well" }] });
  });

  it("[H1] what is committed in one turn is told in one frame: a decision and the start of its call", async () => {
    const laptop = await Device.connect(await newConversation(), "ana");
    await laptop.say(TRANSFER);
    await laptop.decide(await laptop.card(), "approve");
    await laptop.rest("completed");
    const changes = laptop.frames.filter((frame) => frame.type === "change");
    expect(changes.flatMap(({ messages = [] }) => messages.flatMap(({ calls }) => calls.map(({ state }) => state)))).toEqual(["awaiting", "started", "succeeded"]);
    expect(changes.find(({ pausePoints }) => pausePoints?.[0]?.state === "approved")).toMatchObject({ messages: [{ calls: [{ state: "started" }] }] });
    // An acknowledgement comes after what it acknowledges: a client takes its own text off the waiting list then.
    const [ack, change] = [laptop.frames.findIndex(({ type }) => type === "ack"), laptop.frames.findIndex(({ type }) => type === "change")];
    expect(change).toBeLessThan(ack);
  });

  it("[S1] [H20] [C35] a long conversation opens with its newest page, and goes back page by page", async () => {
    const id = await newConversation();
    control.model = new ScriptedModel().model;
    const laptop = await Device.connect(id, "ana");
    for (let turn = 1; turn <= 40; turn += 1) {
      await laptop.say(`text ${turn} ${"x".repeat(2000)}`);
      await laptop.until(() => laptop.run?.runId === `r${turn}` && laptop.run.status === "completed");
    }
    const phone = await Device.connect(id, "ana", "phone");
    expect(phone.welcome).toMatchObject({ hasOlder: true });
    expect(phone.messages.size).toBe(60);
    const oldest = [...phone.messages.values()].toSorted((a, b) => a.position - b.position)[0]!;
    phone.socket.send(JSON.stringify({ type: "older", opId: "p", before: oldest.messageId }));
    await phone.until(() => phone.frames.find((frame) => frame.type === "page"));
    expect(phone.text).toBe(laptop.text);
    const before = JSON.stringify(phone.frames).length;
    await laptop.say("short");
    await phone.until(() => phone.run?.runId === "r41" && phone.run.status === "completed");
    expect(JSON.stringify(phone.frames).length - before).toBeLessThan(6000);
  });

  it("[S9] presence that has not changed is not sent again, however much happens; a change is", async () => {
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    const phone = await Device.connect(id, "ben", "phone");
    const lists = (): number => laptop.frames.filter((frame) => frame.type === "presence").length;
    vi.useFakeTimers({ toFake: ["Date"] });
    const later = (): void => void vi.setSystemTime(Date.now() + 2000);
    later();
    await laptop.say("say 3 words");
    await laptop.rest("completed");
    const known = lists();
    for (let turn = 2; turn < 5; turn += 1) {
      later();
      await laptop.say("say 3 words");
      await laptop.until(() => laptop.run?.runId === `r${turn}` && laptop.run.status === "completed");
    }
    expect(lists()).toBe(known);
    later();
    phone.socket.close();
    await laptop.until(() => lists() === known + 1);
  });

  it("[S9] [C36] presence lists people and devices, and forgets one that has not been heard from for a minute", async () => {
    const id = await newConversation();
    const devices = [await Device.connect(id, "ana", "laptop"), await Device.connect(id, "ana", "tablet"), await Device.connect(id, "ana", "phone")];
    expect(devices[2]!.welcome?.devices.map((one) => `${one.person} ${one.device.name}`).toSorted()).toEqual(["ana laptop", "ana phone", "ana tablet"]);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
    const ben = await Device.connect(id, "ben", "ben's phone");
    expect(ben.welcome?.devices.map((one) => one.person)).toEqual(["ben"]);
  });
});

describe("commands", () => {
  it("[S5] [C33] a text resent after a lost ack is one message, acknowledged as a duplicate; an opId means one thing", async () => {
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    const frame = { type: "send", opId: "op", messageId: "msg", text: "say 3 words" } as const;
    expect((await laptop.command(frame)).status).toBe("applied");
    laptop.socket.close();
    await evictDurableObject(stubOf(id), { webSockets: "close" });
    const again = await Device.connect(id, "ana");
    expect((await again.command(frame)).status).toBe("duplicate");
    expect(await again.command({ ...frame, text: "another" })).toMatchObject({ status: "rejected", code: "op_reused" });
    expect(await again.command({ ...frame, messageId: "other" })).toMatchObject({ status: "rejected", code: "op_reused" });
    expect(await again.command({ type: "cancel", opId: "op", runId: "r1" })).toMatchObject({ status: "rejected", code: "op_reused" });
    await again.rest("completed");
    expect([...again.messages.values()].filter((step) => step.role === "user")).toHaveLength(1);
    const ben = await Device.connect(id, "ben");
    expect((await ben.command({ ...frame, messageId: "bens", text: "say 2 words" })).status).toBe("applied");
  });

  it("[S5] a decision's opId repeated is a duplicate, for another card or verdict it is refused", async () => {
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    await laptop.say(TRANSFER);
    const card = await laptop.card();
    expect((await laptop.decide(card, "reject", { opId: "d" })).status).toBe("applied");
    expect((await laptop.decide(card, "reject", { opId: "d" })).status).toBe("duplicate");
    expect(await laptop.decide(card, "approve", { opId: "d" })).toMatchObject({ status: "rejected", code: "op_reused" });
    expect(await laptop.command({ type: "decide", opId: "d", pausePointId: `${id}.99`, decision: "reject" })).toMatchObject({ status: "rejected", code: "op_reused" });
  });

  it("[C42] a viewer's every kind of command is rejected and changes nothing", async () => {
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    await laptop.say(TRANSFER);
    const card = await laptop.card();
    await laptop.rest("suspended");
    const viewer = await Device.connect(id, "vic");
    expect(viewer.welcome?.you).toEqual({ person: "vic", role: "viewer" });
    const seq = await seqOf(id);
    for (const command of [
      { type: "send", messageId: "v", text: "hi" },
      { type: "send", messageId: "v", text: "hi", withdraw: true },
      { type: "decide", pausePointId: card.id, version: 1, decision: "approve" },
      { type: "decide", pausePointId: card.id, version: 1, decision: "reject" },
      { type: "cancel", runId: "r1" },
    ] as const) {
      expect(await viewer.command(command)).toMatchObject({ status: "rejected", code: "forbidden" });
    }
    expect(await seqOf(id)).toBe(seq);
    expect((await api("vic", "POST", "/api/chat/resume", { pausePointId: card.id, decision: "approve" })).status).toBe(403);
  });

  it("[S7] an outsider's socket is closed with 4404, whether the conversation exists or not; one removed with 4403", async () => {
    const id = await newConversation();
    for (const [conversation, person] of [
      [id, "mallory"],
      [`c_${"9".repeat(32)}`, "ana"],
    ] as const) {
      const device = await Device.open(conversation, person);
      await device.until(() => device.closedWith !== null).catch(() => {});
      expect(device.closedWith).toBe(4404);
    }
    const ben = await Device.connect(id, "ben");
    expect((await api("ana", "DELETE", `/api/conversations/${id}/members/ben`)).status).toBe(204);
    await ben.until(() => ben.closedWith !== null).catch(() => {});
    expect(ben.closedWith).toBe(4403);
  });

  it("[S7] a hello in another protocol is closed with 4426", async () => {
    const id = await newConversation();
    const device = await Device.open(id, "ana");
    device.send({ type: "hello", protocol: 2, device: { id: "d", name: "d" } });
    await device.until(() => device.closedWith !== null).catch(() => {});
    expect(device.closedWith).toBe(4426);
  });

  it("[S5] a command that fails here closes its socket, for on one that stays open a device would wait for ever", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const id = await newConversation();
    const laptop = await Device.connect(id, "ana");
    control.transaction = (name) => {
      if (name === "send") throw new Error("The disk is full.");
      return "live";
    };
    const text = { type: "send", opId: "once", messageId: "u1", text: "hello" } as const;
    laptop.send(text);
    await laptop.until(() => laptop.closedWith !== null).catch(() => {});
    expect(laptop.closedWith).toBe(1011);
    control.transaction = null;
    const again = await Device.connect(id, "ana");
    expect(await again.command(text)).toMatchObject({ status: "applied" });
  });
});
