import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { faultPlugin } from "./test/faults/plugin.ts";

export default defineConfig({
  test: {
    silent: "passed-only",
    // A fault is an edit that the cache of transformed modules does not know of.
    fsModuleCache: process.env["HOLDPOINT_FAULT"] === undefined,
    projects: [
      { plugins: [faultPlugin()], test: { name: "unit", include: ["test/unit/**/*.test.ts"], environment: "node" } },
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
      { test: { name: "e2e", include: ["test/e2e/**/*.test.ts"], environment: "node", fileParallelism: false, testTimeout: 60_000, hookTimeout: 120_000 } },
    ],
  },
});
