import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Starts the built Worker on a real workerd for the tour and for tests: its own port, its own state.

export const ROOT = join(import.meta.dirname, "../..");
export const WRANGLER = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
const READY_MS = 60_000;

export interface ServerOptions {
  /** Where D1 and the objects keep their state; a temporary folder, removed at the end, when absent. */
  persistTo?: string;
  vars?: Record<string, string>;
  /** Another entry than wrangler.toml's `main`. */
  main?: string;
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

/** Applies the D1 migrations to a local state folder. Throws with wrangler's own words when that fails. */
export async function migrate(persistTo: string): Promise<void> {
  const child = spawn(process.execPath, [WRANGLER, "d1", "migrations", "apply", "DB", "--local", "--persist-to", persistTo], {
    cwd: ROOT,
    env: quietEnvironment(join(persistTo, "registry")),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = collect(child);
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`The D1 migrations could not be applied:\n${said()}`);
}

export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const temporary = options.persistTo ? null : await mkdtemp(join(tmpdir(), "holdpoint-"));
  const persistTo = options.persistTo ?? temporary ?? "";
  await migrate(persistTo);
  const [port, inspector] = [await freePort(), await freePort()];
  const vars = Object.entries(options.vars ?? {}).flatMap(([name, value]) => ["--var", `${name}:${value}`]);
  const main = options.main ? [options.main] : [];
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
  // A process group of its own, so that all of it can be ended at once.
  const child = spawn(process.execPath, args, { cwd: ROOT, env: quietEnvironment(join(persistTo, "registry")), stdio: ["ignore", "pipe", "pipe"], detached: true });
  const log = collect(child);
  const url = `http://127.0.0.1:${port}`;
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null && child.pid) {
      const gone = once(child, "exit");
      try {
        process.kill(-child.pid, signal);
      } catch {
        // It ended by itself in this moment.
      }
      await gone;
    }
    if (temporary) await rm(temporary, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await ready(url, child);
  } catch (error) {
    await stop("SIGKILL");
    throw new Error(`The server did not start: ${error instanceof Error ? error.message : String(error)}\n${log()}`);
  }
  return { url, log, stop };
}

function collect(child: ChildProcess): () => string {
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (data: Buffer) => (text += data.toString()));
  return () => text;
}

async function ready(url: string, child: ChildProcess): Promise<void> {
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
