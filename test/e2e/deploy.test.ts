import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startServer, type Server } from "../kit/server.js";
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

it("[C6] [C7] [H4] [H5] [H15] a run that streams, a card that waits and a tool that runs all end right after a deploy with another bundle and one more column", async () => {
  await edit("src/tools/current-time.ts", /execute: \(\{ timeZone \}\) => \{\n/, "execute: async ({ timeZone }) => {\n    await new Promise(() => {});\n");
  // One that must not run twice: its fate is a person's to tell.
  await edit("src/tools/list-accounts.ts", /readOnly: true,/, "readOnly: true,\n  idempotent: false,");
  await edit("src/tools/list-accounts.ts", /accounts: \(await accounts/, "hangs: await new Promise(() => {}),\n    accounts: (await accounts");
  server = await started({ DEMO_DELAY_MS: "60" });
  const [streams, waits, runs, decided, unsure] = await Promise.all([1, 2, 3, 4, 5].map(() => newConversation(server!)));
  if (!streams || !waits || !runs || !decided || !unsure) throw new Error("no conversations");
  await begun(waits, "Transfer 250 EUR from operations to savings", /tool-approval-request/);
  await begun(runs, "What time is it?", /tool-input-available/);
  await begun(unsure, "List the accounts", /tool-input-available/);
  for (const id of [runs, unsure]) await until("the tool runs", async () => (await api(server!, "ana", "GET", `/api/conversations/${id}`)).body.run.step === 1);
  await begun(decided, "Transfer 120 EUR from operations to savings", /tool-approval-request/);
  await begun(streams, "say 300 words", /text-delta.*text-delta/s);
  for (const id of [streams, runs]) await until("the list shows that it runs", async () => (await stateOf(id)) === "running");
  await until("the list shows the card", async () => (await stateOf(waits)) === "paused");
  await until("the list shows both cards", async () => (await api(server!, "ana", "GET", "/api/approvals?state=pending")).body.items.length === 2);
  expect((await api(server, "ana", "POST", "/api/chat/resume", { pausePointId: `${decided}.1`, decision: "approve" })).status).toBe(200);
  // At once after the answer, and as hard as it goes.
  await server.stop("SIGKILL");

  await edit("src/tools/list-accounts.ts", /hangs: [^\n]*\n/, "");
  await edit("src/tools/current-time.ts", /\n {4}await new Promise\(\(\) => \{\}\);/, "");
  await edit("src/conversation/journal.ts", /const VERSION = (\d+);/, "const VERSION = 99;");
  await edit("src/conversation/journal.ts", /const ADDED: Record<number, string> = \{/, 'const ADDED: Record<number, string> = {\n  99: "ALTER TABLE steps ADD COLUMN note TEXT",');
  server = await started({ DEMO_DELAY_MS: "0" });

  // Nobody opens them: the lists come from D1, and the alarms do the rest.
  for (const id of [streams, runs]) await until(`${id} is idle`, async () => (await stateOf(id)) === "idle", 40_000);
  await until("the decided transfer is done", async () => (await transfers(server!, decided)).length === 1, 40_000);
  const pending = await until("the list shows the card of the unsure one", async () => {
    const { items } = (await api(server!, "ana", "GET", "/api/approvals?state=pending")).body;
    return items.length === 2 && items;
  });
  expect(pending.map(({ conversationId, kind }: { conversationId: string; kind: string }) => [conversationId, kind]).toSorted()).toEqual(
    [
      [unsure, "recovery"],
      [waits, "approval"],
    ].toSorted(),
  );
  expect((await api(server, "ana", "POST", "/api/chat/resume", { pausePointId: `${waits}.1`, decision: "approve" })).status).toBe(200);
  expect((await api(server, "ana", "POST", "/api/chat/resume", { pausePointId: `${unsure}.1`, decision: "approve", choice: "retry" })).status).toBe(200);
  for (const id of [waits, decided, unsure]) await until(`${id} is done`, async () => (await stateOf(id)) === "idle");

  expect([await transfers(server, waits), await transfers(server, decided)]).toEqual([[250], [120]]);
  expect((await history(server, unsure)).at(-1)!.parts).toContainEqual(expect.objectContaining({ type: "tool-list_accounts", state: "output-available" }));
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
  expect(columns).toHaveLength(5);
  return columns.reduce((common, names) => common.filter((name) => names.includes(name)));
}
