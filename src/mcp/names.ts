// What the model calls a tool of a server: `<server>_<tool>`. A server's name has no underscore, so no two servers
// can make the same name.

const MOST = 64;

/**
 * The name, from these two alone: what else a server offers never moves it, so a card that waits means the same
 * tool. A name that providers would not take is mended, and told apart by a hash of what the server calls it.
 */
export function toolName(server: string, tool: string): string {
  const plain = `${server}_${tool}`;
  if (/^[A-Za-z0-9_-]+$/.test(tool) && plain.length <= MOST) return plain;
  const mark = hash(tool);
  return `${`${server}_${tool.replace(/[^A-Za-z0-9_-]+/g, "_")}`.slice(0, MOST - mark.length - 1)}_${mark}`;
}

/** FNV-1a, 32 bits twice over, as base 36: to tell names apart, not to keep a secret. */
function hash(text: string): string {
  let [a, b] = [0x811c9dc5, 0x01000193];
  for (const byte of new TextEncoder().encode(text)) {
    a = Math.imul(a ^ byte, 0x01000193);
    b = Math.imul(b ^ byte, 0x85ebca6b);
  }
  return ((a >>> 0).toString(36) + (b >>> 0).toString(36)).slice(0, 10);
}
