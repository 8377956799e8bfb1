import { SELF } from "cloudflare:test";
import { beforeEach, expect, it } from "vitest";
import { asActor } from "../../src/routes/conversations.js";
import { BASE, migrateD1 } from "./kit.js";

beforeEach(migrateD1);

it("[H16] a name in letters of any script reaches the object in ASCII, so that no warning of the runtime's carries it into the log", async () => {
  const actor = { person: "Łukasz 日本 𝒜", device: { id: "é", name: "\u{D83D}\n" }, via: "http" } as const;
  const header = asActor(actor)["x-actor"];
  expect(header).toMatch(/^[\x20-\x7e]+$/);
  expect(JSON.parse(header)).toEqual(actor);
  const headers = { cookie: `holdpoint_name=${encodeURIComponent("Łukasz")}` };
  const say = { id: "mine", messages: [{ id: "u1", role: "user", parts: [{ type: "text", text: "say 5 words" }] }] };
  const told = await SELF.fetch(`${BASE}/api/chat`, { method: "POST", headers, body: JSON.stringify(say) });
  expect([told.status, await told.text()]).toEqual([200, expect.stringContaining("text-delta")]);
  const page = await SELF.fetch(`${BASE}/api/chat/mine/stream`, { headers });
  expect(await page.text()).toContain("text-delta");
});
