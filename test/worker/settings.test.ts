import { env } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { app } from "../../src/worker.js";
import type { Env } from "../../src/settings.js";
import { until } from "../kit/until.js";
import { api, migrateD1 } from "./kit.js";

beforeEach(migrateD1);
afterEach(() => vi.restoreAllMocks());

const BASE: Partial<Env> = { AUTH: "local", MODEL: "demo", DB: env.DB };

/** The Worker with other settings; a binding that it touches would throw, for there is none. */
const ask = async (settings: Partial<Env>, path = "/", headers: Record<string, string> = {}): Promise<{ status: number; text: string; logged: string }> => {
  const log = vi.spyOn(console, "error").mockImplementation(() => {});
  const response = await app.fetch(new Request(`http://localhost${path}`, { headers }), settings as Env);
  return { status: response.status, text: await response.text(), logged: log.mock.calls.flat().join("\n") };
};

describe("a missing or wrong setting", () => {
  const { MODEL: _model, ...withoutModel } = BASE;
  const { AUTH: _auth, ...withoutAuth } = BASE;
  for (const [title, settings, name] of [
    ["AUTH missing", withoutAuth, "AUTH"],
    ["AUTH unknown", { ...BASE, AUTH: "oidc" }, "AUTH"],
    ["AUTH=access without a team", { ...BASE, AUTH: "access", ACCESS_AUD: "the-app" }, "ACCESS_TEAM"],
    ["AUTH=access without an audience", { ...BASE, AUTH: "access", ACCESS_TEAM: "example" }, "ACCESS_AUD"],
    ["a team at an address without encryption", { ...BASE, AUTH: "access", ACCESS_TEAM: "http://evil.example", ACCESS_AUD: "the-app" }, "ACCESS_TEAM"],
    ["a team that is a page", { ...BASE, AUTH: "access", ACCESS_TEAM: "https://example.cloudflareaccess.com/login", ACCESS_AUD: "the-app" }, "ACCESS_TEAM"],
    ["MODEL unknown", { ...BASE, MODEL: "gpt" }, "MODEL"],
    ["MODEL without its binding", { ...BASE, MODEL: "workers-ai/@cf/meta/llama" }, "AI"],
    ["an OpenAI-compatible model without its server", { ...BASE, MODEL: "openai-compatible/gpt" }, "OPENAI_BASE_URL"],
    ["a number that is none", { ...BASE, STEPS_PER_RUN: "many" }, "STEPS_PER_RUN"],
    ["a mode of resuming that there isn't", { ...BASE, RESUME_MODE: "later" }, "RESUME_MODE"],
    ["a switch that is neither", { ...BASE, RESUME_MODE: "message", AUTO_CONTINUE: "yes" }, "AUTO_CONTINUE"],
    ["a database that is not bound", { AUTH: "local", MODEL: "demo" }, "DB"],
    ["an MCP server over plain http", { ...BASE, MCP_SERVERS: '{"crm": {"url": "http://crm.example/mcp"}}' }, "MCP_SERVERS"],
    ["EMAIL without a sender", { ...BASE, EMAIL: {} as SendEmail }, "EMAIL_FROM"],
  ] as [string, Partial<Env>, string][]) {
    it(`${title}: a page, a problem and a log line name it, and nothing is touched`, async () => {
      const page = await ask(settings);
      expect(page.status).toBe(503);
      expect(page.text).toContain(name);
      expect(page.logged).toContain(name);
      const problem = await ask(settings, "/api/conversations");
      expect(JSON.parse(problem.text)).toMatchObject({ status: 503, code: "misconfigured", settings: expect.arrayContaining([name]), detail: expect.stringContaining(name) });
    });
  }

  it("MODEL not set means the demo", async () => {
    expect(JSON.parse((await ask(withoutModel, "/healthz")).text)).toMatchObject({ ok: true, model: "demo" });
  });
});

