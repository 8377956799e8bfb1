import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { cp, mkdtemp } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT, start, type Group } from "./processes.ts";

// Starts the built Worker on a real workerd for the tour and for tests: its own port, its own state.

export const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
const READY_MS = 60_000;

export interface ServerOptions {
  /** Where D1 and the objects keep their state; a temporary folder, removed at the end, when absent. */
  persistTo?: string;
  /** A state folder that has only the tables, copied into a new one instead of applying the migrations. */
  tables?: string;
  vars?: Record<string, string>;
  /** Another entry than wrangler.toml's `main`. */
  main?: string;
  /** Another wrangler.toml, with the sources beside it. */
  config?: string;
}

export interface Server {
  url: string;
  /** Everything that it has printed. */
  log(): string;
  /** Ends it with this signal, and everything that it started. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address ? address.port : 0;
}

/** Environment of a wrangler that asks nobody anything, beside others of its kind. */
export const quietEnvironment = (registry: string): NodeJS.ProcessEnv => ({
  ...process.env,
  WRANGLER_SEND_METRICS: "false",
  WRANGLER_REGISTRY_PATH: registry,
  CI: "true",
  NO_COLOR: "1",
});

/** Begins to apply the D1 migrations to a local state folder. */
export const startMigrating = (persistTo: string): Group =>
  start([WRANGLER, "d1", "migrations", "apply", "DB", "--local", "--persist-to", persistTo], quietEnvironment(join(persistTo, "registry")));

async function makeTables(persistTo: string, tables: string | undefined): Promise<void> {
  if (tables !== undefined) {
    if (!existsSync(join(persistTo, "v3"))) await cp(tables, persistTo, { recursive: true });
    return;
  }
  const migrating = startMigrating(persistTo);
  if ((await migrating.ended) !== 0) throw new Error(`The D1 migrations could not be applied:\n${migrating.said()}`);
}

export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const temporary = options.persistTo ? null : await mkdtemp(join(tmpdir(), "holdpoint-"));
  const persistTo = options.persistTo ?? temporary ?? "";
  const clear = (): void => {
    if (temporary) rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once("exit", clear);
  await makeTables(persistTo, options.tables);
  const [port, inspector] = [await freePort(), await freePort()];
  const vars = Object.entries(options.vars ?? {}).flatMap(([name, value]) => ["--var", `${name}:${value}`]);
  const main = [...(options.main ? [options.main] : []), ...(options.config ? ["--config", options.config] : [])];
  const args = [
    WRANGLER,
    "dev",
    ...main,
    "--local",
    "--ip",
    "127.0.0.1",
    "--port",
    String(port),
    "--inspector-port",
    String(inspector),
    "--persist-to",
    persistTo,
    "--log-level",
    "log",
    ...vars,
  ];
  const server = start(args, quietEnvironment(join(persistTo, "registry")));
  const url = `http://127.0.0.1:${port}`;
  const stop = async (signal?: NodeJS.Signals): Promise<void> => {
    await server.stop(signal);
    clear();
    process.off("exit", clear);
  };
  try {
    await ready(url, server);
  } catch (error) {
    await stop("SIGKILL");
    throw new Error(`The server did not start: ${error instanceof Error ? error.message : String(error)}\n${server.said()}`);
  }
  return { url, log: server.said, stop };
}

async function ready(url: string, { child }: Group): Promise<void> {
  const giveUp = Date.now() + READY_MS;
  while (Date.now() < giveUp) {
    if (child.exitCode !== null) throw new Error(`wrangler ended with code ${child.exitCode}`);
    try {
      if ((await fetch(`${url}/healthz`)).status < 600) return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  throw new Error(`no answer at ${url} in ${READY_MS / 1000} seconds`);
}
