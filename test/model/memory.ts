import { DatabaseSync } from "node:sqlite";
import { MemoryStore } from "../../src/core/memory-store.js";
import { IndexDb, type Value } from "./index-db.js";
import type { Disk } from "./world.js";

/** The in-memory journal, and D1's tables in a SQLite of Node's. */
export function memoryDisk(migrations: string[]): Disk {
  const db = new DatabaseSync(":memory:");
  for (const migration of migrations) db.exec(migration);
  const prepared = new Map<string, ReturnType<DatabaseSync["prepare"]>>();
  const exec = (sql: string, values: Value[]): Record<string, unknown>[] => {
    const statement = prepared.get(sql) ?? db.prepare(sql);
    prepared.set(sql, statement);
    return statement.all(...values);
  };
  const index = new IndexDb(exec);
  let store = new MemoryStore();
  return {
    index,
    open: () => store,
    settle: () => new Promise((resolve) => void setImmediate(resolve)),
    clear: () => {
      store = new MemoryStore();
      index.clear();
    },
  };
}
