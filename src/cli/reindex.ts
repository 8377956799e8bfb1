import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { ReindexAnswer } from "../protocol/status.ts";
import { ROOT } from "./processes.ts";

// `npm run reindex`: has every conversation send all its rows to D1 again, after D1 was restored or lost. Conversations
// come from D1, which may have forgotten them, and from the objects themselves: of a server on this machine their files
// are listed, of one elsewhere a list of the platform's ids is given.

const USAGE = `Usage: npm run reindex [-- --url http://localhost:8787] [--token local:you] [--state .wrangler/state] [--objects ids.txt]
  --url      where the Worker is
  --token    what goes behind "Authorization: Bearer"; an operator's
  --state    state folder of a server on this machine, whose objects are all reindexed
  --objects  a file with ids of Durable Objects, 64 hexadecimal digits each; docs/operations.md says how to get them`;

const MOST = 20;
const ID = /\b[0-9a-f]{64}\b/g;

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

function readOptions(): { url: string; token: string | undefined; state: string | undefined; objects: string | undefined } {
  try {
    const text = { type: "string" } as const;
    const { values } = parseArgs({ options: { url: text, token: text, state: text, objects: text } });
    return { url: values.url ?? "http://localhost:8787", token: values.token, state: values.state, objects: values.objects };
  } catch {
    console.error(USAGE);
    process.exit(2);
  }
}

/** Ids of the conversations' objects in a local state folder: one SQLite file each, named by id. */
function objectsIn(state: string): string[] {
  const folder = join(state, "v3/do");
  if (!existsSync(folder)) fail(`There are no Durable Objects in ${state}. Is it the folder that the server was started with (--persist-to)?`);
  const classes = readdirSync(folder).filter((name) => name.endsWith("-Conversation"));
  return classes.flatMap((name) => readdirSync(join(folder, name)).flatMap((file) => /^([0-9a-f]{64})\.sqlite$/.exec(file)?.[1] ?? []));
}

const options = readOptions();
const base = URL.canParse(options.url) ? new URL(options.url) : fail(`${options.url} is not an address.\n${USAGE}`);
const ownState = join(ROOT, ".wrangler/state");
const isLocal = /^(localhost|127\.|\[::1\])/.test(base.hostname);
const state = options.state ?? (isLocal && !options.objects && existsSync(ownState) ? ownState : undefined);
if (options.objects && !existsSync(options.objects)) fail(`There is no file ${options.objects}.`);
const listed = options.objects ? (readFileSync(options.objects, "utf8").match(ID) ?? []) : [];
const objects = [...new Set([...listed, ...(state ? objectsIn(state) : [])])];

async function ask(body: { objects?: string[]; after?: string }): Promise<ReindexAnswer> {
  const headers = { "content-type": "application/json", ...(options.token ? { authorization: `Bearer ${options.token}` } : {}) };
  const response = await fetch(new URL("/api/reindex", base), { method: "POST", headers, body: JSON.stringify(body) }).catch(() =>
    fail(`Nothing answers at ${base.origin}. Start the server (npm start), or say where it is with --url.`),
  );
  const answer = (await response.json().catch(() => ({}))) as ReindexAnswer & { detail?: string };
  if (!response.ok) fail(answer.detail ?? `${base.origin} answered ${response.status}.`);
  return answer;
}

const total = { conversations: 0, rows: 0, failed: [] as ReindexAnswer["failed"] };
function add(answer: ReindexAnswer): void {
  total.conversations += answer.conversations;
  total.rows += answer.rows;
  total.failed.push(...answer.failed);
}

if (objects.length > 0) {
  // Every object is named, so D1 need not be asked.
  for (let at = 0; at < objects.length; at += MOST) add(await ask({ objects: objects.slice(at, at + MOST) }));
} else {
  console.log("No objects are listed, so only conversations that D1 still knows are reindexed. See docs/operations.md for the others.");
  for (let after: string | null = ""; after !== null;) {
    const answer: ReindexAnswer = await ask({ after });
    add(answer);
    after = answer.next;
  }
}
for (const { object, error } of total.failed) console.error(`${object}: ${error}`);
console.log(`${total.conversations} conversations have sent ${total.rows} rows to D1.${total.failed.length ? ` ${total.failed.length} failed: run it again.` : ""}`);
process.exit(total.failed.length ? 1 : 0);
