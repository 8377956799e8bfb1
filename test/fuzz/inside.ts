import { runInDurableObject, SELF } from "cloudflare:test";
import { vi } from "vitest";
import type { ServerFrame } from "../../src/protocol/frames.js";
import { rows } from "../worker/hostile-doors.js";
import type { Conversation } from "../worker/entry.js";
import { until } from "../kit/until.js";
import { BASE, Device, newConversation, stubOf } from "../worker/kit.js";
import { OPENING, type Input } from "./honest.js";
import { asPerson, at } from "./inputs.js";
import { codeOf, fault, mayChange, Violation } from "./judge.js";

/** Inputs taken by one conversation before another takes its place, so that it stays what honest inputs are made for. */
const MOST_TAKEN = 16;
const MOST_FRAMES = 1500;

export interface Tally {
  inputs: number;
  /** Those that changed something, as they may. */
  taken: number;
}

/** The Worker beside this test: throws inputs at it one by one, and looks at every row after each. */
export class Inside {
  readonly tally: Tally = { inputs: 0, taken: 0 };
  /** The newest input. */
  current: Input | null = null;
  /** Why it was refused. */
  refusal: string | undefined;
  #id = "";
  #devices = new Map<string, Device>();
  #takenHere = 0;
  #framesHere = 0;
  #rows = "";
  #changes = 0;
  #now = Date.now();
  /** What left any socket since it was last asked. */
  #sent: { socket: WebSocket; text: string }[] = [];
  #logged: string[] = [];

