import { loggable } from "../protocol/loggable.js";
import type { Journal } from "../core/journal.js";
import type { Changes, Transaction } from "../core/transaction.js";
import { pausePointId } from "../core/ids.js";
import type { ConversationRow, Key, MemberRow, PausePointRow } from "../core/rows.js";
import type { Ports } from "../core/ports.js";
import { upsertConversation, upsertMember } from "../store/conversations.js";
import { emptyPausePoints, upsertPausePoint } from "../store/pause-points.js";
import { heldVersion } from "../store/repair.js";

/** A delivery that takes longer has failed (H21): D1 has been seen to stall for a minute. */
const DELIVERY_MS = 10_000;
const BATCH = 20;
/** While a run is live its changes are gathered this long, so that a short turn is one delivery. */
const GATHER_MS = 200;
const MOST_WAIT_MS = 5 * 60_000;

interface Load {
  conversation: ConversationRow | null;
  members: MemberRow[];
  pausePoints: PausePointRow[];
}

/** How sending everything again went. `sent`: D1 has not taken all of it yet; the alarm goes on. */
export type Reindexed = { status: "delivered" | "sent"; rows: number } | { status: "unreachable" };

/** A statement and the row whose version it carries; none for a statement that carries no row. */
interface Sent {
  table: "conversation" | "members" | "pausePoints";
  key: Key;
  version: number | null;
  statement: D1PreparedStatement;
}

/** Carries to D1 every row whose `version` is ahead of what D1 has taken: those rows are the outbox. */
export class Outbox {
  #delivering: Promise<void> | null = null;
  #gathering: (() => void) | null = null;
  #failures = 0;
  #notBefore = 0;

  constructor(
    private readonly ports: Pick<Ports, "clock" | "log" | "background">,
    private readonly journal: Journal,
    private readonly db: D1Database,
  ) {}

  /** After a commit: deliver soon, at once when the run rests. */
  changed(changes: Changes): void {
    if (!changes.outbox) return;
    if (this.journal.liveRun()?.status !== "running") return this.deliver();
    this.#gathering ??= this.ports.clock.after(GATHER_MS, () => this.deliver());
  }

