import { afterAll, beforeAll, expect, it } from "vitest";
import { Line } from "../fuzz/wire.js";
import { startServer, type Server } from "../kit/server.js";
import { api } from "./ai-sdk-kit.js";

// On a real workerd, whose objects leave memory after ten seconds without an event while their sockets stay open, and
// can be aborted one by one.

let server: Server;
beforeAll(async () => {
  server = await startServer({ main: "test/e2e/hibernation-entry.ts", vars: { DEMO_DELAY_MS: "30" } });
});
afterAll(() => server?.stop());

const said = (event: string, id: string): number =>
  server
    .log()
    .split("\n")
    .filter((line) => line.includes(`"event":"${event}"`) && line.includes(id)).length;

it("[C22] [C17] an idle conversation leaves memory while its sockets stay open, fires no alarm any more, and goes on at the next frame", async () => {
  const { id } = (await api(server, "ana", "POST", "/api/conversations", {})).body;
  const line = new Line(server.url, `/api/conversations/${id}/socket`, "ana");
  await line.open();
  const ack = async (frame: object): Promise<void> => {
    const opId = crypto.randomUUID();
    line.send(JSON.stringify({ ...frame, opId }));
    await line.until(() => line.frames.some((one) => one.opId === opId));
  };
  line.send(JSON.stringify({ type: "hello", protocol: 1, device: { id: "d", name: "d" } }));
  await ack({ type: "send", messageId: "u1", text: "say 5 words" });
  await expect.poll(async () => (await api(server, "ana", "GET", `/api/conversations/${id}`)).body.run?.status, { timeout: 20_000 }).toBe("completed");
  // The only frame that might wake it comes after more than the runtime's ten seconds.
  const looks = async (): Promise<number> => {
    await ack({ type: "older", before: "m0" });
    return said("test.made", id);
  };
  const alarms: number[] = [];
  await expect
    .poll(
      async () => {
        alarms.push(said("test.alarm", id));
        return looks();
      },
      { timeout: 55_000, interval: 13_000 },
    )
    .toBeGreaterThan(1);
  // One alarm looked after the run; none came after it while the object was away.
  expect(alarms.at(-1)).toBeLessThanOrEqual(1);
  expect(line.closed).toBeNull();
  await ack({ type: "send", messageId: "u2", text: "say 3 words" });
  await expect.poll(async () => (await api(server, "ana", "GET", `/api/conversations/${id}`)).body.run, { timeout: 20_000 }).toMatchObject({ runId: "r2", status: "completed" });
  expect(line.frames.filter(({ type }) => type === "welcome")).toHaveLength(1);
  line.close();
});

it("[H4] [H8] one object is aborted in mid-answer while D1 and another conversation live: it goes on with a second attempt, and the other notices nothing", async () => {
  const begin = async (): Promise<{ id: string; line: Line }> => {
    const { id } = (await api(server, "ana", "POST", "/api/conversations", {})).body;
    const line = new Line(server.url, `/api/conversations/${id}/socket`, "ana");
    await line.open();
    line.send(JSON.stringify({ type: "hello", protocol: 1, device: { id: "d", name: "d" } }));
    line.send(JSON.stringify({ type: "send", opId: "o", messageId: "u1", text: "say 60 words" }));
    await line.until(() => line.frames.filter(({ type }) => type === "delta").length > 2);
    return { id, line };
  };
  const [one, two] = await Promise.all([begin(), begin()]);
  expect((await api(server, "ana", "PATCH", `/api/conversations/${one.id}`, { title: "abort" })).status).toBe(500);
  await one.line.until(() => false);
  const run = async (id: string): Promise<{ status: string }> => (await api(server, "ana", "GET", `/api/conversations/${id}`)).body.run;
  for (const { id } of [one, two]) await expect.poll(() => run(id), { timeout: 40_000 }).toMatchObject({ status: "completed" });
  const words = async (id: string): Promise<number> => {
    const { messages } = (await api(server, "ana", "GET", `/api/conversations/${id}/messages`)).body as { messages: { parts: { text?: string }[] }[] };
    return (messages.at(-1)?.parts ?? []).flatMap(({ text }) => text?.split(" ") ?? []).length;
  };
  expect(await words(one.id)).toBe(await words(two.id));
  expect([said("test.made", one.id), said("test.made", two.id)]).toEqual([2, 1]);
  expect([two.line.closed, new Set(two.line.frames.filter(({ type }) => type === "delta").map((frame) => (frame as { attempt?: number }).attempt)).size]).toEqual([null, 1]);
  // What was told to D1 before, meanwhile and after is there.
  const listed = async (): Promise<string[]> => {
    const items = (await api(server, "ana", "GET", "/api/conversations")).body.items as { id: string; state: string }[];
    return items.filter(({ id }) => id === one.id || id === two.id).map(({ state }) => state);
  };
  await expect.poll(listed, { timeout: 20_000 }).toEqual(["idle", "idle"]);
  two.line.close();
});
