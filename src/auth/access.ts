import { createRemoteJWKSet, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from "jose";
import { groupsOf, shownName, type Identity, type NotSignedIn } from "./identity.js";

// AUTH=access: Cloudflare Access stands before the Worker, and signs who has passed it.

export interface AccessSettings {
  /** `https://<team>.cloudflareaccess.com`. */
  issuer: string;
  /** The application's audience tag. */
  audience: string;
}

/** Clocks may differ by this many seconds. */
const TOLERANCE_S = 30;
/** A key that is not known yet is looked up at most this often, in milliseconds. */
const COOLDOWN_MS = 5_000;
const TIMEOUT_MS = 3_000;
/** How long keys are used without another look, in milliseconds: as long as the team's keys can be away unnoticed. */
const KEPT_MS = 3_600_000;

/** The keys of each team, kept as long as this isolate. */
const keysOf = new Map<string, JWTVerifyGetKey>();

function teamKeys(issuer: string): JWTVerifyGetKey {
  const known = keysOf.get(issuer);
  if (known) return known;
  const keys = createRemoteJWKSet(new URL(`${issuer}/cdn-cgi/access/certs`), { cooldownDuration: COOLDOWN_MS, timeoutDuration: TIMEOUT_MS, cacheMaxAge: KEPT_MS });
  keysOf.set(issuer, keys);
  return keys;
}

/** Who Access says is calling: checked against the team's keys, issuer, audience and expiry. */
export async function accessIdentity(headers: Pick<Headers, "get">, { issuer, audience }: AccessSettings): Promise<Identity | NotSignedIn> {
  const token = headers.get("cf-access-jwt-assertion");
  if (!token) return { status: 401, code: "not_signed_in", detail: "This request did not come through Cloudflare Access. Put an Access application in front of this address." };
  try {
    const { payload } = await jwtVerify(token, teamKeys(issuer), { issuer, audience, algorithms: ["RS256"], requiredClaims: ["exp", "iat"], clockTolerance: TOLERANCE_S });
    return identityOf(issuer, payload);
  } catch (error) {
    return refusal(error);
  }
}

function identityOf(issuer: string, { sub, iat = 0, ...claims }: JWTPayload): Identity | NotSignedIn {
  if (!sub) return { status: 403, code: "not_a_person", detail: "This is a service token of Access, which is no person. A program signs in with an API key." };
  const address = typeof claims["email"] === "string" ? claims["email"].toLowerCase() : null;
  const custom = claims["custom"];
  const groups = groupsOf(claims["groups"] ?? (typeof custom === "object" && custom !== null && "groups" in custom ? custom.groups : null));
  return { issuer, subject: sub, name: shownName(claims["name"]) ?? shownName(address) ?? sub, email: address, groups, claimedAt: iat * 1000 };
}

function refusal(error: unknown): NotSignedIn {
  if (error instanceof errors.JWTExpired) return { status: 401, code: "session_expired", detail: "Your sign-in has expired. Load the page again to sign in." };
  const code = error instanceof errors.JOSEError ? error.code : "";
  // What is wrong with the token, its key being unknown included. All else is that the keys could not be had.
  const theirs = /^ERR_(JWT|JWS)_/.test(code) || ["ERR_JWKS_NO_MATCHING_KEY", "ERR_JOSE_ALG_NOT_ALLOWED", "ERR_JOSE_NOT_SUPPORTED"].includes(code);
  if (theirs)
    return { status: 401, code: "bad_assertion", detail: "What came with this request to say who you are is not from this deployment's Access team, or not for this application." };
  return { status: 503, code: "identity_unreachable", detail: "The keys of the Access team can't be had just now, so nobody can be told from another. Try again in a minute." };
}
