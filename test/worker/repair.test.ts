import { abortAllDurableObjects, env, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { tracing } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { control, resetControl } from "./entry.js";
import { until } from "../kit/until.js";
import { api, Device, migrateD1, newConversation, stubOf } from "./kit.js";
import { batches } from "./broken-d1.js";

// D1 that is lost, restored, slow or down, and what brings its lists back.

beforeEach(migrateD1);
afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  resetControl();
  await abortAllDurableObjects();
});

const QUESTION = "ask me for my name";

/** A D1 that answers nothing at all. */
function down(): D1Database {
  const fail = (): Promise<never> => Promise.reject(new Error("D1_ERROR: down"));
  const statement = { bind: () => statement, run: fail, first: fail, all: fail, raw: fail };
  return { prepare: () => statement, batch: fail, exec: fail } as unknown as D1Database;
}

const hexOf = (id: string): string => env.CONVERSATION.idFromName(id).toString();
const cardsIn = async (id: string): Promise<{ id: string; state: string; version: number; payload: string | null }[]> =>
  (await env.DB.prepare("SELECT id, state, version, payload FROM pause_points WHERE conversation_id = ? ORDER BY created_at, id").bind(id).all()).results as never;
const emptyD1 = (): Promise<unknown> => env.DB.batch(["conversations", "members", "pause_points"].map((table) => env.DB.prepare(`DELETE FROM ${table}`)));
const backlog = (id: string): Promise<number> =>
  runInDurableObject(
    stubOf(id),
    (_, state) =>
      state.storage.sql
        .exec<{ n: number }>(
          `SELECT (SELECT count(*) FROM conversation WHERE version > mirrored) + (SELECT count(*) FROM members WHERE version > mirrored) +
         (SELECT count(*) FROM pause_points WHERE version > mirrored) AS n`,
        )
        .one().n,
  );
const delivered = (id: string): Promise<unknown> => until(async () => (await backlog(id)) === 0);
const ids = (items: { id: string }[]): string[] => items.map(({ id }) => id);

async function asked(): Promise<{ id: string; laptop: Device; card: Awaited<ReturnType<Device["card"]>> }> {
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  await laptop.say(QUESTION);
  const card = await laptop.card();
  await laptop.rest("suspended");
  await delivered(id);
  return { id, laptop, card };
}

it("[H21] after D1 was emptied, reindexing the objects brings every list back, tombstones too", async () => {
  const one = await asked();
  const gone = await asked();
  await api("ana", "DELETE", `/api/conversations/${gone.id}`);
  await delivered(gone.id);
  await emptyD1();
  expect((await api("ana", "GET", "/api/conversations")).body.items).toEqual([]);
  const objects = [hexOf(one.id), hexOf(gone.id), env.CONVERSATION.newUniqueId().toString()];
  const answer = await api("ana", "POST", "/api/reindex", { objects });
  expect(answer).toMatchObject({ status: 200, body: { conversations: 2, empty: 1, failed: [], next: null } });
  for (const person of ["ana", "ben", "vic"]) {
    expect(ids((await api(person, "GET", "/api/conversations")).body.items)).toEqual([one.id]);
    expect(ids((await api(person, "GET", "/api/approvals?state=pending")).body.items)).toEqual([one.card.id]);
  }
  expect(await env.DB.prepare("SELECT deleted_at IS NOT NULL AS gone FROM conversations WHERE id = ?").bind(gone.id).first()).toEqual({ gone: 1 });
});

it("[H21] [S2] a new epoch begins: devices get a snapshot, and a card is decided by its new version or, unseen, by none", async () => {
  const { id, laptop, card } = await asked();
  const other = await asked();
  expect(await api("ben", "POST", `/api/conversations/${id}/reindex`)).toMatchObject({ status: 403, body: { code: "forbidden" } });
  expect(await api("eve", "POST", `/api/conversations/${id}/reindex`)).toMatchObject({ status: 404 });
  expect(await api("ana", "POST", `/api/conversations/${id}/reindex`)).toMatchObject({ status: 200, body: { rows: 5 } });
  await until(() => laptop.closedWith !== null);
  const again = await Device.connect(id, "ana", "again", { epoch: laptop.epoch, seq: laptop.seq });
  expect(again.welcome?.mode).toBe("snapshot");
  expect(again.epoch).not.toBe(laptop.epoch);
  expect(again.cards.get(card.id)?.version).toBeGreaterThan(card.version);
  expect((await again.decide(again.cards.get(card.id)!, "approve", { reply: "Ana" })).status).toBe("applied");
  await again.rest("completed");
  await api("ana", "POST", `/api/conversations/${other.id}/reindex`);
  expect((await api("ben", "POST", "/api/chat/resume", { pausePointId: other.card.id, decision: "approve", reply: "Ben" })).status).toBe(200);
});

