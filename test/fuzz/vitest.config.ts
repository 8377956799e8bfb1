import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

/** The part of `npm run fuzz` that runs inside workerd, beside the Worker. */
export default defineConfig({
  plugins: [
    cloudflareTest({
      remoteBindings: false,
      wrangler: { configPath: "./test/worker/wrangler.toml" },
      miniflare: { bindings: { MIGRATIONS: await readD1Migrations("./migrations"), ...(process.env["FUZZ"] ? { FUZZ: process.env["FUZZ"] } : {}) } },
    }),
  ],
  test: { name: "fuzz", include: ["test/fuzz/*.test.ts"], testTimeout: 300_000, maxWorkers: 2 },
});
