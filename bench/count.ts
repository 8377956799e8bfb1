/** What the objects have cost since it was last set to zero. It lives in the isolate, which all of them share. */
export interface Cost {
  rows: number;
  alarms: number;
  d1Rows: number;
}

let cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
let alarms = 0;
let d1Rows = 0;

/** Rows by the storage's own account: a cursor knows it once it has been read. */
export const cost = (): Cost => ({ rows: cursors.reduce((sum, cursor) => sum + cursor.rowsWritten, 0), alarms, d1Rows });

export function resetCost(): void {
  [cursors, alarms, d1Rows] = [[], 0, 0];
}

/** Makes this storage count what it writes and the alarms set; the environment comes back with a D1 that counts. */
export function counted<Env extends { DB: D1Database }>(storage: DurableObjectStorage, env: Env): Env {
  const setAlarm = storage.setAlarm.bind(storage);
  Object.defineProperty(storage, "setAlarm", {
    value: (time: number) => {
      alarms += 1;
      return setAlarm(time);
    },
  });
  const { sql } = storage;
  const exec = sql.exec.bind(sql);
  Object.defineProperty(sql, "exec", {
    value: (query: string, ...values: unknown[]) => {
      const cursor = exec(query, ...values);
      cursors.push(cursor);
      return cursor;
    },
  });
  Object.defineProperty(storage, "sql", { value: sql });
  return { ...env, DB: countedD1(env.DB) };
}

function countedD1(real: D1Database): D1Database {
  const count = <Result extends D1Result>(result: Result): Result => {
    d1Rows += result.meta.rows_written;
    return result;
  };
  return new Proxy(real, {
    get(target, name) {
      if (name === "batch") return async (statements: D1PreparedStatement[]) => (await target.batch(statements)).map(count);
      if (name === "prepare") return (query: string) => countedStatement(target.prepare(query), count);
      return Reflect.get(target, name) as unknown;
    },
  });
}

/** A statement whose own run counts; in a batch it is the batch that counts. */
function countedStatement(statement: D1PreparedStatement, count: <Result extends D1Result>(result: Result) => Result): D1PreparedStatement {
  const [run, bind] = [statement.run.bind(statement), statement.bind.bind(statement)];
  Object.defineProperty(statement, "run", { value: async () => count(await run()) });
  Object.defineProperty(statement, "bind", { value: (...values: unknown[]) => countedStatement(bind(...values), count) });
  return statement;
}