it("[H21] D1 restored to an hour ago catches up, and rows newer than the object's own are overcome", async () => {
  const { id, laptop, card } = await asked();
  const before = await env.DB.prepare("SELECT * FROM pause_points WHERE id = ?").bind(card.id).first();
  await laptop.decide(card, "reject");
  await laptop.rest("completed");
  await delivered(id);
  await env.DB.prepare("UPDATE pause_points SET state = 'pending', version = ?2 WHERE id = ?1").bind(card.id, before?.["version"]).run();
  await env.DB.prepare("UPDATE conversations SET state = 'paused', version = 900 WHERE id = ?").bind(id).run();
  expect(await api("ana", "POST", "/api/reindex", { after: "" })).toMatchObject({ status: 200, body: { failed: [] } });
  expect(await cardsIn(id)).toMatchObject([{ state: "rejected" }]);
  expect(await env.DB.prepare("SELECT state FROM conversations WHERE id = ?").bind(id).first()).toEqual({ state: "idle" });
});

it("[H21] an object reached by its platform id alone still knows who it is, and more rows than one batch are sent", async () => {
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  for (let n = 1; n <= 22; n += 1) {
    await laptop.say(QUESTION);
    await laptop.decide(await laptop.card(), "reject");
    await laptop.until(() => laptop.run?.runId === `r${n}` && laptop.run.status === "completed");
  }
  await delivered(id);
  await emptyD1();
  await abortAllDurableObjects();
  const logged = vi.spyOn(console, "log");
  expect(await api("ana", "POST", "/api/reindex", { objects: [hexOf(id)] })).toMatchObject({ body: { conversations: 1, rows: 26, failed: [] } });
  const rows = await cardsIn(id);
  expect(rows).toHaveLength(22);
  expect(rows.every((row) => row.state === "rejected" && row.id.startsWith(`${id}.`))).toBe(true);
  const lines = logged.mock.calls.map(([line]) => JSON.parse(String(line)) as Record<string, unknown>);
  expect(lines.find((line) => line["event"] === "conversation.reindexed")).toMatchObject({ conversation: id });
});

it("[C60] [H21] D1 down for ten minutes: chat and decisions work, lists catch up by themselves, nothing is lost or doubled", async () => {
  const id = await newConversation();
  await delivered(id);
  await abortAllDurableObjects();
  const began = Date.now();
  vi.useFakeTimers({ toFake: ["Date"], now: began });
  let tried = 0;
  control.db = batches(() => ((tried += 1), Promise.reject(new Error("D1_ERROR: storage is down"))));
  const laptop = await Device.connect(id, "ana");
  for (let minute = 1; minute <= 10; minute += 1) {
    await laptop.say(QUESTION);
    const card = await laptop.card();
    expect((await laptop.decide(card, minute % 2 ? "approve" : "reject", { reply: `Name ${minute}` })).status).toBe("applied");
    await laptop.until(() => laptop.run?.runId === `r${minute}` && laptop.run.status === "completed");
    vi.setSystemTime(began + minute * 60_000);
    await runDurableObjectAlarm(stubOf(id));
  }
  expect(tried).toBeGreaterThan(2);
  expect(await cardsIn(id)).toEqual([]);
  expect(await backlog(id)).toBe(11);
  control.db = null;
  await abortAllDurableObjects();
  vi.setSystemTime(began + 16 * 60_000);
  // Nobody opens it: its own alarm is what brings the rows.
  expect(await runInDurableObject(stubOf(id), (_, state) => state.storage.getAlarm())).not.toBeNull();
  await runDurableObjectAlarm(stubOf(id));
  await delivered(id);
  const rows = await cardsIn(id);
  expect(rows.map((row) => row.state).toSorted()).toEqual([...Array.from({ length: 5 }, () => "approved"), ...Array.from({ length: 5 }, () => "rejected")]);
  expect(new Set(ids(rows)).size).toBe(10);
  expect((await api("ana", "GET", `/api/conversations/${id}/messages?limit=100`)).body.messages.filter((message: { role: string }) => message.role === "user")).toHaveLength(10);
});

