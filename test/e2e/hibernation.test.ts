import { afterAll, beforeAll, expect, it } from "vitest";
import { Line } from "../fuzz/wire.js";
import { startServer, type Server } from "../kit/server.js";
import { api } from "./ai-sdk-kit.js";

// On a real workerd, whose objects leave memory after ten seconds without an event while their sockets stay open.

let server: Server;
beforeAll(async () => {
  server = await startServer({ main: "test/e2e/hibernation-entry.ts", vars: { DEMO_DELAY_MS: "0" } });
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
