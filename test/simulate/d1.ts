import type { Platform } from "./platform.js";
import type { Random } from "./random.js";
import { OUTSIDE, type Owner, type Scheduler } from "./scheduler.js";

export type D1Row = Record<string, unknown>;

interface Upsert {
  table: string;
  columns: string[];
  key: string[];
  set: string[];
  /** Refuses a row that is not newer (H21). */
  guarded: boolean;
}

/** Sets columns of all rows of a table to what the statement says: there is one conversation. */
interface Emptying {
  table: string;
  empty: D1Row;
}

interface Bound {
  statement: Upsert | Emptying;
  values: unknown[];
  /** A question instead of a change. */
  first(): Promise<D1Row>;
}

// Read from the product's own SQL, once for each text of it.
const known = new Map<string, Upsert | Emptying>();
const HELD = /^SELECT max\(coalesce\(\(SELECT max\(version\) FROM conversations/;
const words = (list: string | undefined): string[] => (list ?? "").split(",").map((word) => word.trim());

function readStatement(sql: string): Upsert | Emptying {
  const statement = known.get(sql) ?? readUpsert(sql) ?? readEmptying(sql);
  if (!statement) throw new Error(`The simulated D1 does not know this statement: ${sql}`);
  known.set(sql, statement);
  return statement;
}

function readUpsert(sql: string): Upsert | null {
  const parts = /^INSERT INTO (\w+) \(([^)]+)\) VALUES \([^)]+\)\s+ON CONFLICT \(([^)]+)\) DO UPDATE SET ([\s\S]+?)(?:\s+WHERE ([\s\S]+))?$/.exec(sql);
  const [, table, columns, key, set, guard] = parts ?? [];
  if (!table || !set) return null;
  const assigned = words(set).map((assignment) => assignment.split(" ")[0] ?? "");
  return { table, columns: words(columns), key: words(key), set: assigned, guarded: guard === `excluded.version > ${table}.version` };
}

function readEmptying(sql: string): Emptying | null {
  const [, table, set] = /^UPDATE (\w+) SET ([\s\S]+) WHERE conversation_id = \?$/.exec(sql) ?? [];
  if (!table) return null;
  return {
    table,
    empty: Object.fromEntries(
      words(set)
        .map((assignment) => assignment.split(" = "))
        .map(([column, value]) => [column, value === "NULL" ? null : ""]),
    ),
  };
}

/** D1 as the outbox sees it: a batch happens wholly or not at all, at its own time, and its answer may say otherwise or never come. */
export class SimulatedD1 {
  /** Answers well, and soon. */
  calm = false;
  batches = 0;
  readonly #tables = new Map<string, Map<string, D1Row>>();
  #downUntil = 0;

  constructor(
    private readonly scheduler: Scheduler,
    private readonly random: Random,
    /** Told of each row that D1 takes, and what was there before. */
    private readonly taken: (table: string, row: D1Row, before: D1Row | null) => void,
  ) {}

  /** The binding of one process: answers to a dead one reach nobody. */
  binding(platform: Platform, owner: Owner): unknown {
    const ask = <T>(work: () => T): Promise<T> => this.#ask(platform, owner, work);
    const prepare = (sql: string): { bind(...values: unknown[]): Bound } => ({
      bind: (...values) => {
        if (HELD.test(sql)) return { statement: { table: "", empty: {} }, values, first: () => ask(() => ({ version: this.#held() })) };
        return { statement: readStatement(sql), values, first: () => Promise.reject(new Error("This is no question.")) };
      },
    });
    const batch = (statements: Bound[]): Promise<unknown> => {
      this.batches += 1;
      return ask(() => statements.forEach((statement) => this.#apply(statement)));
    };
    return { prepare, batch };
  }

  row(table: string, ...key: (string | number)[]): D1Row | undefined {
    return this.#tables.get(table)?.get(key.join(" "));
  }

  rows(table: string): D1Row[] {
    return [...(this.#tables.get(table)?.values() ?? [])];
  }

  #held(): number {
    return Math.max(0, ...["conversations", "members", "pause_points"].flatMap((table) => this.rows(table).map((row) => Number(row["version"]))));
  }

  #ask<T>(platform: Platform, owner: Owner, work: () => T): Promise<T> {
    const { scheduler, random, calm } = this;
    if (!calm && random.chance(0.01)) this.#downUntil = scheduler.now + 600_000;
    const mood = calm ? 1 : scheduler.now < this.#downUntil ? 0 : random.next();
    const happens = mood >= 0.08;
    const fails = mood < 0.16;
    const late = mood >= 0.16 && mood < 0.26;
    const soon = (): number => random.int(calm ? 2 : 60);
    const arrives = late ? random.int(80_000) : soon();
    const answered = !(late && random.chance(0.3));
    return new Promise((resolve, reject) => {
      const arrive = (): void => {
        const made = happens ? { result: work() } : null;
        const answer = (): void => (fails || !made ? reject(new Error("D1_ERROR: Network connection lost.")) : resolve(made.result));
        if (answered) scheduler.after(owner, late ? random.int(20_000) : soon(), answer);
      };
      platform.out(() => void scheduler.after(OUTSIDE, arrives, arrive));
    });
  }

  #apply({ statement, values }: Bound): void {
    if ("empty" in statement) {
      for (const row of this.rows(statement.table)) Object.assign(row, statement.empty);
      return;
    }
    const { table, columns, key, set, guarded } = statement;
    const made: D1Row = {};
    for (const [place, column] of columns.entries()) made[column] = values[place];
    let rows = this.#tables.get(table);
    if (!rows) this.#tables.set(table, (rows = new Map()));
    const name = key.map((column) => made[column]).join(" ");
    const before = rows.get(name) ?? null;
    if (before && guarded && Number(made["version"]) <= Number(before["version"])) return;
    const after: D1Row = before ? { ...before } : made;
    if (before) for (const column of set) after[column] = made[column];
    rows.set(name, after);
    this.taken(table, after, before);
  }
}