it("[H21] D1 that does not answer is given up, reindexing says so and changes nothing, and it is written later", async () => {
  const { id, card } = await asked();
  await abortAllDurableObjects();
  control.db = down;
  expect(await api("ana", "POST", `/api/conversations/${id}/reindex`)).toMatchObject({ status: 503, body: { code: "index_unreachable" } });
  expect((await api("ana", "POST", "/api/reindex", { objects: [hexOf(id)] })).body.failed).toMatchObject([{ object: hexOf(id) }]);
  expect((await api("ana", "GET", `/api/approvals/${card.id}`)).body.version).toBe(1);
});

it("[H21] D1 that answers after the time limit has failed; what comes late is an older version and changes nothing", async () => {
  const { id, laptop, card } = await asked();
  await abortAllDurableObjects();
  let held: (() => Promise<D1Result[]>) | null = null;
  control.db = batches((real) => (held ? real() : ((held = real), scheduler.wait(80_000).then(real))));
  const again = await Device.connect(id, "ana", "again");
  await again.decide(card, "reject");
  await again.rest("completed");
  expect(laptop.cards.get(card.id)?.state).toBe("pending");
  await until(() => held !== null);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
  await vi.waitUntil(
    async () => {
      vi.setSystemTime(Date.now() + 1_000);
      await runDurableObjectAlarm(stubOf(id));
      return (await cardsIn(id))[0]?.state === "rejected";
    },
    { timeout: 20_000, interval: 200 },
  );
  const [row] = await cardsIn(id);
  await held!();
  expect(await cardsIn(id)).toEqual([row]);
}, 30_000);

it("[H21] conversation and member rows that D1 refuses for good are parked, hold up no others, and a newer version is tried again", async () => {
  await env.DB.exec("CREATE TRIGGER refuse_title BEFORE INSERT ON conversations WHEN NEW.title = 'refused' BEGIN SELECT raise(ABORT, 'no'); END");
  await env.DB.exec("CREATE TRIGGER refuse_person BEFORE INSERT ON members WHEN NEW.person = 'zed' BEGIN SELECT raise(ABORT, 'no'); END");
  const { id } = await asked();
  await api("ana", "PATCH", `/api/conversations/${id}`, { title: "refused" });
  await api("ana", "PUT", `/api/conversations/${id}/members/zed`, { role: "viewer" });
  await api("ana", "PUT", `/api/conversations/${id}/members/kim`, { role: "viewer" });
  await until(async () => (await api("ana", "GET", `/api/status?conversation=${id}`)).body.objects[0]?.parked === 2);
  expect((await api("ana", "GET", `/api/status?conversation=${id}`)).body.objects[0].undelivered.count).toBe(0);
  expect(ids((await api("kim", "GET", "/api/conversations")).body.items)).toEqual([id]);
  await api("ana", "PATCH", `/api/conversations/${id}`, { title: "taken" });
  await until(async () => (await env.DB.prepare("SELECT title FROM conversations WHERE id = ?").bind(id).first())?.["title"] === "taken");
  await env.DB.exec("DROP TRIGGER refuse_title");
  await env.DB.exec("DROP TRIGGER refuse_person");
  await api("ana", "POST", `/api/conversations/${id}/reindex`);
  expect(ids((await api("zed", "GET", "/api/conversations")).body.items)).toEqual([id]);
});

