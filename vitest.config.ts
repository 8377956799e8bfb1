import { availableParallelism } from "node:os";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { faultPlugin } from "./test/faults/plugin.ts";

export default defineConfig({
  test: {
    silent: "passed-only",
    // Much of the suite's time is waiting (browsers, servers that start, time limits), so two files at a time pay on two cores too.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // A slow machine is no reason to fail; who waits for a condition goes on as soon as it is met.
    testTimeout: 30_000,
    expect: { poll: { timeout: 10_000, interval: 10 } },
    // A fault is an edit that the cache of transformed modules does not know of.
    fsModuleCache: process.env["HOLDPOINT_FAULT"] === undefined,
    projects: [
      { plugins: [faultPlugin()], test: { name: "unit", include: ["test/unit/**/*.test.ts"], environment: "node", isolate: false } },
      {
        plugins: [
          faultPlugin(),
          cloudflareTest({
            remoteBindings: false,
            wrangler: { configPath: "./test/worker/wrangler.toml" },
            miniflare: { bindings: { MIGRATIONS: await readD1Migrations("./migrations") } },
          }),
        ],
        test: { name: "worker", include: ["test/worker/**/*.test.ts"], setupFiles: ["test/worker/setup.ts"], isolate: false },
      },
      { test: { name: "e2e", include: ["test/e2e/**/*.test.ts"], environment: "node", globalSetup: "test/e2e/setup.ts", testTimeout: 60_000, hookTimeout: 120_000 } },
    ],
  },
});
