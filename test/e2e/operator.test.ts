import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROOT, start } from "../../src/cli/processes.ts";
import { quietEnvironment, WRANGLER } from "../../src/cli/server.ts";
import { startServer, type Server } from "../kit/server.js";
import { device, hasBrowser, LAPTOP, launch } from "../kit/browser.js";

// What an operator does: looks at the status, and brings the lists back after D1 was lost. On a real server.

let state: string;
let server: Server;
let browser: Browser | undefined;

beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), "holdpoint-operator-"));
  server = await startServer({ persistTo: state, vars: { DEMO_DELAY_MS: "0", OPERATORS: "you, olga" } });
  if (hasBrowser) browser = await launch();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  await rm(state, { recursive: true, force: true, maxRetries: 5 });
});

async function api(person: string, path: string, body?: unknown): Promise<any> {
  const method = body === undefined ? "GET" : "POST";
  const response = await fetch(server.url + path, { method, headers: { authorization: `Bearer local:${person}` }, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  return response.headers.get("content-type")?.includes("json") ? response.json() : response.text();
}

const ids = (list: { items: { id: string }[] }): string[] => list.items.map(({ id }) => id).toSorted();
const lists = async (): Promise<[string[], string[]]> => [ids(await api("you", "/api/conversations")), ids(await api("you", "/api/approvals?state=pending"))];

/** Runs `npm run reindex`'s program to its end. */
async function reindex(...words: string[]): Promise<{ code: number | null; said: string }> {
  const program = start([join(ROOT, "src/cli/reindex.ts"), "--url", server.url, ...words]);
  return { code: await program.ended, said: program.said() };
}

it("[H21] `npm run reindex` after D1 was emptied brings every list back", async () => {
  const text = { role: "user", parts: [{ type: "text", text: "Transfer 250 EUR from operations to savings" }] };
  for (let n = 0; n < 3; n += 1) await api("you", "/api/chat", { id: `reindexed-${n}`, messages: [{ ...text, id: `text-${n}` }] });
  await expect.poll(async () => (await lists()).map((list) => list.length), { timeout: 10_000 }).toEqual([3, 3]);
  const before = await lists();
  const wipe = "DELETE FROM conversations; DELETE FROM members; DELETE FROM pause_points;";
  const wiping = start([WRANGLER, "d1", "execute", "DB", "--local", "--persist-to", state, "--command", wipe], quietEnvironment(join(state, "registry")));
  expect(await wiping.ended, wiping.said()).toBe(0);
  expect(await lists()).toEqual([[], []]);
  const { code, said } = await reindex("--state", state);
  expect(said).toContain("3 conversations have sent 9 rows to D1.");
  expect(code).toBe(0);
  expect(await lists()).toEqual(before);
});

it("[H21] `npm run reindex` says what is wrong: no server, no operator, no such folder", async () => {
  expect(await reindex("--state", state, "--token", "local:eve")).toMatchObject({ code: 1, said: expect.stringContaining("operator") });
  expect(await reindex("--state", join(state, "nowhere"))).toMatchObject({ code: 1, said: expect.stringContaining("--persist-to") });
  expect(await reindex("--wrong")).toMatchObject({ code: 2, said: expect.stringContaining("Usage") });
});

it("[H16] status and reindex are for those whom OPERATORS names", async () => {
  for (const [path, body] of [
    ["/api/status", undefined],
    ["/api/reindex", {}],
  ] as const)
    expect(await api("eve", path, body)).toMatchObject({ status: 403, code: "not_operator" });
  expect(await api("olga", "/api/status")).toMatchObject({ indexError: null });
  expect(await api("eve", "/api/me")).toMatchObject({ operator: false });
});

it.skipIf(!hasBrowser)("[H16] the status page opens from the sidebar and shows numbers", async () => {
  if (!browser) throw new Error("no browser");
  await api("you", "/api/chat", { id: "seen", messages: [{ id: "seen-1", role: "user", parts: [{ type: "text", text: "ask me for my name" }] }] });
  await expect.poll(async () => (await lists())[1].length, { timeout: 10_000 }).toBeGreaterThan(0);
  const { page, context, errors } = await device(browser, server.url, LAPTOP);
  await page.goto("/");
  await page.getByRole("link", { name: "Status" }).click();
  const paused = page.getByTestId("status-conversations").locator("[data-state=paused]");
  await paused.waitFor();
  expect(Number(await paused.locator("td").nth(1).innerText())).toBeGreaterThan(0);
  await page.getByTestId("status-cards").getByText("wait for a person").waitFor();
  await page.getByText("None looks wrong to the index.").waitFor();
  await context.close();
  expect(errors).toEqual([]);
});
