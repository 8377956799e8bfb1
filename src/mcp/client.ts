import { createMCPClient, type CallToolResult, type MCPClient } from "@ai-sdk/mcp";
import type { McpServer } from "./servers.js";
import { plainLine } from "./plain.js";

// One visit to a server: connect, ask, close. Nothing is kept between two visits, so nothing is lost with the object.

/** Most bytes of all answers of one visit: a stranger must not fill this object's memory. */
const MOST_BYTES = 4 * 1024 * 1024;
const MOST_PAGES = 10;
/** How long after the end of an answer's stream the answer itself may still be on its way through the parsers. */
const END_GRACE_MS = 1_000;

export interface Visit {
  /** Every tool that the server lists, as it lists them. */
  listTools(): Promise<unknown[]>;
  callTool(name: string, input: Record<string, unknown>, idempotencyKey: string): Promise<CallToolResult>;
}

/** Connects, lets `body` ask, and closes, whatever happens. Throws what `body` throws, or why there was no connection. */
export async function visit<T>(server: McpServer, signal: AbortSignal, body: (visit: Visit) => Promise<T>): Promise<T> {
  const wire = new Wire(server, signal);
  const client = await wire.answered(
    createMCPClient({
      transport: { type: "http", url: server.url, headers: { ...server.headers }, fetch: wire.fetch },
      initializationOptions: { signal },
      clientName: "holdpoint",
      // Neither sampling nor elicitation: what a server asks for is refused.
      capabilities: {},
      maxRetries: 0,
      onUncaughtError: () => {},
    }),
  );
  try {
    return await body({
      listTools: () => wire.answered(listAll(client, signal)),
      callTool: (name, input, key) => {
        wire.idempotencyKey = key;
        return wire.answered(client.callTool({ name, arguments: input, options: { signal } }));
      },
    });
  } finally {
    await client.close().catch(() => {});
  }
}

async function listAll(client: MCPClient, signal: AbortSignal): Promise<unknown[]> {
  const tools: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const list = await client.listTools({ ...(cursor === undefined ? {} : { params: { cursor } }), options: { signal } });
    tools.push(...list.tools);
    cursor = list.nextCursor;
    if (cursor === undefined) break;
  }
  return tools;
}

/** `fetch` for one server: its host only, so many bytes only, and with the end of a stream noticed. */
class Wire {
  idempotencyKey: string | null = null;
  #bytes = 0;
  #requests = 0;
  #lost: (error: Error) => void = () => {};

  constructor(
    private readonly server: McpServer,
    private readonly signal: AbortSignal,
  ) {}

  readonly fetch = async (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    // The stream on which a server may speak first is not opened: there is nothing that it may ask.
    if (init.method === "GET") return new Response(null, { status: 405 });
    const sent: RequestInit = { ...init, redirect: "manual", ...(typeof init.body === "string" ? { body: this.#marked(init.body) } : {}) };
    // Closing a session is a courtesy; a server that is slow at it holds nobody up.
    if (init.method === "DELETE") sent.signal = AbortSignal.timeout(END_GRACE_MS);
    const request = (this.#requests += 1);
    const response = await fetch(url, sent);
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      throw new Error(`${this.server.name} answered with a redirect, which is not followed: it could lead the headers to another host`);
    }
    return response.body && init.method === "POST" ? new Response(this.#watched(response.body, request), response) : response;
  };

  /** A result of the client, or an error when what it waits for can't come any more. */
  async answered<T>(work: Promise<T>): Promise<T> {
    const lost = new Promise<never>((_, reject) => {
      this.#lost = reject;
      this.signal.addEventListener("abort", () => reject(new Error("it was given up")), { once: true });
    });
    return Promise.race([work, lost]);
  }

  /** The key goes along with the call, for servers that know what to do with one. */
  #marked(body: string): string {
    const message = JSON.parse(body) as { method?: string; params?: { _meta?: object } };
    if (message.method !== "tools/call" || this.idempotencyKey === null) return body;
    return JSON.stringify({ ...message, params: { ...message.params, _meta: { ...message.params?._meta, "holdpoint/idempotency-key": this.idempotencyKey } } });
  }

  /** Passes a body on, up to the limit, and tells of its end: the client would wait for ever for an answer that a closed stream did not bring. */
  #watched(body: ReadableStream<Uint8Array>, request: number): ReadableStream<Uint8Array> {
    const lost = this.#lost;
    const reader = body.getReader();
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read();
          if (done) {
            setTimeout(() => this.#requests === request && lost(new Error("the connection ended before the answer")), END_GRACE_MS);
            return controller.close();
          }
          this.#bytes += value.byteLength;
          if (this.#bytes > MOST_BYTES) throw new Error(`it sent more than ${MOST_BYTES} bytes`);
          controller.enqueue(value);
        } catch (error) {
          lost(error instanceof Error ? error : new Error(String(error)));
          controller.error(error);
          await reader.cancel().catch(() => {});
        }
      },
      cancel: (reason) => reader.cancel(reason),
    });
  }
}

/** What went wrong, in words of ours; of the server's own words only the message of an error that it answered with. */
export function explain(server: McpServer, error: unknown): string {
  const { statusCode, code, message } = error as { statusCode?: number; code?: unknown; message?: string };
  if (typeof statusCode === "number") return `${server.name} answered with status ${statusCode}`;
  if (typeof code === "number") return `${server.name} answered with error ${code}: ${plainLine(message ?? "", 500)}`;
  return `${server.name} did not answer: ${plainLine(message ?? String(error), 300)}`;
}
