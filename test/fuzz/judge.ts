/** An input did what no input may. */
export class Violation extends Error {
  override name = "Violation";
}

/** A decision that is refused with these has found that its card is another by now, or past its time. */
export const mayChange = (code: string | undefined): boolean => code === "changed" || code === "expired";

export function codeOf(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { code?: string }).code;
  } catch {
    return undefined;
  }
}

/** What is logged when something of ours broke. A tool that failed, or a run, is no such thing. */
const BROKEN = /"event":"((request|reconcile|tell|chat_socket|driver|outbox|reindex)\.failed|outbox\.parked|settings\.wrong)"/;

/** The first line of a log that no input may cause; `runtime`: of those that are not lines of ours. */
export const fault = (lines: string[], runtime: RegExp): string | undefined => lines.find((line) => BROKEN.test(line) || (!line.startsWith('{"event":') && runtime.test(line)));
