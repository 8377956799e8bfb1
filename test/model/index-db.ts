// D1 as the outbox sees it, over any SQLite: the real statements on the real tables, and calls that go wrong.

export type Value = string | number | null;
export type Exec = (sql: string, values: Value[]) => Record<string, unknown>[];

/** How a call goes wrong: nothing happens; it happens and the answer is lost; it happens when nobody waits for it any more. */
export type Fault = "down" | "lost" | "late";

interface Statement {
  sql: string;
  values: Value[];
}

/** What is in the index of one pause point. */
export interface Listed extends Record<string, unknown> {
  id: string;
  state: string;
  version: number;
}

export class IndexDb {
  /** What the next calls meet, in order. */
  faults: Fault[] = [];
  /** A call hangs, and has not been given up. */
  hangs = false;
  #late: (() => void)[] = [];
  #conversations = 0;

  constructor(private readonly exec: Exec) {}

  /** For one conversation: what still calls when the next has begun is not heard. */
  get binding(): D1Database {
    const mine = this.#conversations;
    const batch = (statements: Statement[]): Promise<unknown[]> => (mine === this.#conversations ? this.#batch(statements) : new Promise<never>(() => {}));
    const prepare = (sql: string) => ({ bind: (...values: Value[]) => ({ sql, values, run: () => batch([{ sql, values }]) }) });
    return { prepare, batch } as unknown as D1Database;
  }

  pausePoint(id: string): Listed | null {
    return (this.exec("SELECT * FROM pause_points WHERE id = ?", [id])[0] as Listed | undefined) ?? null;
  }

  conversation(id: string): Listed | null {
    return (this.exec("SELECT * FROM conversations WHERE id = ?", [id])[0] as Listed | undefined) ?? null;
  }

  /** The writes of calls that were given up arrive. Says how many. */
  release(): number {
    const late = this.#late;
    this.#late = [];
    for (const write of late) write();
    return late.length;
  }

  clear(): void {
    this.#conversations += 1;
    this.faults = [];
    this.#late = [];
    this.hangs = false;
    for (const table of ["pause_points", "members", "conversations"]) this.exec(`DELETE FROM ${table}`, []);
  }

  async #batch(statements: Statement[]): Promise<unknown[]> {
    const write = (): unknown[] => statements.map(({ sql, values }) => this.exec(sql, values));
    switch (this.faults.shift()) {
      case "down":
        throw new Error("D1_ERROR: the storage is down");
      case "lost":
        write();
        throw new Error("D1_ERROR: the connection was lost");
      case "late":
        this.#late.push(write);
        this.hangs = true;
        return new Promise<never>(() => {});
      case undefined:
        return write();
    }
  }
}
