import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");

/** How long a process may take to end by itself. */
const GRACE_MS = 5_000;

/** Groups that are alive. They are not this process's own, so nothing else would end them with it. */
const groups = new Set<number>();
process.on("exit", () => {
  for (const group of groups) kill(group, "SIGKILL");
});

function kill(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // It ended by itself in this moment.
  }
}

export interface Group {
  child: ChildProcess;
  /** Everything that it has printed. */
  said(): string;
  /** Its exit code, once it has ended. */
  ended: Promise<number | null>;
  /** Ends it and everything that it started; by force when that takes too long. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Runs a Node program in a process group of its own, so that all of it can be ended at once. */
export function start(words: string[], env: NodeJS.ProcessEnv = process.env): Group {
  const child = spawn(process.execPath, words, { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const { pid } = child;
  if (pid !== undefined) groups.add(pid);
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => (text += data.toString()));
  const ended = new Promise<number | null>((resolve) => {
    child.once("exit", (code) => {
      if (pid !== undefined) groups.delete(pid);
      resolve(code);
    });
    child.once("error", () => resolve(null));
  });
  const stop = async (signal: NodeJS.Signals = "SIGTERM"): Promise<void> => {
    if (pid === undefined || !groups.has(pid)) return;
    kill(pid, signal);
    const force = setTimeout(() => kill(pid, "SIGKILL"), GRACE_MS);
    await ended;
    clearTimeout(force);
  };
  return { child, said: () => text, ended, stop };
}

/** Calls back once when this process is told to end: Ctrl-C, a signal, a closed terminal, or a parent that is gone. */
export function whenTold(callback: () => void): void {
  const parent = process.ppid;
  let told = false;
  const tell = (): void => {
    if (!told) callback();
    told = true;
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, tell);
  setInterval(() => process.ppid !== parent && tell(), 1000).unref();
}
