import { expect, it } from "vitest";
import { Outbox } from "../../../src/conversation/outbox.js";
import { createConversation } from "../../../src/core/create.js";
import { Journal } from "../../../src/core/journal.js";
import { MemoryStore } from "../../../src/core/memory-store.js";
import { FakeClock, settled } from "../../kit/clock.js";

const statement = { bind: () => statement };

it("[H21] what is committed in the moment in which a delivery ends is delivered too, without an alarm", async () => {
  for (let later = 0; later < 8; later += 1) {
    const journal = new Journal(new MemoryStore(), () => 1);
    let renames = 0;
    /** So many promises later, somebody renames the conversation. */
    const soon = (turns: number): void => (turns === 0 ? journal.transaction("rename", (tx) => tx.patchConversation({ title: "another" })) : queueMicrotask(() => soon(turns - 1)));
    const log = (event: string): void => {
      if (event === "outbox.delivered" && (renames += 1) === 1) soon(later);
    };
    const db = { prepare: () => statement, batch: async () => [] } as unknown as D1Database;
    const outbox = new Outbox({ clock: new FakeClock(), log, background: () => {} }, journal, db);
    journal.events.committed = (changes) => outbox.changed(changes);
    journal.transaction("create", (tx) => createConversation(tx, { id: `c_${"1".repeat(32)}`, owner: "ana", title: "", skill: "assistant", epoch: "e" }));
    await settled();
    expect([later, journal.read.backlog().undelivered]).toEqual([later, 0]);
  }
});
