import { describe, expect, it } from "vitest";
import { readServers } from "../../../src/mcp/servers.js";

describe("MCP_SERVERS", () => {
  it("is read with its defaults, as text or as an object; absent or empty means none", () => {
    const crm = { url: "https://crm.example/mcp", headers: { authorization: "Bearer x" }, trustHints: true, tools: ["search"] };
    expect(readServers(JSON.stringify({ crm }))).toEqual({ ok: true, servers: [{ name: "crm", ...crm }] });
    expect(readServers({ a: { url: "http://127.0.0.1:9000/mcp" } })).toEqual({
      ok: true,
      servers: [{ name: "a", url: "http://127.0.0.1:9000/mcp", headers: {}, trustHints: false }],
    });
    for (const none of [undefined, "", "{}"]) expect(readServers(none)).toEqual({ ok: true, servers: [] });
  });

  it("is refused with a sentence that names it and what is wrong, and never shows a value", () => {
    for (const [setting, says] of [
      ['{"crm": {"url": "s3cret', "is not JSON"],
      ['{"CRM": {"url": "https://s3cret.example"}}', "CRM: is no name"],
      ['{"crm": {"url": "http://s3cret.example"}}', "crm: url: must be https"],
      ['{"crm": {"url": "http://localhost.s3cret.example"}}', "crm: url: must be https"],
      ['{"crm": {"url": "ftp://s3cret.example"}}', "crm: url: is no http"],
      ['{"crm": {"url": "https://u:s3cret@crm.example"}}', "crm: url: may hold no user name"],
      ['{"crm": {"url": "https://a.example", "headers": {"x": "s3cret\\n"}}}', "crm: headers: x: holds characters"],
      ['{"crm": {"url": "https://a.example", "headers": {"a b": "s3cret"}}}', "crm: headers: a b: is no header name"],
      ['{"crm": {"url": "https://a.example", "trust": "s3cret"}}', "crm: "],
      ['["s3cret"]', "MCP_SERVERS is wrong"],
      [JSON.stringify(Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`a${n}`, { url: "https://a.example" }]))), "more than 10"],
    ] as const) {
      const read = readServers(setting);
      expect(read.ok ? "taken" : read.message, setting).toContain(says);
      expect(read.ok ? "" : read.message).toMatch(/^MCP_SERVERS is/);
      expect(JSON.stringify(read)).not.toContain("s3cret");
    }
  });
});
