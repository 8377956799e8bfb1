import { OutcomeUnknown } from "./define-tool.js";

const ATTEMPTS = 3;
/** Under the time that a tool has: one that is only cut off would count as failed, and a model would do it again under another key. */
const KNOWN_MS = 50_000;

/**
 * The result of a write to D1 that does nothing when it is repeated. D1 does not retry writes, an error doesn't say
 * whether the write was committed, and stalls of more than a minute have been seen; asking again with the same key
 * tells. "Failed" for what went through would make the model, or a person, repeat it.
 */
export async function untilKnown<Result>(write: () => Promise<Result>, signal: AbortSignal, unknown: string): Promise<Result> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new OutcomeUnknown(unknown)), KNOWN_MS);
  });
  try {
    return await Promise.race([repeated(write, signal, unknown), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function repeated<Result>(write: () => Promise<Result>, signal: AbortSignal, unknown: string): Promise<Result> {
  let cause: unknown;
  for (let attempt = 0; attempt < ATTEMPTS && !(attempt > 0 && signal.aborted); attempt++) {
    try {
      return await write();
    } catch (error) {
      cause = error;
    }
  }
  throw new OutcomeUnknown(unknown, { cause });
}
