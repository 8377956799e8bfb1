import { SignJWT, UnsecuredJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { accessIdentity } from "../../../src/auth/access.js";
import { personOf, type Identity } from "../../../src/auth/identity.js";
import { AccessTeam } from "../../kit/issuer.js";

let team: AccessTeam;
beforeEach(async () => {
  team = await AccessTeam.start();
});
afterEach(async () => {
  vi.useRealTimers();
  await team.stop();
});

const who = (token: string | null, audience = "the-app") =>
  accessIdentity(new Headers(token === null ? {} : { "cf-access-jwt-assertion": token }), { issuer: team.issuer, audience });

describe("an assertion of Cloudflare Access", () => {
  it("names the person: by the issuer's own name for them, with a verified address", async () => {
    const claimedAt = Math.floor(Date.now() / 1000) * 1000;
    const identity = await who(await team.sign({ name: "Ana\u202e Lima\n", custom: { groups: ["finance", { name: "ops" }, 7, ""] } }));
    expect(identity).toEqual({ issuer: team.issuer, subject: "7f3c", name: "Ana Lima", email: "ana@example.com", groups: ["finance", "ops"], claimedAt: expect.any(Number) });
    expect((identity as Identity).claimedAt).toBeGreaterThanOrEqual(claimedAt);
  });

  it("names the same person whatever else it says, and another for another issuer or subject", async () => {
    const [one, renamed, other] = await Promise.all(
      [{}, { email: "new@example.com", name: "A" }, { sub: "8888" }].map(async (claims) => personOf((await who(await team.sign(claims))) as Identity)),
    );
    expect(one).toMatch(/^p_[0-9a-f]{32}$/);
    expect(renamed).toBe(one);
    expect(other).not.toBe(one);
    expect(await personOf({ issuer: "https://other.example", subject: "7f3c" })).not.toBe(one);
    expect(await personOf({ issuer: "a", subject: "bc" })).not.toBe(await personOf({ issuer: "ab", subject: "c" }));
  });

  it("asks for the keys once, not for each request", async () => {
    await Promise.all([1, 2, 3].map(async () => who(await team.sign())));
    await who(await team.sign());
    expect(team.asked).toBeLessThanOrEqual(1);
  });

  const hour = 3600;
  const now = (): number => Math.floor(Date.now() / 1000);
  for (const [what, token, refusal] of [
    ["no assertion at all", () => null, { status: 401, code: "not_signed_in" }],
    ["one that has expired", () => team.sign({ iat: now() - 2 * hour, nbf: now() - 2 * hour, exp: now() - hour }), { status: 401, code: "session_expired" }],
    ["one that is not valid yet", () => team.sign({ nbf: now() + hour }), { status: 401, code: "bad_assertion" }],
    ["one without an end", () => team.sign({ exp: undefined }), { status: 401, code: "bad_assertion" }],
    ["one for another application", () => team.sign({ aud: ["another-app"] }), { status: 401, code: "bad_assertion" }],
    ["one of another team", () => team.sign({ iss: "https://evil.cloudflareaccess.com" }), { status: 401, code: "bad_assertion" }],
    ["one signed with another key under a known name", otherKey, { status: 401, code: "bad_assertion" }],
    ["one that names a key there isn't", () => team.sign({}, { kid: "unknown" }), { status: 401, code: "bad_assertion" }],
    [
      "one that is not signed",
      () => new UnsecuredJWT({ sub: "7f3c" }).setIssuer(team.issuer).setAudience("the-app").setIssuedAt().setExpirationTime("1h").encode(),
      { status: 401, code: "bad_assertion" },
    ],
    ["one signed with the public key as a secret", publicKeyAsSecret, { status: 401, code: "bad_assertion" }],
    [
      "one whose words were changed",
      async () => (await team.sign()).replace(/\.[^.]+\./, `.${btoa(JSON.stringify({ sub: "eve" })).replaceAll("=", "")}.`),
      { status: 401, code: "bad_assertion" },
    ],
    ["text that is no token", () => "a.b.c", { status: 401, code: "bad_assertion" }],
    ["a service token, which is no person", () => team.sign({ sub: "", common_name: "robot.access" }), { status: 403, code: "not_a_person" }],
  ] as [string, () => string | null | Promise<string | null>, object][])
    it(`refuses ${what}`, async () => {
      expect(await who(await token())).toMatchObject(refusal);
    });

  async function otherKey(): Promise<string> {
    const impostor = await AccessTeam.start();
    const token = await impostor.sign({ iss: team.issuer });
    await impostor.stop();
    return token;
  }

  function publicKeyAsSecret(): Promise<string> {
    const secret = new TextEncoder().encode(JSON.stringify(team.published[0]));
    return new SignJWT({ sub: "7f3c" })
      .setProtectedHeader({ alg: "HS256", kid: "first" })
      .setIssuer(team.issuer)
      .setAudience("the-app")
      .setIssuedAt()
      .setExpirationTime("1h")
      .sign(secret);
  }

  it("takes a new key as soon as the team signs with it, and no more often than every five seconds", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    expect(await who(await team.sign())).toMatchObject({ subject: "7f3c" });
    await team.rotate("second");
    vi.setSystemTime(Date.now() + 6_000);
    expect(await who(await team.sign())).toMatchObject({ subject: "7f3c" });
    for (let n = 0; n < 5; n += 1) expect(await who(await team.sign({}, { kid: `guess-${n}` }))).toMatchObject({ code: "bad_assertion" });
    expect(team.asked).toBe(2);
  });

  it("refuses a key that the team has withdrawn, an hour later at most", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    expect(await who(await team.sign())).toMatchObject({ subject: "7f3c" });
    team.published = [];
    vi.setSystemTime(Date.now() + 3_600_001);
    expect(await who(await team.sign())).toMatchObject({ code: "bad_assertion" });
  });

  it("goes on with the keys it has while the team can't be reached", async () => {
    const token = await team.sign();
    expect(await who(token)).toMatchObject({ subject: "7f3c" });
    team.broken = { status: 500, body: "{}" };
    expect(await who(token)).toMatchObject({ subject: "7f3c" });
  });

  for (const [what, broken] of [
    ["answers with an error", { status: 503, body: "{}" }],
    ["answers with a redirect", { status: 302, body: "" }],
    ["answers with what is no key set", { status: 200, body: '{"keys": "none"}' }],
    ["answers with what is not JSON", { status: 200, body: "<html>" }],
  ] as const)
    it(`says that nobody can be told from another when the team ${what}`, async () => {
      team.broken = broken;
      expect(await who(await team.sign())).toMatchObject({ status: 503, code: "identity_unreachable" });
      team.broken = null;
      expect(await who(await team.sign())).toMatchObject({ subject: "7f3c" });
    });
});
