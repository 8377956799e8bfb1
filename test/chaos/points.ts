// Where a process may be killed, by name. Nothing in the product knows of them: the entry beside this file makes them
// around each transaction and around every call that leaves the object.

const TX_PHASES = ["before", "inside", "after", "durable"] as const;

/** Transactions that the harness can't bring about by using the product, and why. The suite has tests for each. */
export const OUT_OF_REACH: Record<string, string> = {
  driver_failed: "only written after a defect of our own",
  park: "only written when D1 refuses a row for good",
  catalog: "only written where tools of MCP servers are configured",
};

/** The names of all transactions in the sources: a new one is a point here without anybody's doing. */
export function transactionNames(sources: string[]): string[] {
  const names = sources.flatMap((source) => [...source.matchAll(/(?:\.transaction|#command)\("([a-z_]+)"/g)].map(([, name]) => name ?? ""));
  return [...new Set(names)].toSorted();
}

/** `settle` → `tx:settle:before`, `tx:settle:inside` …, and the calls that leave the object. */
export function allPoints(transactions: string[], tools: string[], tables: string[]): string[] {
  const around = (name: string): string[] => [`${name}:before`, `${name}:after`];
  return [
    ...transactions.filter((name) => !(name in OUT_OF_REACH)).flatMap((name) => TX_PHASES.map((phase) => `tx:${name}:${phase}`)),
    ...around("model"),
    "model:chunk",
    ...tools.flatMap((tool) => around(`tool:${tool}`)),
    ...tables.flatMap((table) => around(`d1:${table}`)),
    ...around("alarm:set"),
    ...around("alarm:handler"),
    ...around("socket:open"),
    ...around("socket:message"),
    "object:made",
  ];
}
