/**
 * Whether a person may see the deployment's status and repair it. `OPERATORS` names them, separated by commas;
 * without it everybody is one, which is right only where people name themselves on their own machine.
 */
export function isOperator(env: { OPERATORS?: string }, person: string): boolean {
  const named = env.OPERATORS?.split(",").map((name) => name.trim()) ?? [];
  return named.every((name) => name === "") || named.includes(person);
}
