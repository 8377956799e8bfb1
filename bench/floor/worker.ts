import { DurableObject } from "cloudflare:workers";

interface Env {
  ROOM: DurableObjectNamespace<Room>;
  DB: D1Database;
}

/** What no chat with approvals can do without: hold sockets that may hibernate, flip one row in D1, tell everyone. */
export class Room extends DurableObject<Env> {
  override fetch(): Response {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }

  override async webSocketMessage(_socket: WebSocket, data: string): Promise<void> {
    const { card } = JSON.parse(data) as { card: string };
    await this.env.DB.prepare("UPDATE cards SET state = 'approved', flipped = flipped + 1 WHERE id = ?").bind(card).run();
    const text = JSON.stringify({ type: "change", card, state: "approved" });
    for (const socket of this.ctx.getWebSockets()) socket.send(text);
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname } = new URL(request.url);
    const card = pathname.slice(1);
    if (request.headers.get("upgrade") === "websocket") return env.ROOM.getByName(card).fetch(request);
    if (request.method !== "POST") return new Response("floor");
    await env.DB.batch([
      env.DB.prepare("CREATE TABLE IF NOT EXISTS cards (id TEXT PRIMARY KEY, state TEXT NOT NULL, flipped INTEGER NOT NULL) WITHOUT ROWID"),
      env.DB.prepare("INSERT INTO cards VALUES (?, 'pending', 0)").bind(card),
    ]);
    return new Response(card, { status: 201 });
  },
};
