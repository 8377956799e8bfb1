import type { Call, MessageStep, PausePoint, Run } from "../../src/protocol/entities.js";
import { isShortCard } from "./short.js";
import { until, Violation, type Device, type Ledger, type Talk, type World } from "./world.js";

// What must hold after every kill, seen from outside: by fresh devices, by the devices that lived through it, and in D1.

const QUIET_MS = 60_000;
const SETTLED = new Set(["succeeded", "failed", "denied", "unknown"]);

/** Waits until nothing is under way: 60 seconds at most, or it is a violation. Returns how long it took, in milliseconds. */
export async function quiet(world: World): Promise<number> {
  const began = Date.now();
  let why = "";
  const rests = async (): Promise<boolean> => {
    for (const talk of world.talks.filter(({ deleted }) => !deleted)) {
      for (const device of talk.devices.filter(({ joined }) => joined)) {
        const { status, unacknowledged, sync } = device.store.getSnapshot();
        why = `${talk.id}, ${device.name}: ${status}, ${unacknowledged.length} commands without an answer, run ${sync.run?.status}`;
        if (status === "reconnecting") device.store.reconnectNow();
        if (status !== "live" || unacknowledged.length > 0 || sync.run?.status === "running") return false;
      }
    }
    // Where nobody is connected, the index is the first to show that a run was taken up again by the alarm alone.
    const { cards, conversations } = await ledgerOf(world);
    for (const { id, state } of conversations) {
      why = `${id} is ${state} in D1`;
      if (state === "running") return false;
    }
    for (const talk of world.talks.filter(({ deleted, devices }) => !deleted && devices.every(({ joined }) => !joined))) {
      const { run } = (await world.api("ana", "GET", `/api/conversations/${talk.id}`)).body as { run: Run | null };
      why = `${talk.id}, where nobody is: run ${run?.status}`;
      if (run?.status === "running") return false;
    }
    for (const card of shownCards(world)) {
      const there = cards.find(({ id }) => id === card.id);
      why = `${card.id} is ${card.state} (version ${card.version}), in D1 ${there?.state} (version ${there?.version})`;
      // A short question is about to end by itself.
      if (card.state === "pending" && isShortCard(card)) return false;
      if (!there || there.version !== card.version || there.state !== card.state) return false;
    }
    return true;
  };
  try {
    await until("everything is quiet", QUIET_MS, rests);
  } catch (error) {
    throw error instanceof Violation ? new Violation(`${error.message}: ${why}`) : error;
  }
  return Date.now() - began;
}

const shownCards = (world: World): PausePoint[] => world.devices().flatMap(({ joined, store }) => (joined ? [...store.getSnapshot().sync.pausePoints.values()] : []));

export const ledgerOf = async (world: World): Promise<Ledger> => (await world.api("ana", "GET", "/chaos/ledger")).body as Ledger;

/** Checks one quiet world. Every fault is written into it. */
export async function check(world: World): Promise<void> {
  const ledger = await ledgerOf(world);
  for (const { key, sum, entries } of ledger.entries) if (sum !== 0 || entries !== 2) world.break(`the ledger: ${key} has ${entries} entries that sum to ${sum}`);
  const expected = new Set<string>();
  for (const talk of world.talks.filter(({ deleted }) => !deleted)) await checkTalk(world, talk, ledger, expected);
  // A transcript shows one branch: where others were made, their calls are not in it.
  const alive = world.talks.filter(({ deleted, branched }) => !deleted && !branched).map(({ id }) => id);
  for (const { key } of ledger.transfers) {
    if (alive.some((id) => key.startsWith(`${id}.`)) && !expected.has(key)) world.break(`money moved under ${key}, which no call of the transcript has`);
  }
}

