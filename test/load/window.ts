import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Times } from "../../bench/latency.ts";
import type { Random } from "../simulate/random.ts";
import type { Talk } from "./conversations.ts";
import type { Server } from "./server.ts";

// Cycles that come at a rate whether or not those before are done, as people do: where the server can't keep up they
// queue, and the times show it.

/** Before the window: what begins in this time is not counted, so that the rate has settled. */
const SETTLING_MS = 2_000;
/** More cycles under way than so many seconds of arrivals: it is not keeping up, and more would only take longer. */
const GIVEN_UP_S = 3;

export interface Window {
  /** Cycles a second that were asked for, and that were done in the window. */
  rate: number;
  done: number;
  /** 95 of 100 took at most this, in milliseconds: to the card, from the decision to all devices, to the end of the answer. */
  card: number;
  decided: number;
  answered: number;
  median: number;
  /** Cycles under way at its end. */
  underWay: number;
  /** Milliseconds of workerd's processor time for each cycle. */
  cpuPerCycle: number;
  /**
   * How much of one core was used: by the thread on which workerd runs everything, by the whole of workerd, and by this
   * process, the clients. `kept`: how much of the time that thread could have run, and others had the processor.
   */
  thread: number;
  kept: number;
  workerd: number;
  clients: number;
  /** 99 of 100 times this process was late by at most this, in milliseconds. */
  clientsLate: number;
}

export const at = (values: number[], share: number): number => values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

/** A window of steady arrivals, and the wait until what came in it is done. Throws when a cycle does not end as it must. */
export async function steadily(server: Server, talks: Talk[], rate: number, seconds: number, random: Random): Promise<Window> {
  const times: Times[] = [];
  const cycles: Promise<void>[] = [];
  let [underWay, next, counting, done] = [0, performance.now(), false, 0];
  const arrive = (): void => {
    const counted = counting;
    underWay += 1;
    const talk = talks[cycles.length % talks.length]!;
    cycles.push(
      talk.cycle().then((took) => {
        underWay -= 1;
        if (counting) done += 1;
        if (counted) times.push(took);
      }),
    );
  };
  const arrivals = async (until: number): Promise<void> => {
    while (next < until && underWay < rate * GIVEN_UP_S) {
      if (next > performance.now()) await sleep(next - performance.now());
      arrive();
      // Nobody waits for another's: the times between arrivals are as those of strangers.
      next += (-Math.log(1 - random.next()) / rate) * 1000;
    }
  };
  await arrivals(performance.now() + SETTLING_MS);
  counting = true;
  const late = monitorEventLoopDelay({ resolution: 5 });
  late.enable();
  const [began, cpu, own] = [performance.now(), server.cpu(), process.cpuUsage()];
  await arrivals(began + seconds * 1000);
  const took = (performance.now() - began) / 1000;
  const [after, ownAfter, left] = [server.cpu(), process.cpuUsage(own), underWay];
  counting = false;
  late.disable();
  await Promise.all(cycles);
  const of = (which: keyof Times): number[] => times.map((one) => one[which]);
  return {
    rate,
    done: done / took,
    card: at(of("card"), 0.95),
    decided: at(of("decided"), 0.95),
    answered: at(of("answered"), 0.95),
    median: at(of("decided"), 0.5),
    underWay: left,
    cpuPerCycle: ((after.all - cpu.all) * 1000) / done,
    thread: (after.thread - cpu.thread) / took,
    kept: (after.kept - cpu.kept) / took,
    workerd: (after.all - cpu.all) / took,
    clients: (ownAfter.user + ownAfter.system) / 1e6 / took,
    clientsLate: late.percentile(99) / 1e6,
  };
}
