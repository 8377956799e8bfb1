import type { Identity, NotSignedIn } from "./identity.js";

// AUTH=local: people name themselves, so it serves loopback hosts only.

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,39}$/u;
export const COOKIE = "holdpoint_name";

export const isLoopback = (host: string | null): boolean => host !== null && LOOPBACK.test(host);

/** A name that a person may give themselves: letters, digits and `._- `, 40 at most. */
export const isName = (name: string): boolean => NAME.test(name);

/** The `Authorization` header by which a program names a person. */
export const bearer = (name: string): string => `Bearer local:${name}`;

/** Who calls: the bearer token `local:<name>`, else the cookie, else `you`. Nobody for a token that is not one. */
export function localIdentity(headers: Pick<Headers, "get">): Identity | NotSignedIn {
  const name = localName(headers);
  if (name === null) return { status: 401, code: "not_signed_in", detail: 'The Authorization header is not "Bearer local:<name>".' };
  return { issuer: "local", subject: name, name, email: null, groups: [], claimedAt: Date.now() };
}

function localName(headers: Pick<Headers, "get">): string | null {
  const authorization = headers.get("authorization");
  if (authorization !== null) {
    const name = /^Bearer local:(.+)$/.exec(authorization)?.[1] ?? "";
    return isName(name) ? name : null;
  }
  const cookie = new RegExp(`(?:^|; )${COOKIE}=([^;]*)`).exec(headers.get("cookie") ?? "")?.[1];
  const name = cookie === undefined ? "you" : decode(cookie);
  return isName(name) ? name : "you";
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
