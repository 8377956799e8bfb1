import worker, { Conversation as Real } from "../src/worker.js";
import type { Env } from "../src/settings.js";

export default worker;

/** What the objects have cost since it was last set to zero. */
export const cost = { cursors: [] as SqlStorageCursor<Record<string, SqlStorageValue>>[], alarms: 0 };

export function resetCost(): void {
  cost.cursors = [];
  cost.alarms = 0;
}

export const rowsWritten = (): number => cost.cursors.reduce((sum, cursor) => sum + cursor.rowsWritten, 0);

/** The real conversation, on a storage that counts rows written, by its own account, and alarms set. */
export class Conversation extends Real {
  constructor(ctx: DurableObjectState, env: Env) {
    const { storage } = ctx;
    const setAlarm = storage.setAlarm.bind(storage);
    Object.defineProperty(storage, "setAlarm", {
      value: (time: number) => {
        cost.alarms += 1;
        return setAlarm(time);
      },
    });
    const { sql } = storage;
    const exec = sql.exec.bind(sql);
    Object.defineProperty(sql, "exec", {
      value: (query: string, ...values: unknown[]) => {
        const cursor = exec(query, ...values);
        cost.cursors.push(cursor);
        return cursor;
      },
    });
    Object.defineProperty(storage, "sql", { value: sql });
    super(ctx, env);
  }
}
