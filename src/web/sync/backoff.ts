import type { CLOSE } from "../../protocol/frames.js";

const close: typeof CLOSE = { malformed: 4400, notSignedIn: 4401, notAllowed: 4403, notFound: 4404, unknownProtocol: 4426, tooMuch: 4429 };

const OWN_MS = 500;
const FIRST_MS = 5_000;
const LONGEST_MS = 30_000;

/** Why the next try is made: by something on this device (online again, shown again), or because the socket closed. */
export type RetryCause = "own" | "closed";

/**
 * Milliseconds to wait before the next try, with full jitter so that devices dropped together come back
 * spread out (S7); null when trying again can't help.
 */
export function retryDelay(cause: RetryCause, failures: number, closeCode: number, random: number): number | null {
  if (!mayRetry(closeCode)) return null;
  if (cause === "own") return random * OWN_MS;
  // Told that it was too much, or not signed in: hurrying back would only be told so again.
  if (closeCode === close.tooMuch || closeCode === close.notSignedIn) return FIRST_MS + random * (LONGEST_MS - FIRST_MS);
  return random * Math.min(LONGEST_MS, FIRST_MS * 2 ** failures);
}

/** Whether a socket closed with this code is worth opening again. */
export const mayRetry = (closeCode: number): boolean => closeCode < 4400 || closeCode > 4499 || closeCode === close.notSignedIn || closeCode === close.tooMuch;
