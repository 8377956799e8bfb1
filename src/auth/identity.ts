import { hex } from "../core/ids.js";

/** Who somebody is, in the words of the party that vouches for them. */
export interface Identity {
  /** The party that vouches, as an address. */
  issuer: string;
  /** What it calls the person, for ever. Unique within the issuer. */
  subject: string;
  /** What the person is called. Two may be called the same. */
  name: string;
  /** The person's address in lower case, if the issuer has seen that it is theirs. */
  email: string | null;
  groups: string[];
  /** When the issuer said so, in milliseconds UTC. */
  claimedAt: number;
}

/** Why nobody is signed in: what a program is told by, and what a person is to do. */
export interface NotSignedIn {
  status: 401 | 403 | 503;
  code: "not_signed_in" | "session_expired" | "bad_assertion" | "not_a_person" | "identity_unreachable";
  detail: string;
}

/** The person behind an identity, the same with every device: `p_` and 128 bits that issuer and subject make. */
export async function personOf({ issuer, subject }: Pick<Identity, "issuer" | "subject">): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${issuer}\0${subject}`));
  return `p_${hex(new Uint8Array(digest).subarray(0, 16))}`;
}

const SHOWN = 80;

/** A claim as a text that can be shown: one line, 80 characters at most. Null when it is none. */
export function shownName(claim: unknown): string | null {
  if (typeof claim !== "string") return null;
  const line = claim.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
  return line === "" ? null : [...line].slice(0, SHOWN).join("");
}

const GROUPS = 200;

/** The names of the groups that a claim lists, as texts or as objects with a name. */
export function groupsOf(claim: unknown): string[] {
  if (!Array.isArray(claim)) return [];
  const names = claim.map((group: unknown) => (typeof group === "object" && group !== null && "name" in group ? group.name : group));
  return [...new Set(names.filter((name): name is string => typeof name === "string" && name !== "" && name.length <= SHOWN))].slice(0, GROUPS);
}
