import type { Changes, Journal, Transaction } from "../core/journal.js";
import type { ConversationRow, MemberRow, PausePointRow } from "../core/rows.js";
import type { Ports } from "../core/ports.js";
import { upsertConversation, upsertMember } from "../store/conversations.js";
import { upsertPausePoint } from "../store/pause-points.js";

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

/** Carries to D1 every row whose `version` is ahead of what D1 has taken: those rows are the outbox. */
export class Outbox {
  #delivering = false;
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
    this.#delivering = true;
    this.ports.background(this.#deliverAll().finally(() => (this.#delivering = false)));
  }

  /** When undelivered rows need the alarm; null when there are none. */
  nextDue(): number | null {
    return this.#load() ? Math.max(this.#notBefore, this.journal.now() + DELIVERY_MS) : null;
  }

  async #deliverAll(): Promise<void> {
    for (let load = this.#load(); load; load = this.#load()) {
      try {
        await this.#send(load);
        this.#failures = 0;
        this.#notBefore = 0;
      } catch (error) {
        if (isRefusal(error) && (await this.#parkRefused(load.pausePoints))) continue;
        this.#failures += 1;
        this.#notBefore = this.journal.now() + Math.min(MOST_WAIT_MS, 1000 * 2 ** this.#failures);
        this.ports.log("outbox.failed", { failures: this.#failures, error: error instanceof Error ? error.message : String(error) });
        return;
      }
    }
  }

  async #send(load: Load): Promise<void> {
    const conversation = this.journal.conversation();
    await this.#withTimeLimit(
      this.db.batch([
        ...(load.conversation ? [upsertConversation(this.db, load.conversation)] : []),
        ...load.members.map((row) => upsertMember(this.db, conversation.id, row)),
        ...load.pausePoints.map((row) => upsertPausePoint(this.db, conversation, row)),
      ]),
    );
    this.journal.transaction("mirrored", (tx) => {
      // The version that was sent, not the one the row has by now (H21).
      if (load.conversation) tx.mirrored("conversation", [], load.conversation.version);
      for (const row of load.members) tx.mirrored("members", [row.person], row.version);
      for (const row of load.pausePoints) tx.mirrored("pausePoints", [row.n], row.version);
      this.#purgeIfTold(tx);
    });
  }

  /** A row that D1 refuses for good is parked, so that it holds up no others. True when one was. */
  async #parkRefused(rows: PausePointRow[]): Promise<boolean> {
    let parked = false;
    for (const row of rows) {
      try {
        await this.#withTimeLimit(upsertPausePoint(this.db, this.journal.conversation(), row).run());
      } catch (error) {
        if (!isRefusal(error)) return parked;
        this.journal.transaction("park", (tx) => {
          tx.park(row.n);
          this.#purgeIfTold(tx);
        });
        this.ports.log("outbox.parked", { pausePoint: row.n });
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
    const conversation = row.version > row.mirrored ? row : null;
    const members = this.journal.read.members().filter((member) => member.version > member.mirrored);
    const pausePoints = this.journal.read.undelivered(BATCH);
    return conversation || members.length || pausePoints.length ? { conversation, members, pausePoints } : null;
  }
}

/** Whether D1 has judged the statement itself, rather than failed to run it. */
const isRefusal = (error: unknown): boolean => error instanceof Error && /SQLITE_CONSTRAINT|SQLITE_TOOBIG|SQLITE_MISMATCH/.test(error.message);