  /** Begins delivering what is undelivered, unless that is under way or was put off. */
  deliver(): void {
    this.#gathering?.();
    this.#gathering = null;
    if (this.#delivering || this.journal.now() < this.#notBefore || !this.#load()) return;
    this.#delivering = this.#deliverAll();
    this.ports.background(this.#delivering);
  }

  /**
   * Sends everything again, above whatever D1 holds, after D1 was restored or lost (H21). Versions are raised even
   * where D1 holds less: what is under way from before is then an older version, here and there.
   */
  async reindex(epoch: string): Promise<Reindexed> {
    let held: number;
    try {
      const members = this.journal.read.members().map(({ person }) => person);
      held = await this.#withTimeLimit(heldVersion(this.db, this.journal.conversation().id, members));
    } catch (error) {
      this.ports.log("reindex.failed", { error: loggable(error) });
      return { status: "unreachable" };
    }
    this.journal.transaction("reindex", (tx) => tx.reindex(held, epoch));
    const rows = this.journal.read.backlog().undelivered;
    this.#notBefore = 0;
    for (let round = 0; round < 2; round += 1) {
      this.deliver();
      await this.#delivering;
    }
    return { status: this.journal.read.backlog().undelivered === 0 ? "delivered" : "sent", rows };
  }

  /** When undelivered rows need the alarm; null when there are none. */
  nextDue(): number | null {
    return this.#load() ? Math.max(this.#notBefore, this.journal.now() + DELIVERY_MS) : null;
  }

  async #deliverAll(): Promise<void> {
    try {
      for (let load = this.#load(); load;) load = (await this.#tell(load)) ? this.#load() : null;
    } finally {
      // In the very turn that found nothing to send: what was committed between the two would wait for the alarm.
      this.#delivering = null;
    }
  }

  /** False when D1 could not be told, and is to be told later. */
  async #tell(load: Load): Promise<boolean> {
    try {
      await this.#send(load);
      this.#failures = 0;
      this.#notBefore = 0;
      return true;
    } catch (error) {
      if (isRefusal(error) && (await this.#parkRefused(load))) return true;
      this.#failures += 1;
      this.#notBefore = this.journal.now() + Math.min(MOST_WAIT_MS, 1000 * 2 ** this.#failures);
      this.ports.log("outbox.failed", { failures: this.#failures, error: loggable(error) });
      return false;
    }
  }

  async #send(load: Load): Promise<void> {
    const statements = this.#statements(load);
    await this.#withTimeLimit(this.db.batch(statements.map(({ statement }) => statement)));
    this.journal.transaction("mirrored", (tx) => {
      // The version that was sent, not the one the row has by now (H21).
      for (const { table, key, version } of statements) if (version !== null) tx.mirrored(table, key, version);
      this.#purgeIfTold(tx);
    });
    this.ports.log("outbox.delivered", { rows: statements.length });
  }

  /** What carries a load, and the row that each statement carries. A deleted conversation's texts are emptied there too (H15). */
  #statements(load: Load): Sent[] {
    const conversation = this.journal.conversation();
    const sent: Sent[] = [];
    if (load.conversation) {
      sent.push({ table: "conversation", key: [], version: load.conversation.version, statement: upsertConversation(this.db, load.conversation) });
      if (conversation.deletedAt !== null) sent.push({ table: "pausePoints", key: [], version: null, statement: emptyPausePoints(this.db, conversation.id) });
    }
    for (const row of load.members) sent.push({ table: "members", key: [row.person], version: row.version, statement: upsertMember(this.db, conversation.id, row) });
    for (const row of load.pausePoints)
      sent.push({
        table: "pausePoints",
        key: [row.n],
        version: row.version,
        statement: upsertPausePoint(this.db, conversation, conversation.deletedAt === null ? row : emptied(row)),
      });
    return sent;
  }

  /** Each row that D1 refuses for good is parked at its version, so that it holds up no others. True when one was. */
  async #parkRefused(load: Load): Promise<boolean> {
    let parked = false;
    for (const { table, key, version, statement } of this.#statements(load)) {
      try {
        await this.#withTimeLimit(statement.run());
      } catch (error) {
        if (!isRefusal(error) || version === null) return parked;
        this.journal.transaction("park", (tx) => {
          tx.park(table, key, version);
          this.#purgeIfTold(tx);
        });
        // A member's key is a person's name, which no log line has.
        const pausePoint = table === "pausePoints" ? pausePointId(this.journal.conversation().id, Number(key[0])) : null;
        this.ports.log("outbox.parked", { table, pausePoint, version });
        parked = true;
      }
    }
    return parked;
  }

  /** A deleted conversation's rows go when D1 has taken all of them that it takes (H15). */
  #purgeIfTold(tx: Transaction): void {
    if (tx.conversation.deletedAt !== null && !this.#load()) tx.store.purge();
  }

  #withTimeLimit<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = this.ports.clock.after(DELIVERY_MS, () => reject(new Error("D1 did not answer in 10 seconds.")));
      work.then(resolve, reject).finally(cancel);
    });
  }

  #load(): Load | null {
    const row = this.journal.read.get("conversation");
    if (!row) return null;
    const conversation = isBehind(row) ? row : null;
    const members = this.journal.read.members().filter(isBehind);
    const pausePoints = this.journal.read.undelivered(BATCH);
    return conversation || members.length || pausePoints.length ? { conversation, members, pausePoints } : null;
  }
}

const isBehind = (row: { version: number; mirrored: number; parked: 0 | 1 }): boolean => row.version > row.mirrored && !row.parked;

/** A pause point without what people and the model wrote in it. */
const emptied = (row: PausePointRow): PausePointRow => ({
  ...row,
  title: "",
  summary: "",
  description: "",
  options: null,
  payload: null,
  payloadSchema: null,
  payloadOverride: null,
  choice: null,
  reply: null,
});

/** Whether D1 has judged the statement itself, rather than failed to run it. */
const isRefusal = (error: unknown): boolean => error instanceof Error && /SQLITE_CONSTRAINT|SQLITE_TOOBIG|SQLITE_MISMATCH/.test(error.message);
