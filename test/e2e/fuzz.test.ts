import { afterAll, beforeAll, expect, it } from "vitest";
import { flood, live } from "../fuzz/live.js";
import { startServer, type Server } from "../kit/server.js";

// `npm run fuzz` sends fifty times as many.

let server: Server;
beforeAll(async () => {
  server = await startServer({ vars: { DEMO_DELAY_MS: "0", OPERATORS: "olga" } });
});
afterAll(() => server?.stop());

it("[C45] [S8] inputs over the network: what is refused changes nothing, and nothing is logged", async () => {
  expect(await live(server, 1, 200)).toMatchObject({ http: expect.any(Number) });
});

it("[C45] a flood from one socket closes that socket only", async () => {
  expect(await flood(server)).toEqual({ flood: 4429, other: null });
});
