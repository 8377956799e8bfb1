import { join } from "node:path";

/** For a bundler: puts a stand-in in the place of the Workers' own module, which is there only inside workerd. */
export const workersStandIn = {
  name: "holdpoint:workers-stand-in",
  enforce: "pre" as const,
  resolveId: (id: string): string | null => (id === "cloudflare:workers" ? join(import.meta.dirname, "workers-stand-in.ts") : null),
};
