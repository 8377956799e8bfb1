import type { AccessSettings } from "./access.js";
import { isLoopback } from "./local.js";

/** How this deployment knows who calls. */
export type Auth = { mode: "local" } | ({ mode: "access" } & AccessSettings);

export interface AuthEnv {
  AUTH?: string;
  /** The team's name, as in `<team>.cloudflareaccess.com`, or its address. */
  ACCESS_TEAM?: string;
  ACCESS_AUD?: string;
}

type Problem = { setting: keyof AuthEnv; message: string };

const MODES = 'The modes are "access" (Cloudflare Access in front of it) and "local" (this machine\'s own addresses only, people name themselves).';

/** How people are known here, or every setting that is missing or wrong for that. */
export function readAuth(env: AuthEnv): { ok: true; auth: Auth } | { ok: false; problems: Problem[] } {
  switch (env.AUTH) {
    case "local":
      return { ok: true, auth: { mode: "local" } };
    case "access":
      return readAccess(env);
    default:
      return { ok: false, problems: [{ setting: "AUTH", message: env.AUTH ? `AUTH is "${env.AUTH}", which there is not. ${MODES}` : `AUTH is not set. ${MODES}` }] };
  }
}

function readAccess({ ACCESS_TEAM, ACCESS_AUD }: AuthEnv): ReturnType<typeof readAuth> {
  const problems: Problem[] = [];
  const issuer = teamAddress(ACCESS_TEAM ?? "");
  if (issuer === null)
    problems.push({
      setting: "ACCESS_TEAM",
      message: `ACCESS_TEAM is ${ACCESS_TEAM ? "wrong" : "not set"}. It is the name before ".cloudflareaccess.com" in your team's address.`,
    });
  if (!ACCESS_AUD) problems.push({ setting: "ACCESS_AUD", message: "ACCESS_AUD is not set. It is the audience tag of the Access application in front of this address." });
  return issuer === null || !ACCESS_AUD ? { ok: false, problems } : { ok: true, auth: { mode: "access", issuer, audience: ACCESS_AUD } };
}

/** The address that vouches for a team's people: https, or this machine's own for tests. Null when it is none. */
function teamAddress(team: string): string | null {
  if (/^[a-z0-9][a-z0-9-]{0,62}$/i.test(team)) return `https://${team.toLowerCase()}.cloudflareaccess.com`;
  if (!URL.canParse(team)) return null;
  const { protocol, host, origin, pathname } = new URL(team);
  return (protocol === "https:" || (protocol === "http:" && isLoopback(host))) && pathname === "/" ? origin : null;
}
