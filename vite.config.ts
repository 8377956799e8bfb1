import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: "src/web",
  publicDir: "../../public",
  plugins: [react()],
  build: {
    outDir: "../../dist/web",
    emptyOutDir: true,
    // The page is served under `default-src 'self'`: a font inlined as a data: URI would be refused.
    assetsInlineLimit: 0,
  },
  server: { proxy: { "/api": { target: "http://127.0.0.1:8787", ws: true }, "/auth": "http://127.0.0.1:8787" } },
});
