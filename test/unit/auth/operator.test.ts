import { describe, expect, it } from "vitest";
import { isOperator } from "../../../src/auth/operator.js";
import type { Auth } from "../../../src/auth/settings.js";

const LOCAL: Auth = { mode: "local" };
const ACCESS: Auth = { mode: "access", issuer: "https://example.cloudflareaccess.com", audience: "the-app" };
const ANA = { email: "ana@example.com" };

describe("who is an operator", () => {
  it("is everybody on their own machine, and nobody elsewhere, until somebody is named", () => {
    for (const named of [undefined, "", " , "]) {
      expect(isOperator(named, LOCAL, "ana", { email: null })).toBe(true);
      expect(isOperator(named, ACCESS, "p_1", ANA)).toBe(false);
    }
  });

  it("is who is named, by address or by what they are known by here", () => {
    expect(isOperator("olga, Ana@Example.com", ACCESS, "p_1", ANA)).toBe(true);
    expect(isOperator("p_1", ACCESS, "p_1", { email: null })).toBe(true);
    expect(isOperator("ana@example.com", ACCESS, "p_2", { email: null })).toBe(false);
    expect(isOperator("olga", LOCAL, "ana", { email: null })).toBe(false);
    expect(isOperator("olga", LOCAL, "olga", { email: null })).toBe(true);
  });
});
