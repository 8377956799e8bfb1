import { abortAllDurableObjects, reset } from "cloudflare:test";
import { beforeAll } from "vitest";

// All files share one workerd, for starting it takes longer than most of them. Each begins with nothing stored, and
// with no object of the file before that could still deliver to D1.
beforeAll(async () => {
  await abortAllDurableObjects();
  await reset();
});
