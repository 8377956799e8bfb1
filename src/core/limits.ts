/** Everything ends (H18), and sizes are ours (H20). Times in milliseconds, sizes in UTF-8 bytes. */
export interface Limits {
  modelStallMs: number;
  modelStepMs: number;
  stepBytes: number;
  stepsPerRun: number;
  /** More would not fit a frame, nor a person's patience. */
  callsPerStep: number;
  /** Attempts of a step, or tries of a call, that may be interrupted before the run ends. */
  fruitless: number;
  toolInputBytes: number;
  toolResultBytes: number;
  userTextBytes: number;
  queuedTexts: number;
  /** How long a cancelled run's tools may take to end before their outcome counts as unknown. */
  cancelGraceMs: number;
  /** How long a card waits when its policy doesn't say. */
  expiresInMs: number;
  contextTokens: number;
  /** Members of a conversation, removed ones included: every change that touches it carries them. */
  members: number;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const KIB = 1024;

export const defaultLimits: Limits = {
  modelStallMs: 120 * SECOND,
  modelStepMs: 10 * MINUTE,
  stepBytes: 1024 * KIB,
  stepsPerRun: 16,
  callsPerStep: 100,
  fruitless: 3,
  toolInputBytes: 128 * KIB,
  toolResultBytes: 256 * KIB,
  userTextBytes: 64 * KIB,
  queuedTexts: 50,
  cancelGraceMs: 10 * SECOND,
  expiresInMs: 24 * 60 * MINUTE,
  contextTokens: 24_000,
  members: 200,
};

const UNITS: Record<string, number> = { s: SECOND, m: MINUTE, h: 60 * MINUTE, d: 24 * 60 * MINUTE };

/** `"90s"`, `"30m"`, `"24h"`, `"7d"` or a number of milliseconds → milliseconds. Throws on anything else. */
export function durationMs(value: string | number): number {
  const ms = typeof value === "number" ? value : Number(value.slice(0, -1)) * (UNITS[value.slice(-1)] ?? NaN);
  if (!Number.isFinite(ms) || ms <= 0) throw new Error(`${JSON.stringify(value)} is not a duration. Write it like "90s", "30m", "24h" or "7d".`);
  return ms;
}
