import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { freePort, migrate, quietEnvironment, ROOT, WRANGLER } from "./server.ts";

// `npm start`: builds the web app, applies the migrations, runs the Worker on this machine, and says where.
// Its options are handed on to `wrangler dev`.

const options = process.argv.slice(2);

/** The value of an option, written `--name value` or `--name=value`. */
function option(name: string): string | undefined {
  const at = options.findIndex((word) => word === name || word.startsWith(`${name}=`));
  if (at < 0) return undefined;
  return options[at]?.includes("=") ? options[at].slice(name.length + 1) : options[at + 1];
}

const setVars = options.flatMap((word, at) => (options[at - 1] === "--var" ? [word.split(":")[0] ?? ""] : []));
const defaults = { MODEL: "demo", AUTH: "local" };
const vars = Object.entries(defaults).flatMap(([name, value]) => (setVars.includes(name) ? [] : ["--var", `${name}:${value}`]));

const port = Number(option("--port") ?? 8787);
const persistTo = option("--persist-to") ?? join(ROOT, ".wrangler/state");

let child: ChildProcess | null = null;
let stopping = false;

function stop(): void {
  stopping = true;
  if (child?.pid && child.exitCode === null) process.kill(-child.pid, "SIGTERM");
  else process.exit(0);
}
process.on("SIGINT", stop);
process.on("SIGTERM", stop);

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

async function isFree(candidate: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(candidate, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/** Runs a command to its end; its output is shown only when it fails. */
async function run(what: string, command: string[]): Promise<void> {
  const made = spawn(process.execPath, command, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"], detached: true });
  child = made;
  let said = "";
  for (const stream of [made.stdout, made.stderr]) stream.on("data", (data: Buffer) => (said += data.toString()));
  const code = await new Promise<number | null>((resolve) => made.once("exit", resolve));
  child = null;
  if (stopping) process.exit(0);
  if (code !== 0) fail(`${what} failed:\n${said}`);
}

if (!Number.isInteger(port) || port < 1 || port > 65_535) fail(`--port ${option("--port")} is not a port. Use a number from 1 to 65535.`);
if (!(await isFree(port))) fail(`Port ${port} is taken by another program. Choose another one: npm start -- --port ${port + 1}`);

console.log("Building the web app …");
await run("Building the web app", [join(ROOT, "node_modules/vite/bin/vite.js"), "build"]);
mkdirSync(persistTo, { recursive: true });
await migrate(persistTo).catch((error: Error) => fail(error.message));
if (stopping) process.exit(0);

const own = [
  ...(option("--port") ? [] : ["--port", String(port)]),
  ...(option("--persist-to") ? [] : ["--persist-to", persistTo]),
  ...(option("--inspector-port") ? [] : ["--inspector-port", String(await freePort())]),
];
const server = spawn(process.execPath, [WRANGLER, "dev", "--local", "--ip", "127.0.0.1", ...own, ...vars, ...options], {
  cwd: ROOT,
  env: quietEnvironment(join(persistTo, "registry")),
  stdio: ["ignore", "pipe", "pipe"],
  detached: true,
});
child = server;

// wrangler's notes about what it fetches and which keys it knows would fill the first screen; what went wrong must not be hidden.
const NOISE =
  /Request\.cf|workers\.cloudflare\.com|at GetAddrInfo|AI bindings always access|^\s*$|⛅|^─+$|Your Worker has access|^binding|^env\.|Starting local server|Ready on|update available|telemetry|Using vars|Bindings? +Resource|"event":"(pause_point|call)\./i;
let announced = false;
let saidSoFar = "";
for (const stream of [server.stdout, server.stderr]) {
  stream.on("data", (data: Buffer) => {
    const text = data.toString();
    saidSoFar = (saidSoFar + text).slice(-20_000);
    for (const line of text.split("\n")) if (/error|✘/i.test(line) && !NOISE.test(line)) console.error(line);
    if (!announced && saidSoFar.includes("Ready on")) {
      announced = true;
      console.log(
        `\nHoldpoint is running at http://localhost:${port}\n\nOpen it in two browsers, ask in one: Transfer 250 EUR from operations to savings\nand approve it in the other. Ctrl-C ends it.\n`,
      );
    }
  });
}
server.once("exit", (code) => {
  if (stopping) process.exit(0);
  if (!announced) console.error(saidSoFar);
  fail(`The server ended by itself with code ${code}.`);
});
