import * as z from "zod";
import type { DecisionCode } from "../protocol/commands.js";
import type { Json } from "../protocol/json.js";
import { parseUntrusted } from "../protocol/parse.js";

/** Largest body taken, in bytes (H20). */
const BODY_BYTES = 4 * 1024 * 1024;

/** An error as RFC 9457 has it, with a stable `code` for programs and a `detail` that says what to do. */
export function problem(status: number, code: string, detail: string, more: Record<string, unknown> = {}): Response {
  const body = { type: "about:blank", title: TITLES[status] ?? "Error", status, code, detail, ...more };
  return Response.json(body, { status, headers: { "content-type": "application/problem+json" } });
}

const TITLES: Record<number, string> = {
  400: "Bad request",
  401: "Not signed in",
  403: "Not allowed",
  404: "Not found",
  409: "Conflict",
  410: "Gone",
  413: "Too large",
  415: "Not JSON",
  422: "Invalid",
  500: "Error",
  503: "Not available",
};

/** Thrown by a route that can't go on; the edge answers with it. */
export class Refusal extends Error {
  constructor(readonly response: Response) {
    super("refused");
  }
}

export const notFound = (): Response => problem(404, "not_found", "There is no such thing here, or it is not yours to see.");

/** Reads a body: at most 4 MiB of JSON of the schema's shape. Throws a `Refusal` for anything else. */
export async function readBody<T extends z.ZodType>(request: Request, schema: T): Promise<z.infer<T>> {
  const text = await readText(request);
  const parsed = text.trim() === "" ? { value: {} as Json } : parseUntrusted(text);
  if (!parsed) throw new Refusal(problem(400, "malformed", "The body is not JSON, or nests too deep."));
  const body = schema.safeParse(parsed.value);
  if (!body.success)
    throw new Refusal(
      problem(400, "malformed", z.prettifyError(body.error).slice(0, 1000), {
        issues: body.error.issues.slice(0, 20).map((issue) => ({ path: issue.path, message: issue.message })),
      }),
    );
  return body.data;
}

async function readText(request: Request): Promise<string> {
  const tooLarge = new Refusal(problem(413, "too_large", `A body has at most ${BODY_BYTES} bytes.`));
  if (Number(request.headers.get("content-length") ?? 0) > BODY_BYTES) throw tooLarge;
  const reader = request.body?.getReader();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) {
    bytes += next.value.byteLength;
    if (bytes > BODY_BYTES) throw tooLarge;
    chunks.push(next.value);
  }
  return new TextDecoder().decode(await new Blob(chunks).arrayBuffer());
}

/** The status of each way a decision can end. */
export const DECISION_STATUS: Record<DecisionCode, 200 | 403 | 404 | 409 | 410 | 422> = {
  decided: 200,
  same: 200,
  conflict: 409,
  changed: 409,
  expired: 410,
  invalid: 422,
  forbidden: 403,
  not_found: 404,
};

const COMMAND_STATUS: Record<string, number> = {
  not_found: 404,
  forbidden: 403,
  run_ended: 409,
  message_id_taken: 409,
  op_reused: 409,
  queue_full: 429,
  too_large: 413,
  empty: 422,
  owner_stays: 422,
  run_live: 409,
};

/** A refused command as a problem. */
export const refused = (outcome: { code?: string; message?: string }): Response =>
  problem(COMMAND_STATUS[outcome.code ?? ""] ?? 422, outcome.code ?? "rejected", outcome.message ?? "Refused.");
