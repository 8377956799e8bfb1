import { join } from "node:path";
import { parseArgs } from "node:util";
import { STAND_IN, startOpenAiStandIn, type OpenAiStandIn } from "./stand-in/openai.ts";
import { TourDevice } from "./tour-device.ts";
import { ROOT, whenTold } from "./processes.ts";
import { startServer } from "./server.ts";

// `npm run tour`: one approval, end to end, on two real devices, told as it happens. Exit code 0 only if each
// step was seen. `--fault no-effect` runs it with a transfer tool that does nothing, and must fail.
// `--model openai-compatible/stand-in` runs it with a model that is asked over HTTP.

const USAGE = "Usage: npm run tour [-- --fault no-effect] [--model openai-compatible/stand-in]";
const FAULTS: Record<string, string> = { "no-effect": join(ROOT, "test/faults/no-effect.ts") };
/** A stand-in server on loopback, asked through the model's real provider over HTTP. */
const STAND_IN_MODEL = `openai-compatible/${STAND_IN}`;
const WORD_DELAY_MS = 15;

interface Account {
  id: string;
  name: string;
  currency: string;
  balanceMinor: number;
}

function readOptions(): { fault: string | undefined; model: string } {
  try {
    const { values } = parseArgs({ options: { fault: { type: "string" }, model: { type: "string", default: "demo" } } });
    const fault = values.fault === undefined ? undefined : FAULTS[values.fault];
    if ((values.fault === undefined || fault) && (values.model === "demo" || values.model === STAND_IN_MODEL)) return { fault, model: values.model };
  } catch {
    // Said below.
  }
  console.error(USAGE);
  process.exit(2);
}

const { fault, model } = readOptions();
// What was started goes with this process.
whenTold(() => process.exit(130));
const money = (minor: number): string => (minor / 100).toFixed(2);

console.log("Starting a server of its own, with an empty memory …");
const standIn = model === STAND_IN_MODEL ? await startOpenAiStandIn({ apiKey: "sk-tour", delayMs: WORD_DELAY_MS }) : null;
if (standIn) console.log(`The model is a stand-in at ${standIn.url}, asked over HTTP.`);
const server = await startServer({
  vars: { DEMO_DELAY_MS: String(WORD_DELAY_MS), MODEL: model, ...(standIn && { OPENAI_BASE_URL: standIn.url, OPENAI_API_KEY: "sk-tour" }) },
  ...(fault && { main: fault }),
});
let failed = false;
try {
  await tour(server.url);
  if (standIn) checkStandIn(standIn);
} catch (error) {
  failed = true;
  console.error(`\nThe tour failed: ${error instanceof Error ? error.message : String(error)}`);
} finally {
  await server.stop();
  await standIn?.close();
}
if (!failed) console.log("\nEach step was seen. That is one hold point.");
process.exit(failed ? 1 : 0);

/** The stand-in has answered two model calls, and had no fault to find with what it was sent. */
function checkStandIn({ requests, broken }: OpenAiStandIn): void {
  if (broken.length > 0) throw new Error(`The stand-in refused a request: ${broken.join("; ")}`);
  if (requests.length !== 2) throw new Error(`The stand-in answered ${requests.length} model calls, not 2.`);
  console.log(`\n7. The stand-in answered ${requests.length} model calls; each history kept its rules.`);
}

async function tour(url: string): Promise<void> {
  const balances = async (): Promise<Map<string, Account>> => {
    const { accounts } = (await (await fetch(`${url}/api/ledger`)).json()) as { accounts: Account[] };
    return new Map(accounts.map((account) => [account.id, account]));
  };
  const show = (accounts: Map<string, Account>): void => {
    for (const { name, balanceMinor, currency } of accounts.values()) console.log(`    ${name.padEnd(18)} ${money(balanceMinor).padStart(10)} ${currency}`);
  };

  const before = await balances();
  console.log("\n1. The ledger before:");
  show(before);

  const { id } = (await (await fetch(`${url}/api/conversations`, { method: "POST", body: "{}" })).json()) as { id: string };
  const [laptop, phone] = [await TourDevice.connect(url, id, "Laptop"), await TourDevice.connect(url, id, "Phone")];

  const text = "Transfer 250 EUR from operations to savings";
  console.log(`\n2. The laptop asks: “${text}”`);
  laptop.send({ type: "send", opId: crypto.randomUUID(), messageId: crypto.randomUUID(), text });

  const [card, onPhone] = await Promise.all([
    laptop.see("the card on the laptop", (device) => device.cardIn("pending")),
    phone.see("the card on the phone", (device) => device.cardIn("pending")),
  ]);
  if (card.id !== onPhone.id) throw new Error("The two devices show different cards.");
  console.log("\n3. The agent stops, and the same card is on both devices:");
  console.log(`    ${card.title}   (${card.risk} risk, ${card.action})`);
  console.log(`    ${JSON.stringify(card.payload)}`);
  if ((await balances()).get("savings")?.balanceMinor !== before.get("savings")?.balanceMinor) throw new Error("Money moved before anyone had approved.");
  console.log("    No money has moved.");

  console.log("\n4. The phone changes 250 to 50 and approves.");
  phone.send({ type: "decide", opId: crypto.randomUUID(), pausePointId: card.id, version: card.version, decision: "approve", payloadOverride: { ...card.payload, amount: 50 } });
  const decided = await laptop.see("the decision on the laptop", (device) => device.cardIn("approved"));
  if (decided.decidedDevice !== "Phone") throw new Error(`The laptop says that ${decided.decidedDevice} decided, not the phone.`);
  console.log(`    The laptop shows at once: approved by ${decided.decidedBy} on ${decided.decidedDevice}.`);

  const [there, here] = await Promise.all(
    [laptop, phone].map((device) => device.see(`the resumed answer on the ${device.name.toLowerCase()}`, (one) => (one.status === "completed" ? one.answer : undefined))),
  );
  if (!there || there !== here) throw new Error("The two devices show different answers.");
  if (!laptop.streamed || !phone.streamed) throw new Error("The answer did not stream on both devices.");
  console.log("\n5. The run goes on where it had stopped, and both devices read:");
  console.log(`    ${there}`);

  const after = await balances();
  console.log("\n6. The ledger after:");
  show(after);
  for (const [account, change] of [
    ["operations", -5000],
    ["savings", 5000],
  ] as const) {
    const moved = (after.get(account)?.balanceMinor ?? 0) - (before.get(account)?.balanceMinor ?? 0);
    if (moved !== change) throw new Error(`${account} changed by ${money(moved)} EUR, not by ${money(change)} EUR.`);
  }
  console.log("    50.00 EUR moved, once.");
  laptop.close();
  phone.close();
}
