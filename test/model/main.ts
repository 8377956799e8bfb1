import { check, type Asked, type Checked } from "./check.js";
import { memoryDisk } from "./memory.js";

// The part of `npm run model` that is bundled for Node.

export { details, table } from "./report.js";
export { summed } from "./tally.js";

/** Sequences against the in-memory journal. */
export const inMemory = (asked: Asked, migrations: string[]): Promise<Checked> => check(memoryDisk(migrations), asked);
