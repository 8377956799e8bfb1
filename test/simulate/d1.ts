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

interface Bound {
  upsert: Upsert;
  values: unknown[];
}

// Read from the product's own SQL, once for each text of it.
const known = new Map<string, Upsert>();

function readUpsert(sql: string): Upsert {
  let upsert = known.get(sql);
  if (upsert) return upsert;
  const words = (list: string | undefined): string[] => (list ?? "").split(",").map((word) => word.trim());
  const parts = /^INSERT INTO (\w+) \(([^)]+)\) VALUES \([^)]+\)\s+ON CONFLICT \(([^)]+)\) DO UPDATE SET ([\s\S]+?)(?:\s+WHERE ([\s\S]+))?$/.exec(sql);
  const [, table, columns, key, set, guard] = parts ?? [];
  if (!table || !set) throw new Error(`The simulated D1 does not know this statement: ${sql}`);
  const assigned = words(set).map((assignment) => assignment.split(" ")[0] ?? "");
  upsert = { table, columns: words(columns), key: words(key), set: assigned, guarded: guard === `excluded.version > ${table}.version` };
  known.set(sql, upsert);
  return upsert;
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
    const prepare = (sql: string): { bind(...values: unknown[]): Bound } => ({ bind: (...values) => ({ upsert: readUpsert(sql), values }) });
    return { prepare, batch: (statements: Bound[]) => this.#batch(platform, owner, statements) };
  }

  row(table: string, ...key: (string | number)[]): D1Row | undefined {
    return this.#tables.get(table)?.get(key.join(" "));
  }

  #batch(platform: Platform, owner: Owner, statements: Bound[]): Promise<unknown> {
    const { scheduler, random, calm } = this;
    this.batches += 1;
    if (!calm && random.chance(0.01)) this.#downUntil = scheduler.now + 600_000;
    const mood = calm ? 1 : scheduler.now < this.#downUntil ? 0 : random.next();
    const happens = mood >= 0.08;
    const fails = mood < 0.16;
    const late = mood >= 0.16 && mood < 0.26;
    const soon = (): number => random.int(calm ? 2 : 60);
    const arrives = late ? random.int(80_000) : soon();
    const answered = !(late && random.chance(0.3));
    return new Promise((resolve, reject) => {
      const answer = (): void => {
        if (fails) reject(new Error("D1_ERROR: Network connection lost."));
        else resolve(statements.map(() => ({ results: [] })));
      };
      const arrive = (): void => {
        if (happens) for (const statement of statements) this.#apply(statement);
        if (answered) scheduler.after(owner, late ? random.int(20_000) : soon(), answer);
      };
      platform.out(() => void scheduler.after(OUTSIDE, arrives, arrive));
    });
  }

  #apply({ upsert: { table, columns, key, set, guarded }, values }: Bound): void {
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
