import type { D1Migration } from "cloudflare:test";
import type { Env } from "../../src/settings.js";

declare global {
  namespace Cloudflare {
    interface Env extends HoldpointEnv {
      MIGRATIONS: D1Migration[];
      /** What `npm run fuzz` asks for, as JSON. */
      FUZZ?: string;
    }
  }
}
type HoldpointEnv = Env;
