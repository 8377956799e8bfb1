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

/** The first line of a server's log that no input may cause. */
export const fault = (log: string): string | undefined => log.split("\n").find((line) => /"event":"[a-z_.]*failed"|non-ASCII|Uncaught|[✘✗] |\b50\d\b.*\(\d+ms\)/.test(line));
