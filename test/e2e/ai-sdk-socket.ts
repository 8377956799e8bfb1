import type { WebSocketChatTransportInitOptions } from "ai";

/** What `WebSocketChatTransport` takes as its `webSocket`. */
type StockClass = NonNullable<WebSocketChatTransportInitOptions<never>["webSocket"]>;
type Stock = InstanceType<StockClass>;

/** A WebSocket whose handshake can carry headers, like Node's own. */
export type SocketClass = new (
  url: string | URL,
  options: { protocols?: string | string[]; headers: Record<string, string> },
) => Stock & { addEventListener(type: "message", listener: (event: { data: unknown }) => void): void };

/**
 * A socket class for the stock transport that says who it is in its handshake, and counts what is sent. `sent` gets
 * "open" for a connection and the type of each frame, and says after how many bytes of the answer the connection is lost; null: not at all.
 */
export function countedSocket(base: SocketClass | undefined, headers: Record<string, string>, sent: (type: string) => number | null): StockClass {
  const Base = base ?? (WebSocket as unknown as SocketClass);
  return class extends Base {
    override onmessage: Stock["onmessage"] = null;
    #left = Infinity;

    constructor(url: string | URL, protocols?: string | string[]) {
      super(url, { headers, ...(protocols === undefined ? {} : { protocols }) });
      sent("open");
      this.addEventListener("message", (event) => {
        this.#left -= String(event.data).length;
        if (this.#left > 0) return this.onmessage?.(event);
        // Lost: nothing more comes in, and the other end finds nobody.
        this.#left = -Infinity;
        this.close();
      });
    }

    override send(data: string): void {
      this.#left = sent(JSON.parse(data).type) ?? this.#left;
      super.send(data);
    }
  } as StockClass;
}