it("[H15] deleting empties what people and the model wrote, in D1 too", async () => {
  const { id, laptop, card } = await asked();
  await laptop.decide(card, "approve", { reply: "secret-reply" });
  await laptop.rest("completed");
  await laptop.say("Transfer 250 EUR from operations to savings");
  await laptop.card();
  await laptop.rest("suspended");
  await delivered(id);
  expect(JSON.stringify(await cardsIn(id))).toContain("savings");
  await api("ana", "DELETE", `/api/conversations/${id}`);
  await delivered(id);
  const { results } = await env.DB.prepare("SELECT * FROM pause_points WHERE conversation_id = ? ORDER BY id").bind(id).all();
  expect(results).toHaveLength(2);
  const empty = { title: "", summary: "", description: "", options: null, payload: null, payload_schema: null, payload_override: null, choice: null, reply: null };
  for (const row of results) expect(row).toMatchObject(empty);
});

it("[H15] [H21] a card that D1 never had arrives empty when its conversation was deleted meanwhile", async () => {
  let broken = false;
  control.db = batches((real) => (broken ? Promise.reject(new Error("D1_ERROR: storage is down")) : real()));
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  await delivered(id);
  broken = true;
  await laptop.say("ask me for my name");
  await laptop.card();
  await laptop.rest("suspended");
  await api("ana", "DELETE", `/api/conversations/${id}`);
  broken = false;
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 600_000 });
  await runDurableObjectAlarm(stubOf(id));
  await delivered(id);
  const { results } = await env.DB.prepare("SELECT state, title, description, options, payload FROM pause_points WHERE conversation_id = ?").bind(id).all();
  expect(results).toEqual([{ state: "cancelled", title: "", description: "", options: null, payload: null }]);
});

it("[H16] a full cycle is logged line by line with ids, and never with a text, a payload, a reply or a result", async () => {
  const lines: string[] = [];
  for (const name of ["log", "error", "warn"] as const) vi.spyOn(console, name).mockImplementation((line) => void lines.push(String(line)));
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  await laptop.say('Send an email to secret-payee@example.com with subject "secret-subject" saying "secret-body"');
  const card = await laptop.card();
  await laptop.rest("suspended");
  await laptop.decide(card, "approve", { reply: "secret-reply" });
  await laptop.rest("completed");
  await delivered(id);
  const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(events.every((line) => line["conversation"] === id)).toBe(true);
  const count = (event: string): number => events.filter((line) => line["event"] === event).length;
  for (const event of ["run.started", "run.suspended", "run.resumed", "run.ended", "pause_point.opened", "pause_point.settled", "call.started", "call.succeeded"])
    expect([event, count(event)]).toEqual([event, 1]);
  expect(count("step.committed")).toBe(2);
  expect(count("outbox.delivered")).toBeGreaterThan(0);
  expect(events.find((line) => line["event"] === "pause_point.settled")).toMatchObject({ pausePoint: card.id, run: "r1", state: "approved" });
  expect(lines.join("\n")).not.toMatch(/secret|ana|ben/);
});

it("[H16] model and tool calls run in spans of the platform's traces", async () => {
  const entered = vi.spyOn(tracing, "enterSpan");
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana");
  await laptop.say("Transfer 50 EUR from operations to savings");
  await laptop.rest("completed");
  // D1 makes spans of its own.
  expect(entered.mock.calls.map(([name]) => name).filter((name) => !name.startsWith("d1_"))).toEqual(["model", "tool", "model"]);
});

it("[H16] status counts what runs and waits, asks the objects that look wrong, and is for operators", async () => {
  await emptyD1();
  const { id, card } = await asked();
  const { status, body } = await api("ana", "GET", `/api/status?conversation=${id}`);
  expect(status).toBe(200);
  expect(body).toMatchObject({
    indexError: null,
    index: { conversations: { paused: { count: 1, overHour: 0 }, running: { count: 0 } }, cards: { pending: { count: 1 }, overdue: { count: 0 }, recovery: { count: 0 } } },
    objects: [{ conversation: id, run: { runId: "r1", status: "suspended" }, undelivered: { count: 0, oldest: null }, parked: 0, due: card.expiresAt, alarmOverdue: false }],
  });
  await env.DB.prepare("UPDATE pause_points SET expires_at = 1000 WHERE id = ?").bind(card.id).run();
  const late = (await api("ana", "GET", "/api/status")).body;
  expect(late.index.cards.overdue).toEqual({ count: 1, oldest: 1000 });
  expect(late.objects.map((object: { conversation: string }) => object.conversation)).toEqual([id]);
});
