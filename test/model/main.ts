import { check, type Asked, type Checked } from "./check.js";
import { memoryDisk } from "./memory.js";

/** The part of `npm run model` that runs in this process. */
export const inMemory = (asked: Asked, migrations: string[]): Promise<Checked> => check(memoryDisk(migrations), asked);
