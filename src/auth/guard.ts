import { createMiddleware } from "hono/factory";
import type { Actor } from "../core/ports.js";
import { device } from "../protocol/entities.js";
import { problem } from "../routes/problem.js";
import type { Env, Settings } from "../settings.js";
import { accessIdentity } from "./access.js";
import { personOf, type Identity, type NotSignedIn } from "./identity.js";
import { isLoopback, localIdentity } from "./local.js";
import { escapeHtml, page } from "./page.js";
import type { Auth } from "./settings.js";

/** `caller` is who the deployment's way of knowing people says is calling, `actor` the same as the objects know it. */
export type App = { Bindings: Env; Variables: { settings: Settings; caller: Identity; actor: Actor } };

const UNSAFE = new Set(["POST", "PUT", "PATCH", "DELETE"]);

/**
 * Every request passes here first: with AUTH=local the host must be loopback, a page's origin must be our own, and the
 * caller known. Only `/healthz` is for everybody.
 */
export const guard = createMiddleware<App>(async (c, next) => {
  const { auth } = c.var.settings;
  const host = c.req.header("host") ?? new URL(c.req.url).host;
  if (auth.mode === "local" && !isLoopback(host)) {
    return c.html(
      page(
        "Holdpoint is not open here",
        `AUTH is "local", which lets people name themselves, so it serves this machine's own addresses only, and not <code>${escapeHtml(host)}</code>. To serve others, set AUTH to "access" and put Cloudflare Access in front.`,
      ),
      403,
    );
  }
  if (c.req.path === "/healthz") return next();
  const origin = c.req.header("origin");
  const upgrade = c.req.header("upgrade")?.toLowerCase() === "websocket";
  if ((UNSAFE.has(c.req.method) || upgrade) && origin !== undefined && !sameHost(origin, host))
    return problem(403, "foreign_origin", "This request comes from another site's page, so it was refused.");
  const caller = await identify(auth, c.req.raw.headers);
  if ("status" in caller) return refuse(caller, c.req.path.startsWith("/api/") || upgrade);
  c.set("caller", caller);
  // With AUTH=local a person is the name.
  const person = auth.mode === "local" ? caller.subject : await personOf(caller);
  c.set("actor", { person, device: deviceOf(c.req.raw.headers), via: "http" });
  await next();
});

function identify(auth: Auth, headers: Headers): Promise<Identity | NotSignedIn> | Identity | NotSignedIn {
  switch (auth.mode) {
    case "local":
      return localIdentity(headers);
    case "access":
      return accessIdentity(headers, auth);
  }
}

function refuse({ status, code, detail }: NotSignedIn, toProgram: boolean): Response {
  if (toProgram) return problem(status, code, detail);
  return new Response(page("You are not signed in", escapeHtml(detail)), { status, headers: { "content-type": "text/html; charset=utf-8" } });
}

function sameHost(origin: string, host: string): boolean {
  try {
    return new URL(origin).host === host;
  } catch {
    return false;
  }
}

function deviceOf(headers: Headers): Actor["device"] {
  const parsed = device.safeParse({ id: headers.get("x-device-id"), name: headers.get("x-device-name") ?? headers.get("x-device-id") });
  return parsed.data ?? { id: "http", name: "an API client" };
}
