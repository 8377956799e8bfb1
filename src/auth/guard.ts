import { createMiddleware } from "hono/factory";
import type { Actor } from "../core/ports.js";
import { device } from "../protocol/entities.js";
import { problem } from "../routes/problem.js";
import type { Env } from "../settings.js";
import { isLoopback, localPerson } from "./local.js";

export type App = { Bindings: Env; Variables: { actor: Actor } };

const UNSAFE = new Set(["POST", "PUT", "PATCH", "DELETE"]);

/** Every request passes here first: the host must be loopback, a page's origin our own, and the caller known. */
export const guard = createMiddleware<App>(async (c, next) => {
  const host = c.req.header("host") ?? new URL(c.req.url).host;
  if (!isLoopback(host)) {
    return c.html(
      page(
        "Holdpoint is not open here",
        `AUTH is "local", which lets people name themselves, so it serves this machine's own addresses only, and not <code>${escapeHtml(host)}</code>. This version knows no other mode.`,
      ),
      403,
    );
  }
  const origin = c.req.header("origin");
  const upgrade = c.req.header("upgrade")?.toLowerCase() === "websocket";
  if ((UNSAFE.has(c.req.method) || upgrade) && origin !== undefined && !sameHost(origin, host))
    return problem(403, "foreign_origin", "This request comes from another site's page, so it was refused.");
  const person = localPerson(c.req.raw.headers);
  if (person === null) return problem(401, "not_signed_in", 'The Authorization header is not "Bearer local:<name>".');
  c.set("actor", { person, device: deviceOf(c.req.raw.headers), via: "http" });
  await next();
});

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

/** A text as HTML shows it. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

/** A page for when there is nothing else to serve. `body` is HTML of ours. */
export const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><h1>${title}</h1><p>${body}</p></html>`;
