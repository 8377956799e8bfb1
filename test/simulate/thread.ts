import { parentPort, workerData } from "node:worker_threads";
import type { Asked } from "./main.ts";

// One thread of `npm run simulate`. The simulation comes as a bundle, with or without a fault in it.

const { bundle, asked } = workerData as { bundle: string; asked: Asked };
const { live } = (await import(bundle)) as typeof import("./main.ts");
parentPort?.postMessage(await live(asked));
