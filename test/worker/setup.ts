import { reset } from "cloudflare:test";
import { beforeAll } from "vitest";

// All files share one workerd, for starting it takes longer than most of them. Each begins with nothing stored.
beforeAll(reset);
