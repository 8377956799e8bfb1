import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startMigrating } from "../../src/cli/server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    tables: string;
  }
}

/** Makes the tables once; every server begins with a copy of them. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const tables = await mkdtemp(join(tmpdir(), "holdpoint-tables-"));
  const migrating = startMigrating(tables);
  if ((await migrating.ended) !== 0) throw new Error(migrating.said());
  provide("tables", tables);
  return () => rm(tables, { recursive: true, force: true });
}