  constructor() {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { send } = WebSocket.prototype;
    const sent = (socket: WebSocket, text: string): void => void this.#sent.push({ socket, text });
    vi.spyOn(WebSocket.prototype, "send").mockImplementation(function (this: WebSocket, data) {
      sent(this, typeof data === "string" ? data : "");
      return send.call(this, data);
    });
    for (const to of ["log", "warn", "error"] as const) vi.spyOn(console, to).mockImplementation((...line: unknown[]) => void this.#logged.push(line.map(String).join(" ")));
  }

  /**
   * Throws at an input that did what no input may. Frames of one socket that are refused are handled in one turn of the
   * object; says how many inputs it came to before one was taken.
   */
  async feed(raw: readonly Input[]): Promise<number> {
    const first = raw[0];
    if (!first) return 0;
    if (this.#id === "" || this.#takenHere >= MOST_TAKEN || this.#framesHere >= MOST_FRAMES) await this.anew();
    const handled = first.entry === "socket" ? await this.#frames(raw) : await this.#request(first);
    this.tally.inputs += handled;
    this.#framesHere += handled;
    const failed = fault(this.#logged, /./);
    if (failed) throw new Violation(`The log says: ${failed}`);
    this.#logged = [];
    return handled;
  }

  /** Frames of one person, as many as come one after the other, until one is taken. */
  async #frames(raw: readonly Input[]): Promise<number> {
    const person = raw[0]?.person ?? "";
    const others = raw.findIndex((input) => input.person !== person);
    const mine = others < 0 ? raw : raw.slice(0, others);
    const device = await this.#device(person);
    if (!device) return mine.length;
    let handled = 0;
    const took = await runInDurableObject(stubOf(this.#id), (object, state) => {
      const socket = state.getWebSockets().find((one) => one.readyState === WebSocket.OPEN && nameOf(one) === device.name);
      if (!socket) throw new Error(`${device.name} has no socket`);
      for (const input of mine) {
        handled += 1;
        this.current = input;
        // Not faster than one device may send.
        vi.setSystemTime((this.#now += 25));
        const applied = this.#frame(object, socket, at(input, this.#id).text, device.name);
        if (applied) return true;
        if (writesOf(state) !== this.#changes) break;
        if (socket.readyState !== WebSocket.OPEN) {
          this.#devices.delete(person);
          break;
        }
      }
      return false;
    });
    if (took) await this.#settle();
    else await this.#unchanged();
    return handled;
  }

  #frame(object: Conversation, socket: WebSocket, text: string, name: string): boolean {
    this.#sent = [];
    object.webSocketMessage(socket, text);
    const answers = this.#sent.filter((one) => one.socket === socket).map((one) => JSON.parse(one.text) as ServerFrame);
    // A hello may name another device: this test goes on knowing it by its first name.
    if (socket.readyState === WebSocket.OPEN) socket.serializeAttachment({ ...socket.deserializeAttachment(), device: { id: name, name } });
    const applied = answers.some((frame) => frame.type === "ack" && (frame.status === "applied" || mayChange(frame.code)));
    this.refusal = answers.flatMap((frame) =>
      frame.type === "error" || (frame.type === "ack" && frame.status !== "applied" && frame.status !== "duplicate") ? [frame.code ?? frame.type] : [],
    )[0];
    if (!applied) this.#toldNobody(socket);
    return applied;
  }

  async #request(raw: Input): Promise<number> {
    vi.setSystemTime((this.#now += 25));
    this.current = raw;
    const { person, method, path, headers, text } = at(raw, this.#id);
    this.#sent = [];
    const reads = method === "GET" || method === "HEAD";
    // There are no assets beside the Worker of this suite.
    const place = /^\/(api|healthz)\b/.test(new URL(BASE + path).pathname) || (path === "/auth/local" && method === "POST") ? path : "/api/nothing";
    const response = await SELF.fetch(BASE + place, { method, redirect: "manual", headers: { ...asPerson(person), ...headers }, ...(reads ? {} : { body: text }) });
    response.webSocket?.accept();
    response.webSocket?.close(1000, "");
    const said = await response.text();
    if (response.status >= 500) throw new Violation(`answered ${response.status}: ${said.slice(0, 500)}`);
    const took = response.status < 400 ? !reads : mayChange(codeOf(said));
    // What is gone, or is being told to D1 for the last time, is no place for the next input.
    if (took && method === "DELETE") this.#takenHere = MOST_TAKEN;
    this.refusal = response.status < 400 ? undefined : (codeOf(said) ?? String(response.status));
    if (took) await this.#settle();
    else {
      this.#toldNobody(null);
      await this.#unchanged();
    }
    return 1;
  }

  /** Nothing may have left for anybody but who asked. */
  #toldNobody(asker: WebSocket | null): void {
    const told = this.#sent.find(({ socket, text }) => socket !== asker && !text.startsWith('{"type":"presence"'));
    if (told) throw new Violation(`It was refused, and yet another device was told: ${told.text.slice(0, 300)}`);
  }

  /** No row may be another. That something was told to D1 is written down too, so rows are compared when anything was written. */
  async #unchanged(): Promise<void> {
    const changes = await this.#writes();
    if (changes === this.#changes) return;
    const now = await rows(this.#id);
    if (now !== this.#rows) throw new Violation(`It was refused, and yet it changed rows from\n${this.#rows}\nto\n${now}`);
    this.#changes = changes;
  }

  /** How many rows were ever written in this life of the object. */
  #writes = (): Promise<number> => runInDurableObject(stubOf(this.#id), (_, state) => writesOf(state));

  async #settle(): Promise<void> {
    this.#takenHere += 1;
    this.tally.taken += 1;
    await until(() => runInDurableObject(stubOf(this.#id), (object) => !(object as unknown as { engine: { busy: boolean } }).engine.busy));
    await this.#look();
  }

  async #look(): Promise<void> {
    this.#rows = await rows(this.#id);
    this.#changes = await this.#writes();
  }

  /** Begins with another conversation. */
  async anew(): Promise<void> {
    for (const device of this.#devices.values()) device.socket.close(1000, "");
    this.#devices = new Map();
    this.#id = await newConversation();
    const ana = await this.#device("ana");
    await ana?.say(OPENING, { messageId: "u1" });
    await ana?.rest("suspended");
    await this.#look();
    this.#takenHere = 0;
    this.#framesHere = 0;
  }

  async #device(person: string): Promise<Device | null> {
    // A test's own request can't carry such a name in this header; over the network a cookie does.
    if (!/^[\x20-\x7e]*$/.test(person)) return null;
    const known = this.#devices.get(person);
    if (known && known.closedWith === null) return known;
    const device = await Device.connect(this.#id, person, `${person}'s fuzzer`).catch(() => null);
    if (!device || device.closedWith !== null) return null;
    this.#devices.set(person, device);
    return device;
  }
}

const writesOf = (state: DurableObjectState): number => state.storage.sql.exec<{ n: number }>("SELECT total_changes() AS n").one().n;

const nameOf = (socket: WebSocket): string | undefined => (socket.deserializeAttachment() as { device?: { id: string } | null } | null)?.device?.id;
