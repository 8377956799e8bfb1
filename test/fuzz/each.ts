import { env } from "cloudflare:test";
import fc from "fast-check";

/** What `npm run fuzz` asks of the part that runs inside workerd; the suite asks for little. */
export const asked = (env.FUZZ === undefined ? { seed: 1, inputs: 2_000 } : JSON.parse(env.FUZZ)) as { seed: number; inputs: number };

/** How many inputs are handed on at a time. */
const AT_ONCE = 200;

/** Inputs of the seed, until one is a violation; then says which it was and how to have it again. */
export async function each<T>(arbitrary: fc.Arbitrary<T>, share: number, feed: (inputs: T[], now: (input: T) => void) => Promise<void> | void): Promise<void> {
  const all = fc.sample(arbitrary, { seed: asked.seed, numRuns: Math.ceil(asked.inputs * share) });
  for (let n = 0; n < all.length; n += AT_ONCE) {
    let current: T | null = null;
    try {
      await feed(all.slice(n, n + AT_ONCE), (input) => (current = input));
    } catch (error) {
      throw new Error(`Seed ${asked.seed} has an input that broke a rule:\n${JSON.stringify(current)}\nAgain: npm run fuzz -- --seed ${asked.seed} --inputs ${asked.inputs}`, {
        cause: error,
      });
    }
  }
}

/** Each input by itself. */
export const one = <T>(arbitrary: fc.Arbitrary<T>, share: number, look: (input: T) => void): Promise<void> =>
  each(arbitrary, share, (some, now) => {
    for (const input of some) {
      now(input);
      look(input);
    }
  });
