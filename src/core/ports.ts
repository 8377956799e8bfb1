import type { LiveAttempt } from "../protocol/frames.js";
import type { Journal } from "./journal.js";
import type { Limits } from "./limits.js";
import type { Model } from "./model.js";
import type { Tools } from "./tool.js";

/** The only sources of time. */
export interface Clock {
  /** Milliseconds UTC. */
  now(): number;
  /** Calls back once, after `ms`; returns how to call it off. */
  after(ms: number, callback: () => void): () => void;
  /** Lets what was sent leave before more work is begun. */
  breathe(): Promise<void>;
}

/**
 * How a run goes on when its cards are decided: `continue` re-enters it, and the decision is in the tool's result;
 * `message` ends it, and the decision is told in a message that starts the next run, at once or with a person's next text.
 */
export type ResumeMode = { mode: "continue" } | { mode: "message"; auto: boolean };

/** What the core needs from around it. Nothing here is Cloudflare's. */
export interface Ports {
  journal: Journal;
  clock: Clock;
  model: Model;
  /** Instructions and tools of a skill. */
  agent(skill: string): { system: string; tools: Tools };
  /**
   * Awaited before each model call: asks others what tools they offer now, and keeps it in the journal. It has a time
   * limit of its own and does not throw. Absent when there is nobody to ask.
   */
  discover?(): Promise<void>;
  /** Handed to tools as it is. */
  env: unknown;
  limits: Limits;
  resume: ResumeMode;
  /** A text of 96 random bits. */
  randomWord(): string;
  /** Keeps the process alive until the work is done. */
  background(work: Promise<void>): void;
  /**
   * Called with each flush of the step being streamed (S4). The last one comes just before the commit:
   * sockets don't need it, for the `change` contains it; a chunk stream does.
   */
  live(flush: LiveAttempt, last: boolean): void;
  /** One line for the operator: ids and numbers, never texts or payloads (H16). */
  log(event: string, fields: Record<string, string | number | null>): void;
  /** Does the work inside a span of the platform's traces. The attributes are ids and numbers, never texts (H16). */
  span?<T>(name: string, attributes: Record<string, string | number>, work: () => Promise<T>): Promise<T>;
}

/** Does the work inside a span where there are traces, and else just does it. */
export const spanned = <T>(ports: Pick<Ports, "span">, name: string, attributes: Record<string, string | number>, work: () => Promise<T>): Promise<T> =>
  ports.span ? ports.span(name, attributes, work) : work();

/** Who does something, and from where. Made by the server from what it verified. */
export interface Actor {
  person: string;
  device: { id: string; name: string };
  via: "socket" | "http";
}
