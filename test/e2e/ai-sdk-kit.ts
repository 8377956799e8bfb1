import { Chat } from "@ai-sdk/react";
import { DefaultChatTransport, isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses, safeValidateUIMessages, type UIMessage } from "ai";
import { expect } from "vitest";

// A stock AI SDK client, as an app would build it: nothing of it is patched, its requests are only counted.

/** Where the Worker is reached: over the network, or by a test that runs beside it. */
export interface Server {
  url: string;
  fetch?: typeof fetch;
}

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

export async function until<T>(what: string, condition: () => T | Promise<T>): Promise<Exclude<T, false | null | undefined>> {
  const giveUp = Date.now() + 10_000;
  for (;;) {
    const met = await condition();
    if (met) return met as Exclude<T, false | null | undefined>;
    if (Date.now() > giveUp) throw new Error(`${what}: did not happen in 10 seconds`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export interface Opened {
  id: string;
  person?: string;
  messages?: UIMessage[];
  /** Cuts a response after so many bytes, as a lost connection would. */
  cutAfter?: (request: number) => number | null;
}

export class Client {
  readonly chat: Chat<UIMessage>;
  readonly id: string;
  posts = 0;
  gets = 0;
  /** Statuses of the answers, in order. */
  readonly statuses: number[] = [];
  readonly transient: { type: string; data: unknown }[] = [];

  constructor(
    private readonly server: Server,
    { id, person = "ana", messages = [], cutAfter }: Opened,
  ) {
    this.id = id;
    this.chat = new Chat<UIMessage>({
      id,
      messages,
      transport: new DefaultChatTransport({
        api: `${server.url}/api/chat`,
        headers: { authorization: `Bearer local:${person}`, "x-device-id": `${person}-laptop`, "x-device-name": `${person}'s laptop` },
        fetch: async (url, init) => {
          if (init?.method === "POST") this.posts += 1;
          else this.gets += 1;
          const response = await fetchFrom(server)(url, init);
          this.statuses.push(response.status);
          const bytes = cutAfter?.(this.posts + this.gets) ?? null;
          return bytes === null ? response : cut(response, bytes);
        },
      }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      onData: (part) => this.transient.push({ type: part.type, data: part.data }),
      onError: () => {},
    });
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
function cut(response: Response, bytes: number): Response {
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
