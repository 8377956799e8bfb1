import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { start } from "../../src/cli/processes.ts";
import { freePort } from "../../src/cli/server.ts";
import { buildWorker, makeTables, SERVE } from "../kit/built.ts";

// The measured server: the built Worker on a workerd process of its own, so that its memory and processor time can be read.

const READY_MS = 30_000;
/** The kernel counts processor time in hundredths of a second. */
const TICKS_PER_SECOND = 100;

export interface Server {
  url: string;
  /** The bundle that it runs. */
  worker: string;
  /** Where the runtime's inspector answers. */
  inspector: number;
  /** Seconds since the process began: workerd's processor time, that of its main thread, and how long this one waited for a processor. */
  cpu(): { all: number; thread: number; kept: number };
  /** Resident memory of workerd in bytes. */
  memory(): number;
  stop(): Promise<void>;
}

let made: { worker: string; tables: string } | null = null;
let number = 0;

export async function startServer(folder: string): Promise<Server> {
  const worker = made?.worker ?? buildWorker("test/load/entry.ts", folder);
  made ??= { worker, tables: makeTables(worker, folder) };
  const state = join(folder, `server-${(number += 1)}`);
  cpSync(made.tables, state, { recursive: true });
  const [port, inspector] = [await freePort(), await freePort()];
  const server = start([SERVE, worker, state, String(port)], { ...process.env, INSPECTOR_PORT: String(inspector) });
  const giveUp = Date.now() + READY_MS;
  while (!server.said().includes("CHAOS serving")) {
    if (server.child.exitCode !== null || Date.now() > giveUp) throw new Error(`The server did not start:\n${server.said()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const pid = workerdOf(server.child.pid ?? 0);
  return {
    url: `http://127.0.0.1:${port}`,
    worker,
    inspector,
    cpu: () => {
      const [ran = 0, waited = 0] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ").map(Number);
      return { all: secondsOf(`/proc/${pid}/stat`), thread: ran / 1e9, kept: waited / 1e9 };
    },
    memory: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024,
    stop: () => server.stop(),
  };
}

/** The runtime is the child of the process that started it. */
function workerdOf(parent: number): number {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, "utf8").trim().split(/\s+/).map(Number);
  const found = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("workerd"));
  if (found === undefined) throw new Error("There is no workerd process.");
  return found;
}

/** User and system time, the fields after the command's name, which may hold blanks. */
function secondsOf(stat: string): number {
  const fields = readFileSync(stat, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