describe("AUTH=local", () => {
  it("serves loopback hosts only, by what the client asked for", async () => {
    for (const host of ["evil.example", "localhost.evil.example", "10.0.0.1", "127.0.0.1.evil.example"]) {
      const { status, text } = await ask(BASE, "/api/conversations", { host });
      expect(status).toBe(403);
      expect(text).toContain("AUTH");
    }
    for (const host of ["localhost:8787", "127.0.0.1:9000", "[::1]:1", "LOCALHOST"]) expect((await ask(BASE, "/healthz", { host })).status).toBe(200);
  });

  it("takes the name from the token, then the cookie, then is you; and refuses a token that is none", async () => {
    expect((await api("mira", "GET", "/api/me")).body.person).toBe("mira");
    const me = async (headers: Record<string, string>): Promise<unknown> => JSON.parse((await ask(BASE, "/api/me", headers)).text);
    expect(await me({ cookie: "a=b; holdpoint_name=Ana%20B" })).toMatchObject({ person: "Ana B" });
    expect(await me({ cookie: "holdpoint_name=%00%zz" })).toMatchObject({ person: "you" });
    expect(await me({})).toMatchObject({ person: "you" });
    expect(await me({ authorization: "Bearer something" })).toMatchObject({ code: "not_signed_in" });
  });

  it("lets a person take a name, and refuses what is no name", async () => {
    expect((await api("ana", "POST", "/auth/local", { name: "Mira" })).status).toBe(200);
    for (const name of ["", " x", "a\u202Eb", "x".repeat(41), "<b>"])
      expect(await api("ana", "POST", "/auth/local", { name })).toMatchObject({ status: 422, body: { code: "bad_name" } });
  });
});

describe("routes", () => {
  it("answer unknown addresses, bodies and ids with a code and a sentence", async () => {
    for (const [method, path, body, status, code] of [
      ["GET", "/api/nothing", undefined, 404, "not_found"],
      ["GET", "/api/conversations/xyz", undefined, 404, "not_found"],
      ["POST", "/api/conversations", "{", 400, "malformed"],
      ["POST", "/api/conversations", "[".repeat(1000), 400, "malformed"],
      ["POST", "/api/conversations", { skill: "pirate" }, 422, "unknown_skill"],
      ["POST", "/api/conversations", { title: 5 }, 400, "malformed"],
      ["GET", "/api/approvals?state=nonsense", undefined, 400, "bad_state"],
      ["GET", "/api/approvals/xyz", undefined, 404, "not_found"],
      ["POST", "/api/chat/resume", {}, 400, "malformed"],
    ] as const) {
      const answer = await api("ana", method, path, body);
      expect(answer, `${method} ${path}`).toMatchObject({ status, body: { code, detail: expect.any(String), title: expect.any(String) } });
    }
  });

  it("page lists by cursor, the newest first, and only a person's own", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push((await api("lister", "POST", "/api/conversations", { title: `Number ${n}` })).body.id);
    await until(async () => (await api("lister", "GET", "/api/conversations")).body.items.length === 5);
    const seen: string[] = [];
    for (let cursor = ""; ;) {
      const { body } = await api("lister", "GET", `/api/conversations?limit=2${cursor && `&cursor=${cursor}`}`);
      seen.push(...body.items.map((item: { id: string }) => item.id));
      if (!body.nextCursor) break;
      cursor = body.nextCursor;
    }
    expect(seen.toSorted()).toEqual(ids.toSorted());
    expect((await api("stranger", "GET", "/api/conversations")).body.items).toEqual([]);
  });

  it("rename by the owner only", async () => {
    const { body } = await api("ana", "POST", "/api/conversations", { title: "Before" });
    expect(await api("ana", "PATCH", `/api/conversations/${body.id}`, { title: "After" })).toMatchObject({ status: 200, body: { title: "After" } });
    expect((await api("eve", "PATCH", `/api/conversations/${body.id}`, { title: "Mine" })).status).toBe(404);
  });
});

describe("AUTH=access", () => {
  const ACCESS: Partial<Env> = { ...BASE, AUTH: "access", ACCESS_TEAM: "example", ACCESS_AUD: "the-app" };

  it("serves nothing without an assertion, whatever else a request says about who it is", async () => {
    for (const headers of [
      {},
      { authorization: "Bearer local:ana" },
      { cookie: "holdpoint_name=ana" },
      { "cf-access-authenticated-user-email": "ana@example.com" },
      { "cf-access-jwt-assertion": "" },
    ] as Record<string, string>[]) {
      const api = await ask(ACCESS, "/api/me", { host: "chat.example.com", ...headers });
      expect([api.status, JSON.parse(api.text)]).toMatchObject([401, { code: "not_signed_in" }]);
      const page = await ask(ACCESS, "/c/c_1", { host: "chat.example.com", ...headers });
      expect(page.status).toBe(401);
      expect(page.text).toContain("Access");
    }
  });

  it("says that it is alive to everybody", async () => {
    expect((await ask(ACCESS, "/healthz", { host: "chat.example.com" })).status).toBe(200);
  });
});
