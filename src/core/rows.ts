import type {
  CallCause,
  CallState,
  ConversationState,
  Delivery,
  OnExpiry,
  PausePointKind,
  PausePointState,
  Risk,
  Role,
  RunStatus,
  StopReason,
  Verdict,
} from "../protocol/entities.js";

// The rows of one conversation's journal, and what a store of them can do.
// JSON columns stay text here: what can't be parsed must not keep the conversation from opening (C58).

export interface ConversationRow {
  id: string;
  owner: string;
  title: string;
  skill: string;
  state: ConversationState;
  pausePointId: string | null;
  /** The leaf in use: position and message id. 0 and null in an empty conversation. */
  head: number;
  headId: string | null;
  nextPosition: number;
  nextPausePoint: number;
  /** The newest run's number; 0 before the first. */
  turn: number;
  /** The oldest ended run that still has a `started` call (H19). */
  lingering: number | null;
  epoch: string;
  seq: number;
  createdAt: number;
  updatedAt: number;
  /** Deleting is a state: the rows go when D1 has taken it (H15). */
  deletedAt: number | null;
  version: number;
  mirrored: number;
  /** D1 has refused this version for good (H21). */
  parked: 0 | 1;
  /** Who chose the head last, and the `opId` of that (S5). */
  headBy: string | null;
  headOp: string | null;
  /** Marks a synthetic message for the model in `RESUME_MODE=message`; made when first needed. Never shown to a client. */
  word: string | null;
}

export interface MemberRow {
  person: string;
  role: Role;
  removed: 0 | 1;
  version: number;
  mirrored: number;
  parked: 0 | 1;
}

export interface StepRow {
  position: number;
  step: number;
  seq: number;
  messageId: string;
  parent: number;
  parentId: string | null;
  role: "user" | "assistant";
  /** The run that wrote it, or that a person's text started or joined. */
  turn: number;
  person: string | null;
  device: string | null;
  opId: string | null;
  delivery: Delivery;
  createdAt: number;
  /** A text that withdrew the cards it found pending (S5). */
  withdrew: 0 | 1 | null;
  /** JSON text of the parts; tool parts are `{type:"call", index}` and come from their call rows. */
  parts: string;
}

export interface RunRow {
  turn: number;
  seq: number;
  status: RunStatus;
  stopReason: StopReason | null;
  detail: string | null;
  /** The message being written, and what it answers. */
  position: number;
  messageId: string;
  parent: number;
  parentId: string | null;
  /** Steps committed. The next step has this index. */
  step: number;
  /** The step before which a person's text was last given to the model. */
  sinceStep: number;
  /** Model calls begun in this run, and those since the last progress (H18). */
  attempt: number;
  fruitless: number;
  /** Number of the first pause point that this run could have made. */
  firstPausePoint: number;
  person: string;
  startedAt: number;
  endedAt: number | null;
  cancelledBy: string | null;
  opId: string | null;
  inputTokens: number;
  outputTokens: number;
  /** The `opId` of the regeneration that began it (S5). */
  begunOp: string | null;
}

export interface CallRow {
  turn: number;
  step: number;
  index: number;
  seq: number;
  toolCallId: string;
  /** Position of the message that shows it. */
  position: number;
  tool: string;
  state: CallState;
  cause: CallCause | null;
  tries: number;
  /** Tries and attempts interrupted since the last one that a person asked for. */
  interrupted: number;
  startedAt: number | null;
  endedAt: number | null;
  pausePoint: number | null;
  /** The newest decided approval of this call: what its result tells about. */
  approval: number | null;
  summary: string;
  /** JSON text of the input: as parsed by the schema, or as it came when it couldn't be. */
  input: string;
  /** JSON text of the result, or of an approved override that replaces the input. */
  override: string | null;
  output: string | null;
  error: string | null;
  providerMetadata: string | null;
}

