import {
  KEYS,
  type Backlog,
  type CallRow,
  type ChangedRows,
  type Key,
  type MemberRow,
  type Operation,
  type PausePointRow,
  type Place,
  type RunRow,
  type StepRow,
  type Store,
  type Table,
  type Tables,
} from "../core/rows.js";

// The journal's tables in the object's SQLite, and the only file with that SQL. Columns that a scan reads
// stand before the long texts, so that SQLite never opens a text's overflow pages to pass a row over.
// `WITHOUT ROWID` saves the second row of a key; a partial index costs a row only where it holds one.

const SCHEMA = `
CREATE TABLE conversation (
  one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, owner TEXT NOT NULL, title TEXT NOT NULL, skill TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('idle','running','paused')), pause_point_id TEXT, head INTEGER NOT NULL, head_id TEXT,
  next_position INTEGER NOT NULL, next_pause_point INTEGER NOT NULL, turn INTEGER NOT NULL, lingering INTEGER,
  epoch TEXT NOT NULL, seq INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, deleted_at INTEGER,
  version INTEGER NOT NULL, mirrored INTEGER NOT NULL, schema INTEGER NOT NULL DEFAULT 1, head_by TEXT, head_op TEXT, word TEXT,
  parked INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE members (
  person TEXT PRIMARY KEY, role TEXT NOT NULL CHECK (role IN ('owner','approver','viewer')), removed INTEGER NOT NULL,
  version INTEGER NOT NULL, mirrored INTEGER NOT NULL, parked INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE steps (
  position INTEGER NOT NULL, step INTEGER NOT NULL, seq INTEGER NOT NULL, message_id TEXT NOT NULL, parent INTEGER NOT NULL, parent_id TEXT,
  role TEXT NOT NULL CHECK (role IN ('user','assistant')), turn INTEGER NOT NULL, person TEXT, device TEXT, op_id TEXT,
  delivery TEXT NOT NULL CHECK (delivery IN ('sent','queued','unanswered')), created_at INTEGER NOT NULL, withdrew INTEGER, parts TEXT NOT NULL,
  PRIMARY KEY (position, step)
) WITHOUT ROWID;
CREATE UNIQUE INDEX steps_user ON steps (message_id) WHERE role = 'user';
CREATE INDEX steps_op ON steps (op_id) WHERE op_id IS NOT NULL;
CREATE TABLE runs (
  turn INTEGER PRIMARY KEY, seq INTEGER NOT NULL, status TEXT NOT NULL CHECK (status IN ('running','suspended','completed','failed','cancelled')),
  stop_reason TEXT, detail TEXT, position INTEGER NOT NULL, message_id TEXT NOT NULL, parent INTEGER NOT NULL, parent_id TEXT,
  step INTEGER NOT NULL, since_step INTEGER NOT NULL, attempt INTEGER NOT NULL, fruitless INTEGER NOT NULL, first_pause_point INTEGER NOT NULL,
  person TEXT NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER, cancelled_by TEXT, op_id TEXT,
  input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, begun_op TEXT
);
CREATE INDEX runs_op ON runs (op_id) WHERE op_id IS NOT NULL;
CREATE TABLE calls (
  turn INTEGER NOT NULL, step INTEGER NOT NULL, "index" INTEGER NOT NULL, seq INTEGER NOT NULL, tool_call_id TEXT NOT NULL, position INTEGER NOT NULL,
  tool TEXT NOT NULL, state TEXT NOT NULL CHECK (state IN ('proposed','awaiting','ready','started','succeeded','failed','denied','unknown')), cause TEXT,
  tries INTEGER NOT NULL, interrupted INTEGER NOT NULL, started_at INTEGER, ended_at INTEGER, pause_point INTEGER, approval INTEGER,
  summary TEXT NOT NULL, input TEXT NOT NULL, override TEXT, output TEXT, error TEXT, provider_metadata TEXT,
  PRIMARY KEY (turn, step, "index")
) WITHOUT ROWID;
CREATE TABLE pause_points (
  n INTEGER PRIMARY KEY, seq INTEGER NOT NULL, version INTEGER NOT NULL, mirrored INTEGER NOT NULL, parked INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending','approved','rejected','expired','cancelled')),
  turn INTEGER NOT NULL, step INTEGER NOT NULL, "index" INTEGER NOT NULL, tool_call_id TEXT NOT NULL, action TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('approval','choice','data_entry','clarification','recovery')), risk TEXT NOT NULL CHECK (risk IN ('low','medium','high')),
  on_expiry TEXT NOT NULL CHECK (on_expiry IN ('continue','halt')), created_at INTEGER NOT NULL, expires_at INTEGER, decided_at INTEGER,
  decision TEXT, decided_by TEXT, decided_device TEXT, decided_via TEXT, op_id TEXT, title TEXT NOT NULL, summary TEXT NOT NULL,
  options TEXT, choice TEXT, reply TEXT, description TEXT NOT NULL, payload TEXT, payload_override TEXT, payload_schema TEXT,
  for_person TEXT, replaced_by TEXT, replaced_op TEXT, raised INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE catalog (server TEXT PRIMARY KEY, tools TEXT NOT NULL, seen_at INTEGER NOT NULL) WITHOUT ROWID;
`;

