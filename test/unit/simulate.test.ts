import { afterAll, beforeAll, expect, it } from "vitest";
import { installGlobals } from "../simulate/globals.js";
import { SimulatedConversation } from "../simulate/conversation.js";

let uninstall: () => void;
beforeAll(() => void (uninstall = installGlobals()));
afterAll(() => uninstall());

// `npm run simulate` lives through many more of these.

async function life(seed: number): Promise<string[]> {
  const lines: string[] = [];
  await new SimulatedConversation(seed, (line) => void lines.push(line)).live();
  return lines;
}

it("lives the same life from the same seed, so that what broke can be replayed", async () => {
  for (let seed = 1; seed <= 20; seed += 1) expect(await life(seed)).toEqual(await life(seed));
});

it("[H1] [H3] [H4] [H5] [H17] breaks no rule in three hundred lives", async () => {
  for (let seed = 1000; seed < 1300; seed += 1) await life(seed);
});
