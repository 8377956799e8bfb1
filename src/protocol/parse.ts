import type { Json } from "./json.js";

/** Deepest nesting taken from a client: parsers below are recursive. */
const MOST_DEPTH = 64;

/** Parses JSON text from a client. Null for what is not JSON, or nests too deep (S8). */
export function parseUntrusted(text: string): { value: Json } | null {
  if (depth(text) > MOST_DEPTH) return null;
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return null;
  }
}

function depth(text: string): number {
  let now = 0;
  let most = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (inString) {
      if (char === 0x5c) at += 1;
      else if (char === 0x22) inString = false;
    } else if (char === 0x22) inString = true;
    else if (char === 0x5b || char === 0x7b) most = Math.max(most, (now += 1));
    else if (char === 0x5d || char === 0x7d) now -= 1;
  }
  return most;
}
