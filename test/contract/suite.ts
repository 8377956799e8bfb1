import { describe, it } from "vitest";
import type { Store } from "../../src/core/rows.js";
import { World } from "../kit/world.js";

/** Gives a test a store of its own. */
export type WithStore = (body: (store: Store) => Promise<void>) => Promise<void>;

export interface Scenario {
  title: string;
  body: (world: World) => Promise<void>;
}

/** Collects the scenarios of a file, so that each runs against every store. */
export function scenarios(): { list: Scenario[]; scenario: (title: string, body: (world: World) => Promise<void>) => void } {
  const list: Scenario[] = [];
  return { list, scenario: (title, body) => void list.push({ title, body }) };
}

export function runAgainst(storeName: string, withStore: WithStore, groups: Record<string, Scenario[]>): void {
  for (const [group, list] of Object.entries(groups)) {
    describe(`${group}, ${storeName}`, () => {
      for (const { title, body } of list) it(title, () => withStore((store) => body(new World(store))));
    });
  }
}
