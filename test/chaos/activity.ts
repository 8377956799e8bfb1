import type { PausePoint } from "../../src/protocol/entities.js";
import type { Random } from "../simulate/random.js";
import { ledgerOf } from "./check.js";
import { isShort, isShortCard } from "./short.js";
import { pendingOf, type Device, type Talk, type World } from "./world.js";

// What people do, by the seed. A request over HTTP whose server dies is lost, as it is for a person.

const TARGETS = ["savings", "payroll"];
const TURNS = 6;
const MOST_TALKS = 3;
/** What only a question brings about that nobody answers, and what only an approved call does. */
const UNANSWERED: ReadonlySet<string | null> = new Set(["expire", "alarm"]);
const OFTEN = ["rename", "member", "head", "regenerate", "reindex"];
const SPECIAL = new Set([...OFTEN, "members", "delete", "cancel", "give_up"]);
const RUN: ReadonlySet<string | null> = new Set(["execute_transfer", "wire", "transfers", "give_up"]);

/** One thing that somebody does. `wanted` names the transaction, tool or table that is to be brought about, when one is. */
export async function act(world: World, random: Random, wanted: string | null): Promise<void> {
  const open = world.talks.filter(({ deleted }) => !deleted);
  if (open.length < MOST_TALKS || wanted === "create") return void (await world.converse().catch(() => {}));
  const talk = random.pick(open);
  const device = random.pick(talk.devices);
  if (wanted !== null && SPECIAL.has(wanted) && random.chance(0.5)) return special(world, random, talk, wanted);
  if (talk.turns >= TURNS && random.chance(0.3)) return special(world, random, talk, "delete");
  if (!device.joined || random.chance(0.05)) return joinOrLeave(world, device);
  const { sync } = device.store.getSnapshot();
  const cards = pendingOf(device);
  if (UNANSWERED.has(wanted) && cards.some(isShortCard)) return;
  if (cards.length > 0 && random.chance(0.7)) return decide(world, random, talk, device, random.pick(cards), RUN.has(wanted));
  if (sync.run?.status === "running" && random.chance(0.1)) return device.store.cancel(sync.run.runId);
  if (cards.length > 0 && random.chance(0.5)) return device.store.send("Never mind, show the accounts", random.chance(0.5));
  if (random.chance(0.08)) return special(world, random, talk, random.pick(OFTEN));
  talk.turns += 1;
  world.tell(`${device.person} asks in ${talk.id}`);
  device.store.send(request(random, wanted));
}

function request(random: Random, wanted: string | null): string {
  const amount = 101 + random.int(200);
  const sum = UNANSWERED.has(wanted) ? amount - (amount % 3) + 3 : random.chance(0.2) && !isShort(amount) ? random.int(90) + 1 : amount;
  const [from, to] = ["operations", random.pick(TARGETS)];
  if (wanted === "give_up") return `use wire with ${JSON.stringify({ from, to, amount: 707, currency: "EUR" })}`;
  if (wanted === "wire" || (wanted !== "execute_transfer" && random.chance(0.4))) return `use wire with ${JSON.stringify({ from, to, amount: sum, currency: "EUR" })}`;
  const one = `Transfer ${sum} EUR from ${from} to ${to}`;
  return random.chance(0.3) ? `${one} and transfer ${110 + random.int(50)} EUR from ${from} to ${to}` : one;
}

function joinOrLeave(world: World, device: Device): void {
  device.joined = !device.joined;
  world.tell(`${device.name} ${device.joined ? "joins" : "leaves"}`);
  if (device.joined) device.store.start();
  else device.store.stop();
}

async function decide(world: World, random: Random, talk: Talk, device: Device, card: PausePoint, approved: boolean): Promise<void> {
  if (card.kind === "recovery") {
    const happened = await ledgerOf(world)
      .then(({ transfers }) => transfers.some(({ key }) => key.startsWith(`${talk.id}.${card.runId}.${card.stepIndex}.${card.toolCallId.split("-")[2]}#`)))
      .catch(() => null);
    if (happened === null) return;
    world.tell(`${device.person} says of ${card.id} that it ${happened ? "happened" : "did not happen"}`);
    return device.store.decide(card, { decision: "approve", choice: happened ? "happened" : random.pick(["did_not_happen", "retry"]) });
  }
  const edited = random.chance(0.3) ? { payloadOverride: { ...(card.payload as object), amount: 100 + random.int(90) } } : {};
  const answer = !approved && random.chance(0.25) ? { decision: "reject" as const } : { decision: "approve" as const, ...edited };
  world.tell(`${device.name} decides ${card.id}: ${JSON.stringify(answer)}`);
  device.store.decide(card, answer);
  if (approved || !random.chance(0.3)) return;
  // Another device decides the same card in the same moment.
  const other = talk.devices.find((one) => one !== device && one.joined);
  const same = other && pendingOf(other).find(({ id }) => id === card.id);
  if (other && same) other.store.decide(same, { decision: "reject" });
}

/** Brings about what chance alone would seldom do. */
async function special(world: World, random: Random, talk: Talk, wanted: string): Promise<void> {
  const path = `/api/conversations/${talk.id}`;
  const device = talk.devices.find(({ joined }) => joined);
  const { sync } = device?.store.getSnapshot() ?? {};
  const messages = [...(sync?.steps.values() ?? [])].filter(({ removed }) => !removed);
  world.tell(`${wanted} in ${talk.id}`);
  const ask = (method: string, path: string, body?: unknown): Promise<unknown> => world.api("ana", method, path, body).catch(() => null);
  switch (wanted) {
    case "rename":
      return void (await ask("PATCH", path, { title: `Talk ${random.int(1000)}` }));
    case "member":
    case "members":
      return void (await ask("PUT", `${path}/members/cleo`, { role: random.pick(["viewer", "approver"]) }));
    case "reindex":
      return void (await ask("POST", `${path}/reindex`));
    case "delete":
      for (const { store } of talk.devices) store.stop();
      talk.deleted = true;
      return void (await ask("DELETE", path));
    case "head":
      talk.branched = true;
      if (messages.length > 0) device?.store.choose(random.pick(messages).messageId);
      return;
    case "regenerate": {
      talk.branched = true;
      const answers = messages.filter(({ role }) => role === "assistant");
      if (answers.length > 0) device?.store.regenerate(random.pick(answers).messageId);
      return;
    }
    case "cancel":
      if (sync?.run && ["running", "suspended"].includes(sync.run.status)) device?.store.cancel(sync.run.runId);
      return;
    case "give_up":
      if (sync?.run?.status === "running" && messages.some(({ calls }) => calls.some(({ state }) => state === "started"))) device?.store.cancel(sync.run.runId);
      return;
  }
}