/**
 * What each version of the tables added to the one before. Only additions, each with a default: the code of the
 * release before must still run on these tables (H15).
 */
const ADDED: Record<number, string> = {
  2: `
ALTER TABLE conversation ADD COLUMN head_by TEXT;
ALTER TABLE conversation ADD COLUMN head_op TEXT;
ALTER TABLE conversation ADD COLUMN word TEXT;
ALTER TABLE steps ADD COLUMN withdrew INTEGER;
ALTER TABLE runs ADD COLUMN begun_op TEXT;
ALTER TABLE pause_points ADD COLUMN for_person TEXT;
ALTER TABLE pause_points ADD COLUMN replaced_by TEXT;
ALTER TABLE pause_points ADD COLUMN replaced_op TEXT;
ALTER TABLE pause_points ADD COLUMN raised INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE members ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;
CREATE TABLE catalog (server TEXT PRIMARY KEY, tools TEXT NOT NULL, seen_at INTEGER NOT NULL) WITHOUT ROWID;
`,
};
const VERSION = 2;

const NAMES = {
  conversation: "conversation",
  members: "members",
  steps: "steps",
  runs: "runs",
  calls: "calls",
  pausePoints: "pause_points",
  catalog: "catalog",
} as const satisfies Record<Table, string>;

const snakeNames = new Map<string, string>();
const camelNames = new Map<string, string>();

function snake(camel: string): string {
  let name = snakeNames.get(camel);
  if (!name) {
    name = camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    snakeNames.set(camel, name);
    camelNames.set(name, camel);
  }
  return name;
}

function camel(name: string): string {
  let known = camelNames.get(name);
  if (!known) {
    known = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    camelNames.set(name, known);
  }
  return known;
}

const columns = (names: string[], join: string): string => names.map((name) => `"${snake(name)}" IS ?`).join(join);

type Value = string | number | null;

/** The journal's rows in a Durable Object's SQLite. */
export class SqliteStore implements Store {
  #made = false;

  constructor(private readonly storage: DurableObjectStorage) {}

  atomically<T>(body: () => T): T {
    return this.storage.transactionSync(body);
  }

  create(): void {
    this.#execute(SCHEMA);
  }

  purge(): void {
    for (const table of ["members", "steps", "runs", "calls", "pause_points", "catalog"]) this.storage.sql.exec(`DELETE FROM ${table}`);
  }

  raise(floor: number): void {
    this.storage.sql.exec("UPDATE members SET version = max(version, ?1) + 1, mirrored = 0, parked = 0", floor);
    this.storage.sql.exec("UPDATE pause_points SET raised = raised + max(version, ?1) + 1 - version, version = max(version, ?1) + 1, mirrored = 0, parked = 0", floor);
  }

  insert<T extends Table>(table: T, row: Tables[T]): void {
    // The tables are as new as this code, or newer: an older release's were brought up when they were opened.
    const columns: object = table === "conversation" ? { ...row, schema: VERSION } : row;
    const names = Object.keys(columns);
    const marks = names.map(() => "?").join(",");
    this.storage.sql.exec(`INSERT INTO ${NAMES[table]} (${names.map((name) => `"${snake(name)}"`).join(",")}) VALUES (${marks})`, ...(Object.values(columns) as Value[]));
    this.#made = true;
  }

  update<T extends Table>(table: T, key: Key, patch: Partial<Tables[T]>, when: Partial<Tables[T]> = {}): boolean {
    const set = Object.keys(patch)
      .map((name) => `"${snake(name)}" = ?`)
      .join(", ");
    const where = [...KEYS[table], ...Object.keys(when)] as string[];
    const condition = where.length ? ` WHERE ${columns(where, " AND ")}` : "";
    const cursor = this.storage.sql.exec(
      `UPDATE ${NAMES[table]} SET ${set}${condition} RETURNING 1`,
      ...(Object.values(patch) as Value[]),
      ...key,
      ...(Object.values(when) as Value[]),
    );
    return cursor.toArray().length > 0;
  }

