import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

// `npm run fixture`: writes test/fixtures/journal-vN.sql, once at each release.
export default defineConfig({
  plugins: [
    cloudflareTest({
      remoteBindings: false,
      wrangler: { configPath: "./test/worker/wrangler.toml" },
      miniflare: { bindings: { MIGRATIONS: await readD1Migrations("./migrations") } },
    }),
  ],
  test: { include: ["test/release/**/*.test.ts"] },
});
