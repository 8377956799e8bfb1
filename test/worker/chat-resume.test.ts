import { abortAllDurableObjects } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { propose, say } from "../kit/model.js";
import { useScript } from "./chat-kit.js";
import { control } from "./entry.js";
import { api, Device, newConversation } from "./kit.js";

// POST /api/chat/resume: the table of answers to a decision.

const script = useScript();

/** A conversation whose agent waits for these payments to be approved: the ids of their cards. */
async function waiting(...amounts: number[]): Promise<{ device: Device; cards: string[]; id: string }> {
  const id = await newConversation();
  const device = await Device.connect(id, "ana");
  script.model.plan(amounts.flatMap((amount) => propose("pay", { to: "bob", amount })));
  await device.say("go");
  await device.rest("suspended");
  return { id, device, cards: [...device.cards.keys()].toSorted() };
}

const PHONE = { "x-device-id": "p1", "x-device-name": "ben's phone" };
const decide = (person: string, body: unknown) => api(person, "POST", "/api/chat/resume", body, PHONE);
const approve = (pausePointId: string, more = {}) => ({ pausePointId, decision: "approve", ...more });
const reject = (pausePointId: string, more = {}) => ({ pausePointId, decision: "reject", ...more });

describe("one decision over HTTP", () => {
  it("[H3] [C44] the first is 200 and script.runs; the same again, from anyone, is 200 with the winner's; another is 409 with how it ended", async () => {
    const { device, cards } = await waiting(5);
    const [card = ""] = cards;
    const first = await decide("ben", approve(card, { reply: "fine" }));
    expect([first.status, first.body.code, first.body.pausePoint]).toEqual([
      200,
      "decided",
      expect.objectContaining({ state: "approved", decidedBy: "ben", decidedDevice: "ben's phone", decidedVia: "http", reply: "fine" }),
    ]);
    await device.rest("completed");
    const same = await decide("ana", approve(card, { reply: "other words" }));
    expect([same.status, same.body.code, same.body.pausePoint]).toEqual([200, "same", first.body.pausePoint]);
    const other = await decide("ana", reject(card));
    expect([other.status, other.body.code, other.body.pausePoint]).toEqual([409, "conflict", first.body.pausePoint]);
    expect((await decide("ana", approve(card, { payloadOverride: { to: "eve", amount: 5 } }))).body.code).toBe("conflict");
    // Written out, but changing nothing: the same decision (C56).
    expect((await decide("ana", approve(card, { payloadOverride: { to: "bob", amount: 5 } }))).body.code).toBe("same");
    expect(script.runs).toHaveLength(1);
    expect(script.model.requests).toHaveLength(2);
  });

  it("[C23] a card that was cancelled with its run is 409", async () => {
    const { id, device, cards } = await waiting(5);
    await api("ana", "POST", `/api/conversations/${id}/cancel`, { runId: "r1" });
    await device.rest("cancelled");
    expect((await decide("ana", approve(cards[0]!))).body).toMatchObject({ status: 409, code: "conflict", pausePoint: { state: "cancelled" } });
    expect(script.runs).toEqual([]);
  });

  it("[H11] after the deadline it is 410, the card is expired, and no approval is recorded", async () => {
    control.limits = { expiresInMs: 1 };
    const id = await newConversation();
    const device = await Device.connect(id, "ana");
    script.model.plan(propose("pay", { to: "bob", amount: 5 }), say("Nobody decided."));
    await device.say("go");
    const card = await device.until(() => [...device.cards.values()][0]);
    await device.until(() => Date.now() > (card.expiresAt ?? 0));
    expect((await decide("ana", approve(card.id))).body).toMatchObject({ status: 410, code: "expired", pausePoint: { state: "expired", decision: null, decidedBy: null } });
    await device.rest("completed");
    expect(script.runs).toEqual([]);
  });

  it("[H12] another version than the card's is 409 changed and consumes nothing; so does an edit that a stricter rule applies to", async () => {
    const { cards } = await waiting(5);
    const [card = ""] = cards;
    expect((await decide("ana", approve(card, { version: 7 }))).body).toMatchObject({ status: 409, code: "changed", pausePoint: { state: "pending", version: 1 } });
    const stricter = await decide("ana", approve(card, { version: 1, payloadOverride: { to: "bob", amount: 2000 } }));
    expect(stricter.body).toMatchObject({ status: 409, code: "changed", pausePoint: { state: "pending", version: 2, risk: "high", payload: { amount: 2000 } } });
    expect((await decide("ana", approve(card, { version: 1 }))).body.code).toBe("changed");
    expect(script.runs).toEqual([]);
    expect((await decide("ana", approve(card, { version: 2 }))).status).toBe(200);
  });

  it("[C55] an override that breaks the schema or the policy, and a choice that was not offered, are 422 with the path of each fault", async () => {
    const { cards } = await waiting(5);
    const [card = ""] = cards;
    const bad = await decide("ana", approve(card, { payloadOverride: { to: 7, amount: "50" } }));
    expect([bad.status, bad.body.code, bad.body.faults.map((fault: { path: unknown }) => fault.path)]).toEqual([
      422,
      "invalid",
      [
        ["payloadOverride", "to"],
        ["payloadOverride", "amount"],
      ],
    ]);
    for (const amount of [666, 667])
      expect((await decide("ana", approve(card, { payloadOverride: { to: "bob", amount } }))).body).toMatchObject({ status: 422, faults: [{ path: ["payloadOverride"] }] });
    expect((await decide("ana", approve(card, { choice: "tea" }))).body).toMatchObject({ status: 422, faults: [{ path: ["choice"] }] });
    expect((await decide("ana", approve(card, { reply: "x".repeat(128 * 1024) }))).status).toBe(422);
    expect((await api("ana", "GET", `/api/approvals/${card}`)).body).toMatchObject({ state: "pending", version: 1 });
  });

  it("[C14] an unknown id, a foreign conversation's and one that is no id have the same 404; a viewer has 403", async () => {
    const { id, cards } = await waiting(5);
    const [card = ""] = cards;
    const foreign = await decide("eve", approve(card));
    expect(foreign.body).toMatchObject({ status: 404, code: "not_found" });
    for (const unknown of [`${id}.9`, `${id}.0`, `c_${"0".repeat(32)}.1`, "nonsense", "../../x"]) {
      expect(await decide("eve", approve(unknown))).toEqual(foreign);
      expect(await decide("ana", approve(unknown))).toEqual(foreign);
    }
    const viewer = await decide("vic", approve(card));
    expect(viewer.body).toMatchObject({ status: 403, code: "forbidden" });
    expect(viewer.body).not.toHaveProperty("pausePoint");
    expect(script.runs).toEqual([]);
  });

  it("[C42] rights are read at the moment of the decision: a viewer made an approver may, an approver removed finds nothing", async () => {
    const { id, cards } = await waiting(5, 6);
    expect((await api("ana", "PUT", `/api/conversations/${id}/members/vic`, { role: "approver" })).status).toBe(204);
    expect((await decide("vic", approve(cards[0]!))).status).toBe(200);
    expect((await api("ana", "DELETE", `/api/conversations/${id}/members/ben`)).status).toBe(204);
    expect((await decide("ben", approve(cards[1]!))).status).toBe(404);
  });

  it("[C45] what is no decision is 400", async () => {
    for (const body of [
      "",
      "{",
      "[]",
      {},
      { pausePointId: "x" },
      { pausePointId: "x", decision: "maybe" },
      { pausePointId: 7, decision: "approve" },
      { decisions: [] },
      { decisions: [{}] },
      { pausePointId: "x", decision: "approve", version: 0 },
    ]) {
      expect([body, (await decide("ana", body)).body]).toEqual([body, expect.objectContaining({ status: 400, code: "malformed" })]);
    }
  });
});

