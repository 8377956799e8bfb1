import { describe, expect, test } from "vitest";
import { OutcomeUnknown } from "../../../src/core/tool.js";
import { httpRequest } from "../../../src/tools/http-request.js";

interface Sent {
  url: string;
  method: string;
  headers: Headers;
  body: unknown;
}

/** An http_request whose internet is this table. */
function online(pages: Record<string, () => Response> = {}) {
  const sent: Sent[] = [];
  const tool = httpRequest({
    allowlist: ["example.com", " API.example.com:8443 "],
    fetch: async (url, init) => {
      sent.push({ url: String(url), method: init?.method ?? "GET", headers: new Headers(init?.headers), body: init?.body });
      const page = pages[String(url)];
      if (!page) throw new TypeError("connection reset");
      return page();
    },
  });
  const run = async (input: object) => {
    const parsed = tool.parse(input);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
    return (await tool.execute(parsed.value, { idempotencyKey: "k", signal: new AbortController().signal, conversationId: "c", person: "ann", env: {} })) as Record<
      string,
      unknown
    >;
  };
  const verdict = (url: string, method = "GET") => tool.policy({ url, method }).verdict;
  return { tool, run, sent, verdict };
}

const redirect =
  (location: string, status = 302) =>
  () =>
    new Response(null, { status, headers: { location } });
const page =
  (body: BodyInit | null, headers: Record<string, string> = { "content-type": "text/html" }) =>
  () =>
    new Response(body, { headers });

describe("what runs without a card", () => {
  const { verdict, tool } = online();

  test.each(["https://example.com/", "http://example.com/a?b=c", "https://EXAMPLE.com", "https://api.example.com:8443/v1"])("GET %s", (url) => {
    expect(verdict(url)).toBe("allow");
  });

  test.each(["https://www.example.com/", "https://example.com.evil.net/", "https://example.com:8080/", "https://api.example.com/", "https://evil.net/?example.com"])(
    "not GET %s",
    (url) => {
      expect(verdict(url)).toBe("ask");
    },
  );

  test.each(["HEAD", "POST", "PUT", "PATCH", "DELETE"])("not %s, wherever to", (method) => {
    expect(verdict("https://example.com/", method)).toBe("ask");
  });

  test("nothing, when no host is listed", () => {
    expect(httpRequest({ allowlist: [] }).policy({ url: "https://example.com/", method: "GET" }).verdict).toBe("ask");
  });

  test("only GET and HEAD may be run again by themselves", () => {
    expect(["GET", "HEAD", "POST", "DELETE"].map((method) => tool.idempotent({ url: "https://example.com", method }))).toEqual([true, true, false, false]);
  });
});

describe("private addresses are refused, however they are written", () => {
  const { verdict } = online();

  test.each([
    "http://localhost/",
    "http://localhost:8787/",
    "http://LOCALHOST./",
    "http://app.localhost/",
    "http://printer/",
    "http://printer.local/",
    "http://metadata.google.internal/",
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://127.0.0.1./",
    "http://%31%32%37.0.0.1/",
    "http://１２７.0.0.1/",
    "http://0.0.0.0/",
    "http://10.1.2.3/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.64.0.1/",
    "http://198.19.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/",
    "http://[2001:db8::1]/",
    "http://[fc00::1]/",
    "http://[fd12:3456::1]/",
    "http://[fe80::1]/",
    "http://[ff02::1]/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "https://user:secret@example.com/",
  ])("%s", (url) => {
    expect(verdict(url)).toBe("deny");
  });

  test.each(["http://8.8.8.8/", "http://172.32.0.1/", "http://100.128.0.1/", "http://[2606:4700::1111]/", "https://local.example.org/"])("%s is public, and asks", (url) => {
    expect(verdict(url)).toBe("ask");
  });
});

