import fc from "fast-check";
import type * as z from "zod";
import { chatClientFrame } from "../../src/protocol/chat-frames.js";
import { clientFrame } from "../../src/protocol/frames.js";
import { cancelBody, createConversationBody, memberBody, patchConversationBody, resumeBody } from "../../src/protocol/http.js";
import { reindexBody } from "../../src/protocol/status.js";
import { HONEST, type Entry, type Input } from "./honest.js";
import { damagedText, damagedValue, HERE_ID, noise, odd, someId, words } from "./odd.js";
import { shaped } from "./shapes.js";

// What is thrown at the Worker: of the schemas' shapes, honest inputs that were damaged, and noise.

const SCHEMAS: Record<string, z.ZodType> = {
  "POST /api/chat/resume": resumeBody,
  "POST /api/conversations": createConversationBody,
  "PATCH /api/conversations/": patchConversationBody,
  "/cancel": cancelBody,
  "/members/": memberBody,
  "/api/reindex": reindexBody,
};

function schemaOf({ entry, method, path }: Input): z.ZodType | null {
  if (entry === "socket") return clientFrame;
  if (entry === "chat socket") return chatClientFrame;
  const place = `${method} ${path}`;
  return Object.entries(SCHEMAS).findLast(([part]) => place.includes(part))?.[1] ?? null;
}

const json = (value: unknown): string => JSON.stringify(value) ?? "";
const person = fc.oneof(...Object.entries({ ana: 12, ben: 4, vic: 5, eve: 2, Łukasz: 1 }).map(([name, weight]) => ({ weight, arbitrary: fc.constant(name) })));

/** A frame or body in place of an honest one. */
function text(honest: Input): fc.Arbitrary<string> {
  const schema = schemaOf(honest);
  const value = honest.text === "" ? {} : (JSON.parse(honest.text) as unknown);
  return fc.oneof(
    ...(schema ? [{ weight: 4, arbitrary: shaped(schema, 12).map(json) }] : []),
    { weight: 4, arbitrary: damagedValue(value).map(json) },
    {
      weight: 2,
      arbitrary: fc.oneof(
        damagedText(honest.text),
        damagedText(honest.text).map((damaged) => damaged.slice(0, 4000)),
      ),
    },
    { weight: 1, arbitrary: noise },
  );
}

// A header can't hold these: no client could send them. What has to be refused by name is another person's, or of another site.
const header = fc.oneof(words, someId).map((value) => value.replaceAll(/[^\u0020-\u007E]/g, "").trim());
const name = fc.oneof(words, someId).map((value) => encodeURIComponent(value.toWellFormed()));
const headers = fc.oneof(
  { weight: 4, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.record({ "x-device-id": header, "x-device-name": header }, { requiredKeys: [] }) },
  {
    weight: 1,
    arbitrary: fc.record({ cookie: name.map((one) => `holdpoint_name=${one}`), authorization: header.map((one) => `Bearer local:${one}`) }, { requiredKeys: ["cookie"] }),
  },
  {
    weight: 1,
    arbitrary: fc.record(
      { origin: fc.constantFrom("https://evil.example", "null", "x"), upgrade: fc.constantFrom("websocket", "x"), "x-actor": fc.constant('{"person":"ana"}') },
      { requiredKeys: ["origin"] },
    ),
  },
);

const segment = fc.oneof(
  { weight: 4, arbitrary: someId.map((id) => encodeURIComponent(id.toWellFormed())) },
  { weight: 1, arbitrary: fc.constantFrom("", "%", "%zz", "%E0%A4%A", "%00", "%2e%2e", "..", "*", "%ff") },
);
const query = fc.dictionary(
  fc.constantFrom("limit", "cursor", "before", "state", "conversation", "x"),
  fc.oneof(someId, fc.constantFrom("-1", "1e9", "9007199254740993", "NaN", "1~", "9999999999999999~c", "pending")),
  {
    maxKeys: 3,
  },
);

/** The address of an honest request, or one near it. */
function path(honest: Input): fc.Arbitrary<string> {
  const [place = "", asked] = honest.path.split("?");
  const segments = place.split("/");
  const moved = fc.record({ at: fc.nat(segments.length - 1), by: segment }).map(({ at, by }) => segments.with(at === 0 ? segments.length - 1 : at, by).join("/"));
  const whole = fc.record({ at: fc.oneof({ weight: 6, arbitrary: fc.constant(place) }, { weight: 2, arbitrary: moved }), query }).map(({ at, query: words_ }) => {
    const text_ = new URLSearchParams(Object.entries(words_).map(([name, value]): [string, string] => [name, value.toWellFormed()])).toString();
    return `/${at.replace(/^\/+/, "")}${text_ ? `?${text_}` : ""}`;
  });
  return asked === undefined ? whole : fc.oneof(fc.constant(honest.path), whole);
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"];

function damaged(honest: Input): fc.Arbitrary<Input> {
  if (honest.entry !== "http") return fc.record({ person, text: text(honest) }).map((changed) => ({ ...honest, ...changed }));
  const method = fc.oneof({ weight: 9, arbitrary: fc.constant(honest.method) }, { weight: 1, arbitrary: fc.constantFrom(...METHODS) });
  return fc.record({ person, method, path: path(honest), headers, text: text(honest) }).map((changed) => ({ ...honest, ...changed }) as Input);
}

/** Inputs at some entries. */
export const inputs = (...entries: Entry[]): fc.Arbitrary<Input> => fc.oneof(...HONEST.filter(({ entry }) => entries.includes(entry)).map(damaged));

/** Headers that name a person; only a cookie can name one whose name is not ASCII. */
export const asPerson = (one: string): Record<string, string> =>
  /^[\w.-]*$/.test(one) ? { authorization: `Bearer local:${one}` } : { cookie: `holdpoint_name=${encodeURIComponent(one)}` };

/** The input with a conversation's own id in place of the one that stands for it. */
export function at(input: Input, id: string): Input {
  return { ...input, text: input.text.replaceAll(HERE_ID, id), path: input.path.replaceAll(HERE_ID, id) };
}

/** Values as a hostile MCP server may put them into its answers. */
export const answers: fc.Arbitrary<unknown> = damagedValue({
  content: [
    { type: "text", text: "x" },
    { type: "image", data: "AAAA", mimeType: "image/png" },
    { type: "resource", resource: { uri: "file:///a", mimeType: "text/plain" } },
    { type: "resource_link", uri: "https://x", name: "x" },
  ],
  structuredContent: { a: [1, { b: null }] },
  isError: false,
  toolResult: 1,
}).chain((value) => fc.oneof(fc.constant(value), damagedValue(value)));

/** Tools as a hostile MCP server may list them, with an input that a model may give. */
export const listed: fc.Arbitrary<{ tool: unknown; input: unknown }> = fc.record({
  tool: damagedValue({
    name: "look",
    description: "x",
    inputSchema: {
      type: "object",
      required: ["a"],
      properties: {
        a: { type: "string", default: "x", enum: ["x", "y"] },
        b: { anyOf: [{ type: "number", minimum: 1 }, { $ref: "#/$defs/c" }] },
        c: { type: "array", items: { type: "boolean" } },
      },
      $defs: { c: { type: "null" } },
    },
    annotations: { readOnlyHint: true },
  }),
  input: fc.oneof(odd, damagedValue({ a: "x", b: 2, c: [true] })),
});
