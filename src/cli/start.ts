import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { ROOT, start, whenTold, type Group } from "./processes.ts";
import { freePort, quietEnvironment, startMigrating, WRANGLER } from "./server.ts";

// `npm start`: builds the web app, applies the migrations, runs the Worker on this machine, and says where.
// Its options are handed on to `wrangler dev`.

const options = process.argv.slice(2);

/** The value of an option, written `--name value` or `--name=value`. */
function option(name: string): string | undefined {
  const at = options.findIndex((word) => word === name || word.startsWith(`${name}=`));
  if (at < 0) return undefined;
  return options[at]?.includes("=") ? options[at].slice(name.length + 1) : options[at + 1];
}

const unlessGiven = (name: string, value: string): string[] => (option(name) === undefined ? [name, value] : []);

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

const port = Number(option("--port") ?? 8787);
const persistTo = option("--persist-to") ?? join(ROOT, ".wrangler/state");
if (!Number.isInteger(port) || port < 1 || port > 65_535) fail(`--port ${option("--port")} is not a port. Use a number from 1 to 65535.`);
if (!(await isFree(port))) fail(`Port ${port} is taken by another program. Choose another one: npm start -- --port ${port < 65_535 ? port + 1 : 8787}`);

let current: Group | null = null;
let stopping = false;
whenTold(() => {
  stopping = true;
  void current?.stop();
});

/** Runs a command to its end; its output is shown only when it fails. */
async function run(what: string, group: Group): Promise<void> {
  current = group;
  const code = await group.ended;
  if (stopping) process.exit(0);
  if (code !== 0) fail(`${what} failed:\n${group.said()}`);
}

console.log("Building the web app …");
await run("Building the web app", start([join(ROOT, "node_modules/vite/bin/vite.js"), "build"]));
mkdirSync(persistTo, { recursive: true });
await run("Applying the D1 migrations", startMigrating(persistTo));

const setVars = options.flatMap((word, at) => (options[at - 1] === "--var" ? [word.split(":")[0] ?? ""] : []));
const vars = Object.entries({ MODEL: "demo", AUTH: "local" }).flatMap(([name, value]) => (setVars.includes(name) ? [] : ["--var", `${name}:${value}`]));
const own = [
  ...unlessGiven("--ip", "127.0.0.1"),
  ...unlessGiven("--port", String(port)),
  ...unlessGiven("--persist-to", persistTo),
  ...unlessGiven("--inspector-port", String(await freePort())),
];
const server = start([WRANGLER, "dev", "--local", ...own, ...vars, ...options], quietEnvironment(join(persistTo, "registry")));
current = server;

// wrangler's notes about what it fetches and which keys it knows would fill the first screen; what went wrong must not be hidden.
const NOISE =
  /Request\.cf|workers\.cloudflare\.com|at GetAddrInfo|AI bindings always access|update available|telemetry|sentryErrorContext|ffi\.rs|"event":"(pause_point|call|run|step|text|conversation|member|outbox)\./i;
let announced = false;
for (const stream of [server.child.stdout, server.child.stderr]) {
  let rest = "";
  stream?.on("data", (data: Buffer) => {
    const lines = (rest + data.toString()).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (/error|✘/i.test(line) && !NOISE.test(line)) console.error(line);
      if (announced || !line.includes("Ready on")) continue;
      announced = true;
      void announce();
    }
  });
}

/** Says where it is, or what is wrong with its settings: the server itself starts either way. */
async function announce(): Promise<void> {
  const wrong = await fetch(`http://127.0.0.1:${port}/api/me`).then(
    async (answer) => (answer.status === 503 ? String(((await answer.json()) as { detail?: string }).detail) : null),
    () => null,
  );
  if (wrong) return console.error(`\nHoldpoint serves nothing, because a setting is wrong. ${wrong}\nEnd this with Ctrl-C, mend it, and start again.`);
  console.log(`
Holdpoint is running at http://localhost:${port}

Open it in two browsers, ask in one: Transfer 250 EUR from operations to savings
and approve it in the other. Ctrl-C ends it.
`);
}
const code = await server.ended;
if (stopping) process.exit(0);
if (!announced) console.error(server.said());
fail(`The server ended by itself with code ${code}.`);