describe("redirects are followed by the same rule", () => {
  test("to an allowed host: followed, without the headers that were meant for the first", async () => {
    const { run, sent } = online({ "https://example.com/": redirect("https://api.example.com:8443/v1"), "https://api.example.com:8443/v1": page("hello") });
    await expect(run({ url: "https://example.com/", headers: { authorization: "Bearer secret" } })).resolves.toMatchObject({
      status: 200,
      url: "https://api.example.com:8443/v1",
      body: "hello",
    });
    expect(sent.map(({ headers }) => headers.get("authorization"))).toEqual(["Bearer secret", null]);
  });

  test("to a host that would ask: reported, not followed", async () => {
    const { run, sent } = online({ "https://example.com/": redirect("https://other.net/x") });
    await expect(run({ url: "https://example.com/" })).resolves.toMatchObject({
      status: 302,
      redirect: { to: "https://other.net/x", notFollowed: expect.stringContaining("approval") },
    });
    expect(sent).toHaveLength(1);
  });

  test("to a private address: reported, not followed", async () => {
    const { run, sent } = online({ "https://example.com/": redirect("http://169.254.169.254/") });
    await expect(run({ url: "https://example.com/" })).resolves.toMatchObject({ redirect: { notFollowed: expect.stringContaining("not a public") } });
    expect(sent).toHaveLength(1);
  });

  test("five times at most", async () => {
    const { run, sent } = online({ "https://example.com/": redirect("https://example.com/") });
    await expect(run({ url: "https://example.com/" })).resolves.toMatchObject({ redirect: { notFollowed: "more than 5 redirects" } });
    expect(sent).toHaveLength(6);
  });

  test("a POST that is sent elsewhere by 303 goes on as a GET without its body", async () => {
    const { run, sent } = online({ "https://example.com/form": redirect("/done", 303), "https://example.com/done": page("thanks") });
    await run({ url: "https://example.com/form", method: "POST", body: "a=1" });
    expect(sent.map(({ method, body }) => [method, body])).toEqual([
      ["POST", "a=1"],
      ["GET", undefined],
    ]);
  });

  test("a POST is not repeated at another place by 307", async () => {
    const { run, sent } = online({ "https://example.com/form": redirect("/again", 307) });
    await expect(run({ url: "https://example.com/form", method: "POST", body: "a=1" })).resolves.toMatchObject({ redirect: { to: "https://example.com/again" } });
    expect(sent).toHaveLength(1);
  });
});

describe("what comes back", () => {
  test("a body is cut after 64 KiB, and the rest is never downloaded", async () => {
    let chunks = 0;
    let cancelled = false;
    const endless = () =>
      new ReadableStream<Uint8Array>({
        pull: (controller) => {
          chunks++;
          controller.enqueue(new TextEncoder().encode("x".repeat(10_000)));
        },
        cancel: () => {
          cancelled = true;
        },
      });
    const { run } = online({ "https://example.com/": () => page(endless())() });
    const result = await run({ url: "https://example.com/" });
    expect(result).toMatchObject({ note: expect.stringContaining("64 KiB") });
    expect(String(result["body"])).toHaveLength(65_536);
    expect([cancelled, chunks < 12]).toEqual([true, true]);
  });

  test("a body of exactly 64 KiB is whole", async () => {
    const { run } = online({ "https://example.com/": page("x".repeat(65_536)) });
    expect(await run({ url: "https://example.com/" })).not.toHaveProperty("note");
  });

  test("what isn't text is left out, saying so", async () => {
    const { run } = online({ "https://example.com/": page("\u0000\u0001", { "content-type": "image/png" }) });
    await expect(run({ url: "https://example.com/" })).resolves.toMatchObject({ body: "", note: expect.stringContaining("image/png") });
  });

  test("cookies and other headers stay out of the conversation", async () => {
    const { run } = online({ "https://example.com/": page("x", { "content-type": "text/plain", "set-cookie": "session=1", "x-secret": "2" }) });
    expect(await run({ url: "https://example.com/" })).toMatchObject({ headers: { "content-type": "text/plain" } });
    expect(JSON.stringify(await run({ url: "https://example.com/" }))).not.toMatch(/session|secret/);
  });
});

describe("a connection that fails", () => {
  test("is an error of a GET", async () => {
    await expect(online().run({ url: "https://example.com/" })).rejects.toThrow("did not answer");
  });

  test("leaves a POST unknown, for it may have taken effect", async () => {
    await expect(online().run({ url: "https://example.com/", method: "POST" })).rejects.toBeInstanceOf(OutcomeUnknown);
  });
});

test.each([
  ["a body with a GET", { url: "https://example.com", body: "x" }],
  ["a header with a line break", { url: "https://example.com", headers: { a: "b\r\nc: d" } }],
  ["a header name with a colon", { url: "https://example.com", headers: { "a:": "b" } }],
  ["no URL", { url: "example" }],
])("%s goes back to the model, without a card", (_, input) => {
  expect(online().tool.parse(input).ok).toBe(false);
});
