import { isAnswerTo, isCard, isRun, SocketDevice } from "../test/kit/socket-device.ts";
import type { Cost } from "./count.ts";
import type { Measure } from "./measure.ts";
import { newConversation, quiet, startOurs } from "./servers.ts";

// What things cost in rows written and alarms set, counted by the storage and by D1 themselves. Rows written are the bill.

export async function costs(): Promise<Measure[]> {
  const server = await startOurs({ COUNT: "yes" });
  const cost = async (method = "GET"): Promise<Cost> => (await (await fetch(`${server.url}/bench/cost`, { method })).json()) as Cost;
  const rows = (measure: string, ours: number, target: number): Measure => ({ measure, ours, unit: "", target });
  try {
    await cost("DELETE");
    const first = await newConversation(server.url);
    await quiet(server.url, first);
    const measures = [rows("SQLite rows: create a conversation, schema included", (await cost()).rows, 40)];
    for (const words of [40, 400]) {
      const { conversation, device } = await fresh(server.url);
      await cost("DELETE");
      const answered = device.see(isAnswerTo(1));
      device.say(`${words} words`);
      await answered;
      await quiet(server.url, conversation);
      measures.push(rows(`SQLite rows: text turn of ${words} deltas`, (await cost()).rows, 10));
      device.close();
    }
    await cost("DELETE");
    const { conversation, device } = await fresh(server.url);
    const made = await cost();
    const [card, suspended] = [device.see(isCard("pending")), device.see(isRun("suspended"))];
    device.say("40 words, then transfer there");
    await Promise.all([card, suspended]);
    const answered = device.see(isAnswerTo(1));
    device.approve(`${conversation}.1`);
    await answered;
    await quiet(server.url, conversation);
    const cycle = await cost();
    device.close();
    // An alarm that the creation has set serves the cycle too, so alarms are counted from there.
    return [
      ...measures,
      rows("SQLite rows: approval cycle", cycle.rows - made.rows, 26),
      rows("alarms: approval cycle, creation included", cycle.alarms, 4),
      rows("D1 rows: approval cycle, transfer included", cycle.d1Rows - made.d1Rows, 16),
    ];
  } finally {
    await server.stop();
  }
}

async function fresh(url: string): Promise<{ conversation: string; device: SocketDevice }> {
  const conversation = await newConversation(url);
  const device = await SocketDevice.join(url, conversation, "laptop");
  await quiet(url, conversation);
  return { conversation, device };
}
