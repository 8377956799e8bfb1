/**
 * What a whole table would have to be read for, kept in mind for one life of the object: an index that tells it would
 * cost more rows written with each card, and those are the bill. It errs on one side only. It may say "look" in vain,
 * and never says "there is none" where there is one.
 */
export class Remembered {
  /** No pause point with a smaller number is undelivered. 0 when that is not known. */
  #undeliveredFrom = 0;
  /** Hashes of the `opId`s that stand where no index finds them; null while nobody has looked. */
  #operations: Set<number> | null = null;

  /** Where to begin to look for undelivered pause points; null when there are none. */
  get undeliveredFrom(): number | null {
    return this.#undeliveredFrom === Infinity ? null : this.#undeliveredFrom;
  }

  /** The first undelivered pause point that was found from there on. */
  firstUndelivered(n: number | undefined): void {
    this.#undeliveredFrom = n ?? Infinity;
  }

  /** A row of this table is about to be written, with these values. */
  writes(table: string, n: unknown, values: object): void {
    if (table === "pausePoints") this.#undeliveredFrom = Math.min(this.#undeliveredFrom, Number(n));
    const { opId, replacedOp, begunOp } = values as Record<string, unknown>;
    for (const id of [opId, replacedOp, begunOp]) if (typeof id === "string") this.#operations?.add(hash(id));
  }

  /** Rows have changed in a way that was not told, or changed back. */
  forget(): void {
    this.#undeliveredFrom = 0;
  }

  /** Whether one of the `opId`s without an index may be this; `all` reads them, once. */
  mayKnow(opId: string, all: () => string[]): boolean {
    this.#operations ??= new Set(all().map(hash));
    return this.#operations.has(hash(opId));
  }
}

/** FNV-1a: four bytes for an id of any length. Two ids of one hash only mean that somebody looks. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let place = 0; place < text.length; place += 1) value = Math.imul(value ^ text.charCodeAt(place), 0x01000193);
  return value >>> 0;
}
