import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startMigrating, startServer, type Server } from "../src/cli/server.ts";

const folder = mkdtempSync(join(tmpdir(), "holdpoint-bench-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
const tables = join(folder, "tables");
let made: Promise<unknown> | null = null;
let number = 0;

export interface Measured extends Server {
  /** Where it keeps its state: its processes are known by it. */
  persistTo: string;
}

async function started(options: { main?: string; config?: string; vars?: Record<string, string> }): Promise<Measured> {
  made ??= startMigrating(tables).ended;
  await made;
  const persistTo = join(folder, String((number += 1)));
  return { ...(await startServer({ ...options, tables, persistTo })), persistTo };
}

/** Holdpoint with the model of the measurements. */
export const startOurs = (vars: Record<string, string> = {}): Promise<Measured> => started({ main: join(import.meta.dirname, "entry.ts"), vars });

export const startFloor = (): Promise<Measured> => started({ config: join(import.meta.dirname, "floor/wrangler.toml") });

export async function post(url: string): Promise<Response> {
  const response = await fetch(url, { method: "POST", body: "{}" });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return response;
}

export const newConversation = async (url: string): Promise<string> => ((await (await post(`${url}/api/conversations`)).json()) as { id: string }).id;

/** Waits until a conversation is at rest and D1 has taken everything. */
export async function quiet(url: string, id: string): Promise<void> {
  while (!((await (await fetch(`${url}/bench/quiet/${id}`)).json()) as boolean)) await new Promise((resolve) => setTimeout(resolve, 5));
}