export interface PausePointRow {
  n: number;
  seq: number;
  version: number;
  mirrored: number;
  parked: 0 | 1;
  state: PausePointState;
  turn: number;
  step: number;
  index: number;
  toolCallId: string;
  action: string;
  kind: PausePointKind;
  risk: Risk;
  onExpiry: OnExpiry;
  createdAt: number;
  expiresAt: number | null;
  decidedAt: number | null;
  decision: Verdict | null;
  decidedBy: string | null;
  decidedDevice: string | null;
  decidedVia: string | null;
  opId: string | null;
  title: string;
  summary: string;
  options: string | null;
  choice: string | null;
  reply: string | null;
  description: string;
  payload: string | null;
  payloadOverride: string | null;
  payloadSchema: string | null;
  /** The only person who may answer, for a question to a device; null: whoever may decide. */
  forPerson: string | null;
  /** Whose edit replaced the card last, and the `opId` of that (S5, H12). */
  replacedBy: string | null;
  replacedOp: string | null;
  /** How much of `version` came of reindexing, which does not change what the card shows (H21). */
  raised: number;
}

/** The tools of an MCP server as it last described them: what a call is shown, parsed and judged by. */
export interface CatalogRow {
  server: string;
  /** JSON text. */
  tools: string;
  seenAt: number;
}

export interface Tables {
  conversation: ConversationRow;
  members: MemberRow;
  steps: StepRow;
  runs: RunRow;
  calls: CallRow;
  pausePoints: PausePointRow;
  catalog: CatalogRow;
}
export type Table = keyof Tables;
export type Key = readonly (string | number)[];

/** The columns that name a row. */
export const KEYS = {
  conversation: [],
  members: ["person"],
  steps: ["position", "step"],
  runs: ["turn"],
  calls: ["turn", "step", "index"],
  pausePoints: ["n"],
  catalog: ["server"],
} as const satisfies { [T in Table]: readonly (keyof Tables[T])[] };

/** What a command made, found by its `opId` (S5). */
export type Operation =
  | { kind: "send"; step: StepRow }
  | { kind: "decide"; pausePoint: PausePointRow }
  /** A decision that only replaced its card (H12). */
  | { kind: "replace"; pausePoint: PausePointRow }
  | { kind: "cancel"; run: RunRow }
  | { kind: "regenerate"; run: RunRow }
  | { kind: "head" };

/** Where a message hangs. */
export type Place = Pick<StepRow, "position" | "messageId" | "parent">;

export interface ChangedRows {
  steps: StepRow[];
  calls: CallRow[];
  pausePoints: PausePointRow[];
}

/** What D1 has not taken, over all mirrored tables: rows to send, since when at least one waits, and rows it refused. */
export interface Backlog {
  undelivered: number;
  oldest: number | null;
  parked: number;
}

/** What can be asked of the rows. */
export interface Reads {
  get<T extends Table>(table: T, ...key: Key): Tables[T] | null;
  members(): MemberRow[];
  /** The steps of one message, in order. */
  message(position: number): StepRow[];
  /** Every message after a position, in order. */
  places(after: number): Place[];
  /** At most `limit` rows before a position, newest first. */
  stepsBefore(position: number, limit: number): StepRow[];
  userStep(messageId: string): StepRow | null;
  queued(after: number): StepRow[];
  calls(turn: number): CallRow[];
  callsOfStep(turn: number, step: number): CallRow[];
  pausePointsFrom(n: number): PausePointRow[];
  /** What a person's `opId` made, if it made something (S5). */
  operation(person: string, opId: string): Operation | null;
  /** Rows with a larger `seq`, at most `limit` of each kind. */
  changedSince(seq: number, limit: number): ChangedRows;
  undelivered(limit: number): PausePointRow[];
  backlog(): Backlog;
}

/** Where the rows are: SQLite in the object, maps in memory. One contract suite runs against both. */
export interface Store extends Reads {
  /** Runs the body wholly or not at all. */
  atomically<T>(body: () => T): T;
  /** Makes the tables. Writes nothing else. */
  create(): void;
  insert<T extends Table>(table: T, row: Tables[T]): void;
  /** Lifts the versions of all members and pause points above `floor`, to be sent again, parked ones too (H21). */
  raise(floor: number): void;
  /** Removes every row but the conversation's own. */
  purge(): void;
  /** One statement: changes the row of this key when every column of `when` has that value. Says whether it did. */
  update<T extends Table>(table: T, key: Key, patch: Partial<Tables[T]>, when?: Partial<Tables[T]>): boolean;
}
