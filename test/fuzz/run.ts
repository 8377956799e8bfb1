import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT, start } from "../../src/cli/processes.ts";
import { startServer } from "../../src/cli/server.ts";
import { bundled, numberOf, temporary } from "../kit/command.ts";

// `npm run fuzz -- --seed N --inputs N`: most inputs beside the Worker in workerd, one in ten through real sockets and
// requests to a server of its own. What broke is printed with its seed, and comes again with `--seed`.

const { values } = parseArgs({ options: { seed: { type: "string" }, inputs: { type: "string" } } });
const seed = numberOf(values.seed, Date.now() % 1_000_000_000);
const inputs = numberOf(values.inputs, 100_000);
const began = Date.now();

/** The shares of test/fuzz/*.test.ts leave this to the server. */
const LIVE_SHARE = 0.1;

async function inside(): Promise<boolean> {
  const vitest = start([join(ROOT, "node_modules/vitest/vitest.mjs"), "run", "--config", "test/fuzz/vitest.config.ts", "--root", ROOT], {
    ...process.env,
    NO_COLOR: "1",
    FUZZ: JSON.stringify({ seed, inputs }),
  });
  const code = await vitest.ended;
  for (const [line] of vitest.said().matchAll(/^FUZZ .*$/gm)) console.log(line.slice(5));
  if (code !== 0) console.log(vitest.said());
  return code === 0;
}

async function throughTheWire(): Promise<boolean> {
  const { live, flood } = await bundled<typeof import("./live.ts")>(join(import.meta.dirname, "live.ts"), temporary("fuzz"));
  // An operator may reindex every conversation, which closes the sockets of all: here nobody is one.
  const server = await startServer({ vars: { DEMO_DELAY_MS: "0", OPERATORS: "olga" } });
  try {
    const closed = await flood(server);
    console.log(`a flood of 1000 frames: its socket was closed with ${closed.flood}, the other one of the conversation with ${closed.other}`);
    if (closed.flood !== 4429 || closed.other !== null) return false;
    const started = Date.now();
    const sent = await live(server, seed, Math.ceil(inputs * LIVE_SHARE));
    console.log(`over the network: ${JSON.stringify(sent)}, in ${((Date.now() - started) / 1000).toFixed(0)} s`);
    return true;
  } catch (error) {
    console.log(error instanceof Error ? error.message : String(error));
    return false;
  } finally {
    await server.stop();
  }
}

console.log(`seed ${seed}, ${inputs} inputs`);
// Side by side: over the network most of the time is waiting.
const held = (await Promise.all([inside(), throughTheWire()])).every(Boolean);
console.log(held ? `No rule was broken, in ${((Date.now() - began) / 1000).toFixed(0)} s.` : `Broken. Again: npm run fuzz -- --seed ${seed} --inputs ${inputs}`);
process.exitCode = held ? 0 : 1;
