/** A D1 whose batches, which only outboxes and the ledger send, do what a test says. */
export function batches(batch: (real: () => Promise<D1Result[]>) => Promise<D1Result[]>): (real: D1Database) => D1Database {
  return (real) =>
    new Proxy(real, {
      get(target, name) {
        if (name === "batch") return (statements: D1PreparedStatement[]) => batch(() => target.batch(statements));
        const value = Reflect.get(target, name) as unknown;
        return typeof value === "function" ? (value as (...values: unknown[]) => unknown).bind(target) : value;
      },
    });
}