async function checkTalk(world: World, talk: Talk, ledger: Ledger, expected: Set<string>): Promise<void> {
  const auditor = world.device(talk.id, "ana", "auditor");
  auditor.store.start();
  await until(`a fresh device sees ${talk.id}`, 10_000, () => {
    const { status, sync } = auditor.store.getSnapshot();
    if (status === "live" && sync.hasOlder) auditor.store.loadOlder();
    return status === "live" && !sync.hasOlder;
  });
  const { sync } = auditor.store.getSnapshot();
  const steps = [...sync.steps.values()];
  for (const step of steps)
    for (const call of step.calls) {
      const moved = movedBy(ledger, talk, step, call);
      checkCall(world, call, moved, sync.run?.status ?? "completed");
      const approved = approvedMinor(sync.pausePoints.get(call.pausePointId ?? ""));
      for (const { key, amount } of moved) {
        expected.add(key);
        if (approved !== null && amount !== approved) world.break(`H6: ${approved} was approved, and ${amount} moved under ${key}`);
      }
    }
  if (sync.run?.status === "running") world.break(`${talk.id} is running after everything was quiet`);
  const pending = [...sync.pausePoints.values()].filter(({ state }) => state === "pending");
  if (sync.run?.status === "suspended" && pending.length === 0) world.break(`${talk.id} is suspended without a pending card`);
  for (const device of talk.branched ? [] : talk.devices) checkTexts(world, device, steps);
  for (const [id, state] of world.finals) {
    // A fresh device is shown the branch in use; D1 has the cards of all branches.
    const there = ledger.cards.find((card) => card.id === id);
    if (id.startsWith(`${talk.id}.`) && there?.state !== state) world.break(`H9: ${id} was shown as ${state}, and is ${there?.state} in D1`);
  }
  for (const device of talk.devices.filter(({ joined }) => joined)) {
    const own = device.store.getSnapshot().sync;
    for (const card of own.pausePoints.values()) {
      const fresh = sync.pausePoints.get(card.id);
      if (fresh && (fresh.state !== card.state || fresh.version !== card.version))
        world.break(`H9: ${card.id} is ${card.state} on ${device.name}, ${fresh.state} on a fresh device`);
    }
    if (own.seq !== sync.seq) world.break(`S2: ${device.name} is at ${own.seq} of ${talk.id}, a fresh device at ${sync.seq}`);
    for (const [key, fresh] of sync.steps) {
      const step = own.steps.get(key);
      if (step && JSON.stringify(fresh) !== JSON.stringify(step)) world.break(`S3: ${device.name} shows another step ${key.replace("\n", ".")} than a fresh device`);
    }
  }
  auditor.store.stop();
}

/** What was acknowledged is in the transcript (S5). */
function checkTexts(world: World, { name, store, texts }: Device, steps: MessageStep[]): void {
  const { unacknowledged, refused } = store.getSnapshot();
  const open = new Set([...unacknowledged.map(({ command }) => command.opId), ...refused.map(({ opId }) => opId)]);
  for (const [opId, messageId] of texts)
    if (!open.has(opId) && !steps.some((step) => step.messageId === messageId)) world.break(`S5: the text ${messageId} of ${name} was acknowledged and is not there`);
}

/** What a person approved is what ran (H6): cents, or null where no card says. */
function approvedMinor(card: PausePoint | undefined): number | null {
  if (card?.kind !== "approval" || card.state !== "approved") return null;
  return Math.round(((card.payloadOverride ?? card.payload) as { amount: number }).amount * 100);
}

/** The transfers of one call: one has its key, and a wire one for each time that it ran. */
function movedBy({ transfers }: Ledger, talk: Talk, step: MessageStep, { toolCallId }: Call): Ledger["transfers"] {
  const [, stepNumber = "", index = ""] = toolCallId.split("-");
  const key = `${talk.id}.${step.runId}.${stepNumber}.${index}`;
  return transfers.filter((transfer) => transfer.key === key || transfer.key.startsWith(`${key}#`));
}

function checkCall(world: World, call: Call, { length: moved }: Ledger["transfers"], run: string): void {
  if (call.tool !== "wire" && call.tool !== "execute_transfer") return;
  const said = `${call.tool} ${call.toolCallId} of ${call.pausePointId} is ${call.state} (${call.cause}, ${call.tries} tries) and moved money ${moved} times`;
  const known = call.cause === "interrupted" || call.state === "unknown";
  const holds = ((): boolean => {
    switch (call.state) {
      case "succeeded":
        return moved === 1;
      case "unknown":
        return moved <= 1;
      case "denied":
      case "proposed":
      case "ready":
        return moved === 0;
      case "failed":
        return call.cause === "timed_out" ? moved <= 1 : moved === 0;
      case "awaiting":
        return known ? moved <= 1 : moved === 0;
      case "started":
        return false;
    }
  })();
  if (!holds) world.break(said);
  if (run !== "running" && run !== "suspended" && !SETTLED.has(call.state)) world.break(`${said}, though its run has ended`);
}