describe("several decisions in one request", () => {
  it("[C4] each is answered by itself, in order; the same one twice is applied once", async () => {
    const { device, cards } = await waiting(5, 6, 7);
    const [a = "", b = "", c = ""] = cards;
    const { status, body } = await decide("ben", {
      decisions: [approve(c), reject(a, { reply: "no" }), approve(c), approve(b, { payloadOverride: { to: "bob", amount: -1 } }), approve("nonsense")],
    });
    expect([status, body.results.map((one: { status: number; code: string }) => [one.status, one.code])]).toEqual([
      200,
      [
        [200, "decided"],
        [200, "decided"],
        [200, "same"],
        [422, "invalid"],
        [404, "not_found"],
      ],
    ]);
    expect(body.results[0].pausePoint).toMatchObject({ id: c, state: "approved", decidedBy: "ben" });
    expect(body.results[3].faults).toEqual([{ path: ["payloadOverride", "amount"], message: expect.any(String) }]);
    await decide("ana", approve(b));
    await device.rest("completed");
    expect(script.runs.map(({ input }) => (input as { amount: number }).amount).toSorted()).toEqual([6, 7]);
    expect(script.model.requests).toHaveLength(2);
  });

  it("[C4] one card with two verdicts is 400, and nothing of the request is applied", async () => {
    const { cards } = await waiting(5, 6);
    const [a = "", b = ""] = cards;
    for (const other of [reject(a), approve(a, { payloadOverride: { to: "bob", amount: 4 } }), approve(a, { choice: 1 })]) {
      expect((await decide("ana", { decisions: [approve(b), approve(a), other] })).body).toMatchObject({ status: 400, code: "contradiction" });
    }
    for (const card of cards) expect((await api("ana", "GET", `/api/approvals/${card}`)).body.state).toBe("pending");
  });

  it("[C14] cards of several conversations are decided together; another's and what there isn't read the same", async () => {
    const mine = await waiting(5);
    const other = await waiting(6);
    await api("ana", "DELETE", `/api/conversations/${other.id}/members/ben`);
    const { body } = await decide("ben", { decisions: [approve(other.cards[0]!), approve(mine.cards[0]!), approve(`c_${"0".repeat(32)}.1`), approve(`${mine.id}.9`)] });
    const [foreign, decided, ...unknown] = body.results;
    expect(decided.code).toBe("decided");
    expect(foreign).toMatchObject({ status: 404, code: "not_found", pausePoint: null });
    expect(unknown).toEqual([foreign, foreign]);
    await mine.device.rest("completed");
    expect(script.runs).toHaveLength(1);
  });

  it("[C4] a conversation that does not answer hides nothing of the others, and its decision can be sent again", async () => {
    const mine = await waiting(5);
    const other = await waiting(6);
    control.transaction = (name, _, conversation) => (name === "decide" && conversation === other.id ? "die" : "live");
    const request = { decisions: [approve(other.cards[0]!), approve(mine.cards[0]!)] };
    expect((await decide("ben", request)).body.results.map((one: { status: number; code: string }) => [one.status, one.code])).toEqual([
      [503, "unavailable"],
      [200, "decided"],
    ]);
    control.transaction = null;
    await abortAllDurableObjects();
    expect((await decide("ben", request)).body.results.map((one: { code: string }) => one.code)).toEqual(["decided", "same"]);
  });
});
