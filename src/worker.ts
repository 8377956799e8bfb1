import { loggable } from "./protocol/loggable.js";
import { Hono } from "hono";
import { guard, type App } from "./auth/guard.js";
import { escapeHtml, page } from "./auth/page.js";
import { approvals } from "./routes/approvals.js";
import { chat } from "./routes/chat.js";
import { chatSocket } from "./routes/chat-socket.js";
import { conversations } from "./routes/conversations.js";
import { ledger } from "./routes/ledger.js";
import { operator } from "./routes/status.js";
import { problem, Refusal, notFound } from "./routes/problem.js";
import { session } from "./routes/session.js";
import { readSettings } from "./settings.js";

export { Conversation } from "./conversation/conversation.js";

const CSP = "default-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'; object-src 'none'";

/** Every route of the Worker. Nothing is served, and no state touched, before the settings are right. */
export const app = new Hono<App>()
  .use(async (c, next) => {
    const read = readSettings(c.env);
    if (read.ok) {
      c.set("settings", read.settings);
      return next();
    }
    const list = read.problems.map(({ message }) => message);
    console.error(JSON.stringify({ event: "settings.wrong", problems: read.problems }));
    if (c.req.path.startsWith("/api/")) return problem(503, "misconfigured", list.join(" "), { settings: read.problems.map(({ setting }) => setting) });
    return c.html(page("Holdpoint is not set up yet", list.map(escapeHtml).join("<br>")), 503);
  })
  .use(guard)
  .route("/", session)
  .route("/api/conversations", conversations)
  .route("/api/chat", chat)
  .route("/api/chat", chatSocket)
  .route("/api/approvals", approvals)
  .route("/api", ledger)
  .route("/api", operator)
  .all("/api/*", () => notFound())
  .get("*", async (c) => {
    const asset = await c.env.ASSETS.fetch(c.req.raw);
    const headers = new Headers(asset.headers);
    headers.set("content-security-policy", CSP);
    headers.set("x-content-type-options", "nosniff");
    headers.set("referrer-policy", "no-referrer");
    return new Response(asset.body, { status: asset.status, headers });
  })
  .onError((error) => {
    if (error instanceof Refusal) return error.response;
    console.error(JSON.stringify({ event: "request.failed", error: loggable(error) }));
    return problem(500, "internal", "Something went wrong here, and it has been logged. What you sent may not have been done: look, then try again.");
  });

export default app;
