import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const OUT = join(import.meta.dirname, "dist/web");
const PUBLIC = join(import.meta.dirname, "public");

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => (entry.isFile() ? join(entry.parentPath, entry.name).slice(folder.length + 1) : []));

/** Removes what this build has not written. An emptied folder would leave a server that runs on it without a page. */
const removeStale: Plugin = {
  name: "holdpoint:remove-stale",
  writeBundle(_, bundle) {
    const fresh = new Set([...Object.keys(bundle), ...filesIn(PUBLIC)]);
    for (const file of filesIn(OUT)) if (!fresh.has(file)) rmSync(join(OUT, file));
  },
};

export default defineConfig({
  root: "src/web",
  publicDir: PUBLIC,
  plugins: [react(), removeStale],
  build: {
    outDir: OUT,
    emptyOutDir: false,
    // The page is served under `default-src 'self'`: a font inlined as a data: URI would be refused.
    assetsInlineLimit: 0,
  },
  server: { proxy: { "/api": { target: "http://127.0.0.1:8787", ws: true }, "/auth": "http://127.0.0.1:8787" } },
});
