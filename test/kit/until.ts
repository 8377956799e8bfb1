import { vi } from "vitest";

/** Waits until this holds; a slow machine may take its time. */
export const until = (condition: () => unknown): Promise<unknown> => vi.waitUntil(condition, { timeout: 10_000, interval: 5 });
