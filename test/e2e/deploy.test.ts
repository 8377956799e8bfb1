import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startServer, type Server } from "../../src/cli/server.js";
import { api, history, newConversation, transfers, until } from "./ai-sdk-kit.js";

// A deploy in mid-run: the server is stopped while a run streams, a card waits and a tool runs, and another bundle
// with one more column in its journal starts on the same state.

const ROOT = join(import.meta.dirname, "../..");
let project: string;
let state: string;
let server: Server | null = null;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "holdpoint-deploy-"));
  state = join(project, "state");
  for (const name of ["src", "migrations", "dist", "wrangler.toml", "package.json", "tsconfig.json"]) await cp(join(ROOT, name), join(project, name), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(project, "node_modules"));
});
afterAll(async () => {
  await server?.stop();
  await rm(project, { recursive: true, force: true, maxRetries: 5 });
});

async function edit(file: string, from: RegExp, to: string): Promise<void> {
  const path = join(project, file);
  const before = await readFile(path, "utf8");
  const after = before.replace(from, to);
  expect(after, `${file} has ${from}`).not.toBe(before);
  await writeFile(path, after);
}

const started = (vars: Record<string, string>): Promise<Server> => startServer({ config: join(project, "wrangler.toml"), persistTo: state, vars });

/** Begins a turn and waits until its stream has said this. */
async function begun(id: string, text: string, says: RegExp): Promise<void> {
  const body = JSON.stringify({ id, messages: [{ id: `u-${id}`, role: "user", parts: [{ type: "text", text }] }] });
  const response = await fetch(`${server?.url}/api/chat`, { method: "POST", body, headers: { authorization: "Bearer local:ana" } });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let said = "";
  while (!says.test(said)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`The stream ended without ${says}: ${said}`);
    said += value;
  }
  // What breaks off with the server is no failure of this test.
  void reader.cancel().catch(() => {});
}

const stateOf = async (id: string): Promise<string> => (await api(server!, "ana", "GET", "/api/conversations")).body.items.find((item: { id: string }) => item.id === id)?.state;

it("[C6] [H4] [H15] a run that streams, a card that waits and a tool that runs all end right after a deploy with another bundle and one more column", async () => {
  await edit("src/tools/current-time.ts", /execute: \(\{ timeZone \}\) => \{\n/, "execute: async ({ timeZone }) => {\n    await new Promise(() => {});\n");
  server = await started({ DEMO_DELAY_MS: "60" });
  const [streams, waits, runs] = [await newConversation(server), await newConversation(server), await newConversation(server)];
  await begun(waits, "Transfer 250 EUR from operations to savings", /tool-approval-request/);
  await begun(runs, "What time is it?", /tool-input-available/);
  await until("the tool runs", async () => (await api(server!, "ana", "GET", `/api/conversations/${runs}`)).body.run.step === 1);
  await begun(streams, "say 300 words", /text-delta.*text-delta/s);
  for (const id of [streams, runs]) await until("the list shows that it runs", async () => (await stateOf(id)) === "running");
  await until("the list shows the card", async () => (await stateOf(waits)) === "paused");
  await server.stop();

  await edit("src/tools/current-time.ts", /\n {4}await new Promise\(\(\) => \{\}\);/, "");
  await edit("src/conversation/journal.ts", /const VERSION = (\d+);/, "const VERSION = 99;");
  await edit("src/conversation/journal.ts", /const ADDED: Record<number, string> = \{/, 'const ADDED: Record<number, string> = {\n  99: "ALTER TABLE steps ADD COLUMN note TEXT",');
  server = await started({ DEMO_DELAY_MS: "0" });

  // Nobody opens them: the lists come from D1, and the alarms do the rest.
  for (const id of [streams, runs]) await until(`${id} is idle`, async () => (await stateOf(id)) === "idle", 40_000);
  const [card] = (await api(server, "ana", "GET", "/api/approvals?state=pending")).body.items;
  expect((await api(server, "ana", "POST", "/api/chat/resume", { pausePointId: card.id, decision: "approve" })).status).toBe(200);
  await until("the transfer is done", async () => (await stateOf(waits)) === "idle");

  expect(await transfers(server, waits)).toEqual([250]);
  const streamed = (await history(server, streams)).at(-1)!.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  expect(streamed).toHaveLength(1);
  expect(streamed[0]!.split(/\s+/)).toHaveLength(300);
  const told = (await history(server, runs)).at(-1)!.parts;
  expect(told).toContainEqual(expect.objectContaining({ type: "tool-current_time", state: "output-available" }));
  expect(JSON.stringify(told)).toContain("It is ");
  await server.stop();
  server = null;
  expect(await columnsOf("steps")).toContain("note");
}, 120_000);

/** Columns of a table in every journal of the state folder. */
async function columnsOf(table: string): Promise<string[]> {
  const folder = join(state, "v3/do/holdpoint-Conversation");
  const files = (await readdir(folder)).filter((name) => /^[0-9a-f]{64}\.sqlite$/.test(name));
  const columns = files.map((name) => {
    const database = new DatabaseSync(join(folder, name), { readOnly: true });
    const names = database
      .prepare(`SELECT name FROM pragma_table_info('${table}')`)
      .all()
      .map((row) => String(row["name"]));
    database.close();
    return names;
  });
  expect(columns).toHaveLength(3);
  return columns.reduce((common, names) => common.filter((name) => names.includes(name)));
}
