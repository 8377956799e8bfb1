import type { Identity } from "./identity.js";
import type { Auth } from "./settings.js";

/**
 * Whether somebody may see the deployment's status and repair it. `OPERATORS` names people, separated by commas: by
 * address, which their issuer must have verified, or as they are called here. Without it everybody is one where people
 * name themselves on their own machine, and nobody anywhere else.
 */
export function isOperator(named: string | undefined, { mode }: Auth, person: string, { email }: Pick<Identity, "email">): boolean {
  const names = (named ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  if (names.length === 0) return mode === "local";
  return names.some((name) => name === person || (email !== null && name.toLowerCase() === email));
}
