import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [
    cloudflareTest({ remoteBindings: false, wrangler: { configPath: "./bench/wrangler.toml" }, miniflare: { bindings: { MIGRATIONS: await readD1Migrations("./migrations") } } }),
  ],
  test: { name: "bench", include: ["bench/**/*.test.ts"], reporters: ["default"], fileParallelism: false },
});