  get<T extends Table>(table: T, ...key: Key): Tables[T] | null {
    if (!this.#exists()) return null;
    const where = KEYS[table].length ? ` WHERE ${columns([...KEYS[table]], " AND ")}` : "";
    return this.#rows<Tables[T]>(`SELECT * FROM ${NAMES[table]}${where}`, ...key)[0] ?? null;
  }

  members(): MemberRow[] {
    return this.#rows("SELECT * FROM members");
  }

  message(position: number): StepRow[] {
    return this.#rows("SELECT * FROM steps WHERE position = ? ORDER BY step", position);
  }

  places(after: number): Place[] {
    return this.#rows("SELECT DISTINCT position, message_id, parent FROM steps WHERE position > ? ORDER BY position", after);
  }

  stepsBefore(position: number, limit: number): StepRow[] {
    return this.#rows("SELECT * FROM steps WHERE position < ? ORDER BY position DESC, step DESC LIMIT ?", position, limit);
  }

  userStep(messageId: string): StepRow | null {
    return this.#rows<StepRow>("SELECT * FROM steps WHERE role = 'user' AND message_id = ?", messageId)[0] ?? null;
  }

  queued(after: number): StepRow[] {
    return this.#rows("SELECT * FROM steps WHERE position > ? AND delivery = 'queued' ORDER BY position", after);
  }

  calls(turn: number): CallRow[] {
    return this.#rows('SELECT * FROM calls WHERE turn = ? ORDER BY step, "index"', turn);
  }

  callsOfStep(turn: number, step: number): CallRow[] {
    return this.#rows('SELECT * FROM calls WHERE turn = ? AND step = ? ORDER BY "index"', turn, step);
  }

  pausePointsFrom(n: number): PausePointRow[] {
    return this.#rows("SELECT * FROM pause_points WHERE n >= ? ORDER BY n", n);
  }

  operation(person: string, opId: string): Operation | null {
    const step = this.#rows<StepRow>("SELECT * FROM steps WHERE op_id = ? AND person = ?", opId, person)[0];
    if (step) return { kind: "send", step };
    const run = this.#rows<RunRow>("SELECT * FROM runs WHERE op_id = ? AND cancelled_by = ?", opId, person)[0];
    if (run) return { kind: "cancel", run };
    const begun = this.#rows<RunRow>("SELECT * FROM runs WHERE begun_op = ? AND person = ?", opId, person)[0];
    if (begun) return { kind: "regenerate", run: begun };
    const decided = this.#rows<PausePointRow>("SELECT * FROM pause_points WHERE op_id = ? AND decided_by = ?", opId, person)[0];
    if (decided) return { kind: "decide", pausePoint: decided };
    const replaced = this.#rows<PausePointRow>("SELECT * FROM pause_points WHERE replaced_op = ? AND replaced_by = ?", opId, person)[0];
    if (replaced) return { kind: "replace", pausePoint: replaced };
    const conversation = this.get("conversation");
    return conversation?.headBy === person && conversation.headOp === opId ? { kind: "head" } : null;
  }

  changedSince(seq: number, limit: number): ChangedRows {
    return {
      steps: this.#rows("SELECT * FROM steps WHERE seq > ? ORDER BY position, step LIMIT ?", seq, limit),
      calls: this.#rows("SELECT * FROM calls WHERE seq > ? LIMIT ?", seq, limit),
      pausePoints: this.#rows("SELECT * FROM pause_points WHERE seq > ? ORDER BY n LIMIT ?", seq, limit),
    };
  }

  undelivered(limit: number): PausePointRow[] {
    return this.#rows("SELECT * FROM pause_points WHERE version > mirrored AND parked = 0 ORDER BY n LIMIT ?", limit);
  }

  backlog(): Backlog {
    const [found] = this.#rows<Backlog>(`WITH behind (parked, at) AS (
      SELECT parked, updated_at FROM conversation WHERE version > mirrored
      UNION ALL SELECT parked, (SELECT updated_at FROM conversation) FROM members WHERE version > mirrored
      UNION ALL SELECT parked, coalesce(decided_at, created_at) FROM pause_points WHERE version > mirrored)
      SELECT count(*) - coalesce(sum(parked), 0) AS undelivered, coalesce(sum(parked), 0) AS parked, min(CASE parked WHEN 0 THEN at END) AS oldest FROM behind`);
    return found ?? { undelivered: 0, parked: 0, oldest: null };
  }

  // An object without a conversation has no tables, and must not get any by being asked (DESIGN §5).
  #exists(): boolean {
    if (this.#made) return true;
    if (this.storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'conversation'").toArray().length === 0) return false;
    this.#migrate();
    this.#made = true;
    return true;
  }

  /** Brings the tables of an older release up to this one's, wholly or not at all (H15). */
  #migrate(): void {
    const found = Number(this.storage.sql.exec("SELECT schema FROM conversation").toArray()[0]?.["schema"] ?? VERSION);
    if (found >= VERSION) return;
    this.storage.transactionSync(() => {
      for (let version = found + 1; version <= VERSION; version += 1) this.#execute(ADDED[version] ?? "");
      this.storage.sql.exec("UPDATE conversation SET schema = ?", VERSION);
    });
  }

  #execute(statements: string): void {
    for (const statement of statements.split(";")) if (statement.trim()) this.storage.sql.exec(statement);
  }

  #rows<Row>(query: string, ...values: Value[]): Row[] {
    const cursor = this.storage.sql.exec(query, ...values);
    const names = cursor.columnNames.map(camel);
    // Rows that carry their columns' names cost about twice as much to be handed over.
    return Array.from(cursor.raw(), (row) => Object.fromEntries(row.map((value, n) => [names[n], value])) as Row);
  }
}
