import { Hono } from "hono";
import type { App } from "../auth/guard.js";
import { ChatConnection } from "./chat-connection.js";
import { problem } from "./problem.js";

/** `/api/chat/socket`: the same chat as `/api/chat`, for the AI SDK's `WebSocketChatTransport`. */
export const chatSocket = new Hono<App>().get("/socket", (c) => {
  if (c.req.header("upgrade")?.toLowerCase() !== "websocket") return problem(426, "upgrade_required", "This address speaks WebSocket.");
  const { 0: client, 1: server } = new WebSocketPair();
  new ChatConnection(server, c.env, c.var.actor);
  return new Response(null, { status: 101, webSocket: client });
});
