import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { ServerNotification, ServerRequest, ToolAnnotations } from "@modelcontextprotocol/sdk/types.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import * as z from "zod";

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

export interface Served {
  description?: string;
  input?: z.ZodRawShape;
  /** JSON Schema that is listed in place of what the SDK would make of `input`. */
  schema?: object;
  annotations?: ToolAnnotations;
  run?: (input: Record<string, unknown>, extra: Extra, server: McpServer) => unknown;
}

export interface Called {
  tool: string;
  input: Record<string, unknown>;
  meta: Record<string, unknown>;
}

/** A real MCP server of the official SDK on loopback. What it offers, and how it behaves, changes while it runs. */
export class TestMcpServer {
  readonly calls: Called[] = [];
  /** Every request, in order. */
  readonly requests: { method: string; rpc: string | undefined; body: unknown; headers: IncomingMessage["headers"] }[] = [];
  tools: Record<string, Served> = {};
  /** How it speaks: every request by itself with streams or with plain JSON, or in sessions. */
  kind: "streams" | "json" | "sessions" = "streams";
  readonly #sessions = new Map<string, StreamableHTTPServerTransport>();
  /** Called before a request is handled; true: it has been answered. */
  intercept: ((rpc: string | undefined, response: ServerResponse) => boolean) | null = null;
  #http: Server | null = null;
  readonly #sockets = new Set<Socket>();
  port = 0;

  static async start(tools: Record<string, Served> = {}): Promise<TestMcpServer> {
    const server = new TestMcpServer();
    server.tools = tools;
    await server.up();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  /** Listens, on the port that it had before. */
  async up(): Promise<void> {
    this.#http = createServer((request, response) => void this.#handle(request, response));
    this.#http.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
    this.#http.listen(this.port, "127.0.0.1");
    await once(this.#http, "listening");
    this.port = (this.#http.address() as AddressInfo).port;
  }

  async down(): Promise<void> {
    const http = this.#http;
    if (!http) return;
    this.#http = null;
    this.cut();
    http.close();
    await once(http, "close");
  }

  /** Breaks every connection. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const body = text ? (JSON.parse(text) as { method?: string }) : undefined;
    this.requests.push({ method: request.method ?? "", rpc: body?.method, body, headers: request.headers });
    if (this.intercept?.(body?.method, response)) return;
    const session = this.#sessions.get(String(request.headers["mcp-session-id"]));
    await (session ?? (await this.#transport(response))).handleRequest(request, response, body);
  }

  async #transport(response: ServerResponse): Promise<StreamableHTTPServerTransport> {
    const server = this.#server();
    const transport = new StreamableHTTPServerTransport(
      this.kind === "sessions"
        ? {
            sessionIdGenerator: () => crypto.randomUUID(),
            onsessioninitialized: (id) => void this.#sessions.set(id, transport),
            onsessionclosed: (id) => void this.#sessions.delete(id),
          }
        : { enableJsonResponse: this.kind === "json" },
    );
    if (this.kind !== "sessions") response.on("close", () => void server.close());
    await server.connect(transport as Parameters<McpServer["connect"]>[0]);
    return transport;
  }

  get openSessions(): number {
    return this.#sessions.size;
  }

  #server(): McpServer {
    const server = new McpServer({ name: "test", version: "1.0.0" });
    for (const [name, served] of Object.entries(this.tools)) {
      server.registerTool(
        name,
        {
          ...(served.description === undefined ? {} : { description: served.description }),
          ...(served.annotations ? { annotations: served.annotations } : {}),
          inputSchema: served.schema ? z.looseObject({}) : (served.input ?? {}),
        },
        async (input: Record<string, unknown>, extra: Extra) => {
          this.calls.push({ tool: name, input, meta: { ...extra._meta } });
          const result = served.run ? await served.run(input, extra, server) : `did ${name}`;
          return (typeof result === "string" ? { content: [{ type: "text", text: result }] } : result) as { content: [] };
        },
      );
    }
    this.#listRawSchemas(server);
    return server;
  }

  // The SDK lists what it makes of zod; a foreign server may list any JSON Schema.
  #listRawSchemas(server: McpServer): void {
    const handlers = (
      server.server as unknown as { _requestHandlers: Map<string, (request: unknown, extra: unknown) => Promise<{ tools: { name: string; inputSchema: object }[] }>> }
    )._requestHandlers;
    const list = handlers.get("tools/list");
    if (!list) return;
    handlers.set("tools/list", async (request, extra) => {
      const listed = await list(request, extra);
      return { ...listed, tools: listed.tools.map((tool) => ({ ...tool, inputSchema: this.tools[tool.name]?.schema ?? tool.inputSchema })) };
    });
  }
}
