import * as z from "zod";
import { allow, ask, defineTool, deny, OutcomeUnknown, type PolicyVerdict } from "./define-tool.js";
import { refusedAddress } from "./public-address.js";

const BODY_BYTES = 64 * 1024;
const REDIRECTS = 5;
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);
const SHOWN_HEADERS = ["content-type", "content-length", "last-modified", "etag", "location", "retry-after"];
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;

type Method = (typeof METHODS)[number];
const reads = (method: Method) => method === "GET" || method === "HEAD";

export interface HttpRequestSettings {
  /** Hosts (with the port, unless it is the usual one) that a GET reaches without a card. */
  allowlist: readonly string[];
  fetch?: typeof fetch;
}

/** An HTTP request by the agent. What would need a card is not reached by a redirect either. */
export function httpRequest({ allowlist, fetch = globalThis.fetch.bind(globalThis) }: HttpRequestSettings) {
  const allowed = new Set(allowlist.map((host) => host.trim().toLowerCase()).filter(Boolean));

  const judge = (method: Method, url: URL): PolicyVerdict => {
    const refused = refusedAddress(url);
    if (refused) return deny(refused);
    return method === "GET" && allowed.has(url.host) ? allow() : ask({ risk: reads(method) ? "low" : "medium" });
  };

  return defineTool({
    name: "http_request",
    description: `Make one HTTP request to a public address and get status, some headers and up to 64 KiB of the text. ${
      allowed.size > 0 ? `A GET to ${[...allowed].join(", ")} runs at once; everything else asks a person by itself.` : "It asks a person by itself."
    }`,
    input: z
      .object({
        url: z.url().max(4_000),
        method: z.enum(METHODS).default("GET"),
        headers: z
          .record(
            z.string().regex(/^[A-Za-z0-9-]{1,64}$/),
            z
              .string()
              .max(4_000)
              .regex(/^[\t\x20-\x7e]*$/),
          )
          .optional(),
        body: z.string().max(100_000).optional(),
      })
      .refine(({ method, body }) => body === undefined || !reads(method), { path: ["body"], message: "a GET or HEAD has no body" }),
    risk: "medium",
    approval: ({ method, url }) => judge(method, new URL(url)),
    summary: ({ method, url }) => `${method} ${url}`,
    idempotent: ({ method }) => reads(method),
    async execute({ url: first, method: firstMethod, headers, body }, { signal }) {
      let url = new URL(first);
      let method: Method = firstMethod;
      const request: RequestInit = { redirect: "manual", signal, ...(headers && { headers }), ...(body !== undefined && { body }) };
      for (let hop = 0; ; hop++) {
        const response = await send(fetch, url, method, request);
        const next = redirectTarget(response, url);
        if (!next) return { ...(await report(response, url)) };
        const stop = (reason: string) => report(response, url, { to: next.href, notFollowed: reason });
        if (hop === REDIRECTS) return stop(`more than ${REDIRECTS} redirects`);
        if (response.status === 303 || (response.status < 303 && !reads(method))) {
          if (method !== "HEAD") method = "GET";
          delete request.body;
        }
        const verdict = judge(method, next);
        if (verdict.verdict === "deny") return stop(verdict.reason);
        if (verdict.verdict === "ask") return stop("a request there needs a person's approval; call the tool with that URL to ask for it");
        await response.body?.cancel();
        // Headers were approved for the first host, and may hold a key that is only its.
        if (next.origin !== url.origin) delete request.headers;
        url = next;
      }
    },
  });
}

/** The runtime hides why a host was not reached behind a reference number, which tells nobody anything. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.startsWith("internal error") ? "its name could not be found, or nothing listens there." : message;
}

async function send(fetch: typeof globalThis.fetch, url: URL, method: Method, request: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...request, method });
  } catch (error) {
    if (reads(method)) throw new Error(`${url.host} did not answer: ${reasonOf(error)}`, { cause: error });
    throw new OutcomeUnknown(`The connection to ${url.host} failed, so it is not known whether the request took effect.`, { cause: error });
  }
}

function redirectTarget(response: Response, from: URL): URL | null {
  const location = REDIRECT_STATUSES.has(response.status) ? response.headers.get("location") : null;
  return location && URL.canParse(location, from) ? new URL(location, from) : null;
}

async function report(response: Response, url: URL, redirect?: { to: string; notFollowed: string }) {
  const headers = Object.fromEntries(SHOWN_HEADERS.flatMap((name) => (response.headers.has(name) ? [[name, response.headers.get(name)]] : [])));
  return { status: response.status, url: url.href, headers, ...(redirect && { redirect }), ...(await readText(response)) };
}

/** Up to 64 KiB of a text body. What follows is never downloaded: a page without an end must not hold the run. */
async function readText(response: Response): Promise<{ body: string; note?: string }> {
  const type = response.headers.get("content-type") ?? "text/plain";
  if (!response.body) return { body: "" };
  if (!/^text\/|[/+](json|xml|javascript|yaml|x-www-form-urlencoded|x-ndjson)\b/i.test(type)) {
    await response.body.cancel();
    return { body: "", note: `The body is ${type.slice(0, 100)}, not text, and was left out.` };
  }
  const decoder = new TextDecoder();
  let body = "";
  let room = BODY_BYTES;
  try {
    for await (const chunk of response.body as ReadableStream<Uint8Array>) {
      body += decoder.decode(chunk.subarray(0, room), { stream: true });
      room -= chunk.byteLength;
      if (room < 0) return { body, note: "The body was cut after 64 KiB." };
    }
  } catch {
    return { body, note: "The connection broke before the end of the body." };
  }
  return { body: body + decoder.decode() };
}
