import { control } from "../worker/entry.js";
import { Device, newConversation } from "../worker/kit.js";

/** An approved transfer, a rejected one, a text in the queue, and a run that waits for two answers at once: on ana's laptop. */
export async function suspendedLife(): Promise<{ id: string; laptop: Device }> {
  const id = await newConversation();
  const laptop = await Device.connect(id, "ana", "laptop");
  await laptop.say("Transfer 250 EUR from operations to savings", { messageId: "u-first", opId: "op-first" });
  await laptop.decide(await laptop.card(), "approve", { reply: "fine" });
  await laptop.rest("completed");
  await laptop.say("Transfer 300 EUR from operations to payroll");
  await laptop.decide(await laptop.card(), "reject", { reply: "not now" });
  await laptop.until(() => laptop.run?.runId === "r2" && laptop.run.status === "completed");
  await laptop.say("Transfer 120 EUR from operations to savings and let me choose between tea and coffee", { messageId: "u-last" });
  await laptop.until(() => [...laptop.cards.values()].filter(({ state }) => state === "pending").length === 2);
  await laptop.rest("suspended");
  await laptop.say("and then list the accounts", { messageId: "u-queued" });
  return { id, laptop };
}

/** A device that has heard an answer while it was written. */
export async function listening(): Promise<Device> {
  let heard = false;
  control.model = async function* () {
    yield { type: "text-start", id: "t" };
    yield { type: "text-delta", id: "t", delta: "Well" };
    while (!heard) await scheduler.wait(1);
    yield { type: "text-end", id: "t" };
  };
  const laptop = await Device.connect(await newConversation(), "ana", "laptop");
  await laptop.say("tell me");
  await laptop.until(() => laptop.frames.some(({ type }) => type === "delta"));
  heard = true;
  await laptop.rest("completed");
  control.model = null;
  return laptop;
}
