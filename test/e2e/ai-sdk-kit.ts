import { Chat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  safeValidateUIMessages,
  WebSocketChatTransport,
  type ChatTransport,
  type UIMessage,
} from "ai";
import { expect } from "vitest";
import { countedSocket, type SocketClass } from "./ai-sdk-socket.js";

// A stock AI SDK client, as an app would build it: nothing of it is patched, its requests are only counted.

/** Where the Worker is reached: over the network, or by a test that runs beside it. */
export interface Server {
  url: string;
  fetch?: typeof fetch;
  webSocket?: SocketClass;
  /** HTTP when it is not said. */
  wire?: Wire;
}

/** What a stock client speaks to it: `DefaultChatTransport` or `WebSocketChatTransport`. */
export type Wire = "HTTP" | "WebSocket";
export const WIRES: Wire[] = ["HTTP", "WebSocket"];

const fetchFrom = (server: Server): typeof fetch => server.fetch ?? fetch;

type Answered = { status: number; body: any };

/** A request as a person, from a device. */
export async function api(server: Server, person: string, method: string, path: string, body?: unknown): Promise<Answered> {
  const headers = { authorization: `Bearer local:${person}`, "x-device-id": `${person}-phone`, "x-device-name": `${person}'s phone` };
  const response = await fetchFrom(server)(server.url + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const text = await response.text();
  return { status: response.status, body: text && response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text };
}

/** A conversation of ana's; its id is the chat's id, so that its history can be asked for. */
export async function newConversation(server: Server): Promise<string> {
  return (await api(server, "ana", "POST", "/api/conversations", {})).body.id;
}

export async function history(server: Server, id: string): Promise<UIMessage[]> {
  return (await api(server, "ana", "GET", `/api/conversations/${id}/messages?limit=100`)).body.messages;
}

/** Transfers that this conversation has made: how often the tool's effect happened. */
export async function transfers(server: Server, id: string): Promise<number[]> {
  const { body } = await api(server, "ana", "GET", "/api/ledger");
  return body.transfers.filter((one: { key: string }) => one.key.startsWith(`${id}.`)).map((one: { amountMinor: number }) => one.amountMinor / 100);
}

export async function until<T>(what: string, condition: () => T | Promise<T>, ms = 10_000): Promise<Exclude<T, false | null | undefined>> {
  const giveUp = Date.now() + ms;
  for (;;) {
    const met = await condition();
    if (met) return met as Exclude<T, false | null | undefined>;
    if (Date.now() > giveUp) throw new Error(`${what}: did not happen in ${ms / 1000} seconds`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export interface Opened {
  id: string;
  person?: string;
  messages?: UIMessage[];
  /** Cuts the answer to the n-th request after so many bytes, as a lost connection would. */
  cutAfter?: (request: number) => number | null;
  /** A second predicate, for apps that answer calls themselves. */
  sendAlsoWhen?: (options: { messages: UIMessage[] }) => boolean;
  /** Another chat on the same page: over WebSocket they share one connection. Its requests are counted there. */
  beside?: Client;
}

export class Client {
  readonly chat: Chat<UIMessage>;
  readonly id: string;
  /** Texts and answers sent: POSTs, or `send` frames. */
  posts = 0;
  /** Streams resumed: GETs, or `resume` frames. */
  gets = 0;
  readonly transient: { type: string; data: unknown }[] = [];
  /** Tools whose calls the SDK handed to the app. */
  readonly toolCalls: string[] = [];
  readonly transport: ChatTransport<UIMessage>;
  /** Connections opened, over WebSocket. */
  connections = 0;
  /** Statuses of HTTP answers, in order. */
  readonly #statuses: number[] = [];

  constructor(
    private readonly server: Server,
    { id, person = "ana", messages = [], cutAfter, beside, sendAlsoWhen }: Opened,
  ) {
    this.id = id;
    const identity = { authorization: `Bearer local:${person}` };
    const device = { "x-device-id": `${person}-laptop`, "x-device-name": `${person}'s laptop` };
    const cut = (): number | null => cutAfter?.(this.posts + this.gets) ?? null;
    this.transport = beside
      ? beside.transport
      : server.wire === "WebSocket"
        ? new WebSocketChatTransport({
            url: `${server.url}/api/chat/socket`,
            headers: device,
            // Where there are no cookies, the handshake itself says who this is.
            webSocket: countedSocket(server.webSocket, identity, (type) => {
              if (type === "open") this.connections += 1;
              if (type === "send") this.posts += 1;
              if (type === "resume") this.gets += 1;
              return type === "send" || type === "resume" ? cut() : null;
            }),
          })
        : new DefaultChatTransport({
            api: `${server.url}/api/chat`,
            headers: { ...identity, ...device },
            fetch: async (url, init) => {
              if (init?.method === "POST") this.posts += 1;
              else this.gets += 1;
              const response = await fetchFrom(server)(url, init);
              this.#statuses.push(response.status);
              const bytes = cut();
              return bytes === null ? response : cutResponse(response, bytes);
            },
          });
    this.chat = new Chat<UIMessage>({
      id,
      messages,
      transport: this.transport,
      sendAutomaticallyWhen: (options) => lastAssistantMessageIsCompleteWithApprovalResponses(options) || sendAlsoWhen?.(options) === true,
      onToolCall: ({ toolCall }) => void this.toolCalls.push(toolCall.toolName),
      onData: (part) => this.transient.push({ type: part.type, data: part.data }),
      onError: () => {},
    });
  }

  /** Resumes, where there is something to show; until it has been shown. */
  async resume(): Promise<void> {
    await this.chat.resumeStream();
    if (this.server.wire !== "WebSocket") expect(this.#statuses.at(-1)).toBe(200);
  }

  /**
   * Resumes, where there is nothing to show: over HTTP that is said at once (204), over WebSocket the request is held
   * until something happens. What is returned ends then.
   */
  async resumeForNothing(): Promise<{ ended: Promise<void> }> {
    const [gets, shown] = [this.gets, JSON.stringify(this.chat.messages)];
    const ended = this.chat.resumeStream();
    if (this.server.wire !== "WebSocket") {
      await ended;
      expect(this.#statuses.at(-1)).toBe(204);
    } else {
      let isHeld = true;
      void ended.then(() => (isHeld = false));
      await until("the resume", () => this.gets > gets);
      // A round trip later it is held still.
      await history(this.server, this.id);
      expect(isHeld).toBe(true);
    }
    expect([this.chat.status, JSON.stringify(this.chat.messages)]).toEqual(["ready", shown]);
    return { ended };
  }

  /** Goes away, as a page does. */
  close(): void {
    if (this.transport instanceof WebSocketChatTransport) this.transport.close();
  }

  say = (text: string): Promise<void> => this.chat.sendMessage({ text });

  answer = (id: string, approved: boolean, reason?: string): void => void this.chat.addToolApprovalResponse({ id, approved, ...(reason === undefined ? {} : { reason }) });

  /** Ids of the approvals that this client's screen asks for. */
  get asked(): string[] {
    return this.chat.messages.flatMap((message) => message.parts.flatMap((part) => (isToolUIPart(part) && part.state === "approval-requested" ? [part.approval.id] : [])));
  }

  /** What the agent has written on this client's screen. */
  get text(): string {
    return this.chat.messages.flatMap((message) => (message.role === "user" ? [] : message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])))).join("\n");
  }

  get states(): string[] {
    return this.chat.messages.flatMap((message) => message.parts.flatMap((part) => (isToolUIPart(part) ? [part.state] : [])));
  }

  /** Waits until so many POSTs have been made and the last of them is answered. */
  rested = (posts: number): Promise<unknown> =>
    until(
      `POST ${posts} (${this.posts} made, ${this.chat.status} ${this.chat.error?.message ?? ""})`,
      () => this.posts >= posts && this.chat.status !== "submitted" && this.chat.status !== "streaming",
    );

  /** The screen shows what the server has, no part more or less, and it took just so many requests. */
  async expectInStep(requests: { posts: number; gets?: number }): Promise<void> {
    expect(this.chat.error).toBeUndefined();
    expect(this.chat.status).toBe("ready");
    const stored = await history(this.server, this.id);
    expect(normal(this.chat.messages)).toEqual(normal(stored));
    // The SDK's own check, which apps and other servers make of a history.
    if (stored.length > 0) expect(await safeValidateUIMessages({ messages: stored })).toMatchObject({ success: true });
    // Asked after a round trip, in which an endless client would have made dozens.
    expect({ posts: this.posts, gets: this.gets }).toEqual({ gets: 0, ...requests });
  }
}

/**
 * Only what the SDK itself adds on the client is taken away: fields that are `undefined`, and the chunk id that
 * it keeps on a reasoning part.
 */
export function normal(messages: UIMessage[]): unknown {
  return (JSON.parse(JSON.stringify(messages)) as UIMessage[]).map(({ id, role, parts }) => ({
    id,
    role,
    parts: parts.map((part) => (part.type === "reasoning" ? { ...part, id: undefined } : part)).map((part) => JSON.parse(JSON.stringify(part))),
  }));
}

/** The response's first bytes, then an error like that of a lost connection. */
function cutResponse(response: Response, bytes: number): Response {
  let left = bytes;
  const body = response.body?.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        if (chunk.byteLength < left) {
          left -= chunk.byteLength;
          return controller.enqueue(chunk);
        }
        controller.enqueue(chunk.slice(0, left));
        controller.error(new TypeError("network error"));
      },
    }),
  );
  return new Response(body ?? null, { status: response.status, headers: response.headers });
}
