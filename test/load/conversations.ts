import { approvalCycle, type Times } from "../../bench/latency.ts";
import { newConversation } from "../../bench/servers.ts";
import { SocketDevice } from "../kit/socket-device.ts";

const AT_ONCE = 8;

/** One conversation with its devices, whose cycles follow one another. */
export class Talk {
  turns = 0;
  readonly id: string;
  readonly devices: SocketDevice[];
  #last: Promise<unknown> = Promise.resolve();

  private constructor(id: string, devices: SocketDevice[]) {
    this.id = id;
    this.devices = devices;
  }

  static async open(url: string, devices: number): Promise<Talk> {
    const id = await newConversation(url);
    return new Talk(id, await Promise.all(Array.from({ length: devices }, (_, n) => SocketDevice.join(url, id, `device ${n}`))));
  }

  /** One approval, from the text to the end of the answer, after those that were begun before. */
  cycle(): Promise<Times> {
    const turn = (this.turns += 1);
    const cycle = this.#last.then(() => approvalCycle(this.devices, this.id, turn));
    this.#last = cycle.catch(() => {});
    return cycle;
  }

  close(): void {
    for (const device of this.devices) device.close();
  }
}

/** Does this for each, a few at a time. */
async function aFewAtATime<One, Made>(list: One[], make: (one: One, place: number) => Promise<Made>): Promise<Made[]> {
  const made: Made[] = [];
  for (let from = 0; from < list.length; from += AT_ONCE) made.push(...(await Promise.all(list.slice(from, from + AT_ONCE).map((one, place) => make(one, from + place)))));
  return made;
}

export const openTalks = (url: string, count: number, devices: number): Promise<Talk[]> =>
  aFewAtATime(
    Array.from({ length: count }, (_, n) => n),
    () => Talk.open(url, devices),
  );

/** Each has had its first cycle, and every other one a second: money goes there in one turn and back in the next, so that no account runs dry. */
export async function warmUp(talks: Talk[]): Promise<void> {
  await aFewAtATime(talks, async (talk, place) => {
    await talk.cycle();
    if (place % 2 === 1) await talk.cycle();
  });
}
