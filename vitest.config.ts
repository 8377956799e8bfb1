import { availableParallelism } from "node:os";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { faultPlugin } from "./test/faults/plugin.ts";
import { workersStandIn } from "./test/simulate/stand-in.ts";

const broken = process.env["HOLDPOINT_FAULT"] !== undefined;

export default defineConfig({
  test: {
    silent: "passed-only",
    // Much of the suite's time is waiting (browsers, servers that start, time limits), so two files at a time pay on two cores too.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // A slow machine is no reason to fail; who waits for a condition goes on as soon as it is met. With a fault put in, many wait in vain.
    testTimeout: broken ? 5_000 : 30_000,
    expect: { poll: { timeout: 10_000, interval: 10 } },
    // A fault is an edit that the cache of transformed modules does not know of.
    fsModuleCache: !broken,
    projects: [
      { plugins: [faultPlugin(), workersStandIn], test: { name: "unit", include: ["test/unit/**/*.test.ts"], environment: "node", isolate: false } },
      {
        plugins: [
          faultPlugin(),
          cloudflareTest({
            remoteBindings: false,
            wrangler: { configPath: "./test/worker/wrangler.toml" },
            miniflare: { bindings: { MIGRATIONS: await readD1Migrations("./migrations") } },
          }),
        ],
        test: { name: "worker", include: ["test/worker/**/*.test.ts"] },
      },
      { test: { name: "e2e", include: ["test/e2e/**/*.test.ts"], environment: "node", globalSetup: "test/e2e/setup.ts", testTimeout: 60_000, hookTimeout: 120_000 } },
    ],
  },
});
