import { SqliteStore } from "../../src/conversation/journal.js";
import { IndexDb, type Value } from "./index-db.js";
import type { Disk } from "./world.js";

/** D1's tables stand beside the journal's here, so they have names of their own. */
const renamed = (sql: string): string => sql.replace(/\b(conversations|members|pause_points)\b/g, "d1_$1");

/** One whose tables stay for the next conversation: made anew they would cost more than a sequence's rows. */
class KeptStore extends SqliteStore {
  constructor(
    storage: DurableObjectStorage,
    private readonly kept: { made: boolean },
  ) {
    super(storage);
  }

  override create(): void {
    if (!this.kept.made) super.create();
    this.kept.made = true;
  }
}

/** The journal in an object's SQLite, as it is deployed, and D1's statements on tables of the same object. */
export function sqliteDisk(storage: DurableObjectStorage, migrations: string[]): Disk {
  const { sql } = storage;
  for (const statement of migrations) if (renamed(statement) !== statement) sql.exec(renamed(statement));
  const names = new Map<string, string>();
  const exec = (text: string, values: Value[]): Record<string, unknown>[] => {
    const name = names.get(text) ?? renamed(text);
    names.set(text, name);
    return sql.exec(name, ...values).toArray();
  };
  const kept = { made: false };
  const index = new IndexDb(exec);
  return {
    index,
    settle: () => storage.sync(),
    open: () => new KeptStore(storage, kept),
    clear: () => {
      for (const table of kept.made ? ["conversation", "members", "steps", "runs", "calls", "pause_points", "catalog"] : []) sql.exec(`DELETE FROM ${table}`);
      index.clear();
    },
  };
}
