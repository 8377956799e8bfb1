import type { Measure } from "../../bench/measure.ts";
import { quiet } from "../../bench/servers.ts";
import { allSee, isAnswerTo, isCard, isRun, SocketDevice } from "../kit/socket-device.ts";
import { Talk } from "./conversations.ts";
import type { Server } from "./server.ts";
import { at } from "./window.ts";

// A long conversation against a short one, in turns, so that what else the machine does is the same for both.

const SHORT = 20;
const DEVICES = 5;
/** What a long conversation may take, compared with a short one. */
const MOST = 1.2;

interface Took {
  open: number;
  firstDelta: number;
  card: number;
  decided: number;
  answered: number;
}

/** A conversation of so many messages, each turn with its card, and the turn that comes next. */
async function grown(url: string, messages: number): Promise<Talk> {
  const talk = await Talk.open(url, DEVICES);
  await talk.cycle();
  await quiet(url, talk.id);
  const copies = messages / 2 - 1;
  const { ok } = await fetch(`${url}/load/grow/${talk.id}?copies=${copies}`);
  if (!ok) throw new Error("The conversation could not be made long.");
  talk.turns += copies;
  return talk;
}

async function once(url: string, talk: Talk): Promise<Took> {
  const { id, devices } = talk;
  const first = devices[0]!;
  let began = performance.now();
  const fresh = await SocketDevice.join(url, id, "fresh");
  const open = performance.now() - began;
  fresh.close();
  const turn = (talk.turns += 1);
  const [delta, card, suspended] = [first.see((frame) => frame.startsWith('{"type":"delta"')), allSee(devices, isCard("pending")), allSee(devices, isRun("suspended"))];
  began = performance.now();
  first.say(`40 words, then transfer ${turn % 2 ? "there" : "back"}`);
  const [firstDelta, shown] = [(await delta) - began, (await card) - began];
  await suspended;
  const [decided, answered] = [allSee(devices, isCard("approved")), allSee(devices, isAnswerTo(turn))];
  began = performance.now();
  first.approve(`${id}.${turn}`);
  const took = { open, firstDelta, card: shown, decided: (await decided) - began, answered: (await answered) - began };
  await quiet(url, id);
  return took;
}

export async function longAgainstShort(server: Server, messages: number, rounds: number): Promise<Measure[]> {
  const [long, short] = [await grown(server.url, messages), await grown(server.url, SHORT)];
  const times: { long: Took[]; short: Took[] } = { long: [], short: [] };
  // The first round only warms up.
  for (let round = 0; round <= rounds; round += 1) {
    const [one, other] = [await once(server.url, long), await once(server.url, short)];
    if (round === 0) continue;
    times.long.push(one);
    times.short.push(other);
  }
  for (const talk of [long, short]) talk.close();
  const measure = (name: string, which: keyof Took): Measure => ({
    measure: `${messages} messages against ${SHORT}: ${name}`,
    ours: at(
      times.long.map((took) => took[which]),
      0.5,
    ),
    floor: at(
      times.short.map((took) => took[which]),
      0.5,
    ),
    unit: "ms",
    target: MOST,
  });
  return [
    measure("open", "open"),
    measure("text → first delta", "firstDelta"),
    measure("text → card", "card"),
    measure("decision → all devices", "decided"),
    measure("decision → answer finished", "answered"),
  ];
}
