import { randomUUID } from "node:crypto";
import { allSee, isAnswerTo, isCard, isRun, SocketDevice } from "../test/kit/socket-device.ts";
import { median, type Measure } from "./measure.ts";
import { newConversation, post, quiet, startFloor, startOurs } from "./servers.ts";

// How long people wait, each against the floor: one row flipped in D1, and everybody told. Product and floor run side
// by side and are asked in turns, so that what else this machine does is the same for both.

/** Cycles of a round, after one that only warms up. */
const CYCLES = 5;

export interface Times {
  card: number;
  decided: number;
  answered: number;
}

/** One approval from the text to the end of the answer; milliseconds until the last device has seen it. */
export async function approvalCycle(devices: SocketDevice[], conversation: string, turn: number): Promise<Times> {
  const first = devices[0]!;
  const card = allSee(devices, isCard("pending"));
  const suspended = allSee(devices, isRun("suspended"));
  let at = performance.now();
  first.say(`40 words, then transfer ${turn % 2 ? "there" : "back"}`);
  const asked = (await card) - at;
  await suspended;
  const decided = allSee(devices, isCard("approved"));
  const answered = allSee(devices, isAnswerTo(turn));
  at = performance.now();
  first.approve(`${conversation}.${turn}`);
  return { card: asked, decided: (await decided) - at, answered: (await answered) - at };
}

async function oursOnce(url: string, count: number): Promise<() => Promise<Times>> {
  const conversation = await newConversation(url);
  const devices = await joined(count, (n) => SocketDevice.join(url, conversation, `device ${n}`));
  let turn = 0;
  return async () => {
    const times = await approvalCycle(devices, conversation, (turn += 1));
    await quiet(url, conversation);
    return times;
  };
}

async function floorOnce(url: string, count: number): Promise<() => Promise<number>> {
  const card = randomUUID();
  await post(`${url}/${card}`);
  const devices = await joined(count, () => SocketDevice.open(`${url}/${card}`));
  return async () => {
    const told = allSee(devices, (frame) => frame.includes('"state":"approved"'));
    const at = performance.now();
    devices[0]!.send({ card });
    return (await told) - at;
  };
}

/** Not all at once: a thousand handshakes in one moment are another measure. */
async function joined(count: number, join: (n: number) => Promise<SocketDevice>): Promise<SocketDevice[]> {
  const devices: SocketDevice[] = [];
  while (devices.length < count) devices.push(...(await Promise.all(Array.from({ length: Math.min(50, count - devices.length) }, (_, n) => join(devices.length + n)))));
  return devices;
}

async function round<Result>(cycle: () => Promise<Result>): Promise<Result[]> {
  await cycle();
  const results: Result[] = [];
  while (results.length < CYCLES) results.push(await cycle());
  return results;
}

export async function latencies(deviceCount: number, rounds: number): Promise<Measure[]> {
  const [ours, floor] = [await startOurs(), await startFloor()];
  try {
    const [product, least] = [await oursOnce(ours.url, deviceCount), await floorOnce(floor.url, deviceCount)];
    const times: Times[] = [];
    const floors: number[] = [];
    for (let n = 0; n < rounds; n += 1) {
      const cycles = await round(product);
      times.push({ card: median(cycles.map(({ card }) => card)), decided: median(cycles.map(({ decided }) => decided)), answered: median(cycles.map(({ answered }) => answered)) });
      floors.push(median(await round(least)));
    }
    const base = median(floors);
    const measure = (name: string, values: number[], target: number): Measure => ({ measure: name, ours: median(values), floor: base, unit: "ms", target });
    return [
      measure(
        `decision → all ${deviceCount} devices see it`,
        times.map(({ decided }) => decided),
        1.3,
      ),
      measure(
        `user message → card on all ${deviceCount} devices, 40 words before it`,
        times.map(({ card }) => card),
        4,
      ),
      measure(
        `decision → resumed answer of 40 words finished on all ${deviceCount} devices`,
        times.map(({ answered }) => answered),
        4.5,
      ),
    ];
  } finally {
    await Promise.all([ours.stop(), floor.stop()]);
  }
}
