import { settled } from "./clock.js";

/** A tool whose execution ends when the test says so. */
export function gate(): { execute: () => Promise<unknown>; open: (result: unknown) => Promise<void>; fail: (error: Error) => Promise<void>; begun: () => number } {
  const waiting: { resolve: (value: unknown) => void; reject: (error: Error) => void }[] = [];
  let begun = 0;
  return {
    execute: () =>
      new Promise((resolve, reject) => {
        begun += 1;
        waiting.push({ resolve, reject });
      }),
    open: async (result) => (waiting.shift()?.resolve(result), settled()),
    fail: async (error) => (waiting.shift()?.reject(error), settled()),
    begun: () => begun,
  };
}
