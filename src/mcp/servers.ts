import * as z from "zod";

/** An MCP server that the settings name. */
export interface McpServer {
  name: string;
  url: string;
  /** Sent with every request to it, and to no other host. */
  headers: Readonly<Record<string, string>>;
  /** Its hints `readOnlyHint` and `idempotentHint` are believed: what it calls read-only runs without a card. */
  trustHints: boolean;
  /** The server's own names of the tools that may be used; all of them when absent. */
  tools?: readonly string[] | undefined;
}

const MOST_SERVERS = 10;

const serverUrl = z
  .url({ protocol: /^https?$/, error: "is no http or https address" })
  .max(2_000)
  .refine((url) => URL.canParse(url) && (new URL(url).protocol === "https:" || isLoopback(new URL(url).hostname)), "must be https, unless it is on this machine")
  .refine((url) => URL.canParse(url) && new URL(url).username === "" && new URL(url).password === "", "may hold no user name and password: put them into headers");

const isLoopback = (host: string): boolean => host === "localhost" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);

const server = z.strictObject({
  url: serverUrl,
  headers: z
    .record(
      z.string().regex(/^[A-Za-z0-9-]{1,64}$/, "is no header name"),
      z
        .string()
        .max(8_000)
        .regex(/^[\t\x20-\x7e]*$/, "holds characters that no header may have"),
    )
    .default({}),
  trustHints: z.boolean().default(false),
  tools: z.array(z.string().min(1).max(200)).max(200).optional(),
});

const servers = z
  .record(z.string().regex(/^[a-z0-9-]{1,20}$/, "is no name for a server: use at most 20 of a-z, 0-9 and -"), server)
  .refine((all) => Object.keys(all).length <= MOST_SERVERS, `names more than ${MOST_SERVERS} servers`);

/**
 * Reads the setting MCP_SERVERS: JSON text, or an object as wrangler.toml can hold it. The problem, if there is
 * one, is a sentence that never repeats a value, for values may be secrets.
 */
export function readServers(setting: unknown): { ok: true; servers: McpServer[] } | { ok: false; message: string } {
  if (setting === undefined || setting === "") return { ok: true, servers: [] };
  let value: unknown = setting;
  if (typeof setting === "string") {
    try {
      value = JSON.parse(setting);
    } catch {
      return { ok: false, message: 'MCP_SERVERS is not JSON. Write it like {"crm": {"url": "https://crm.example/mcp"}}.' };
    }
  }
  const parsed = servers.safeParse(value);
  if (parsed.success) return { ok: true, servers: Object.entries(parsed.data).map(([name, one]) => ({ name, ...one })) };
  const first = parsed.error.issues[0];
  const message = first?.code === "invalid_key" ? (first.issues[0]?.message ?? first.message) : (first?.message ?? "it can't be read");
  return { ok: false, message: `MCP_SERVERS is wrong: ${[...(first?.path ?? []), message].map(String).join(": ")}.` };
}
