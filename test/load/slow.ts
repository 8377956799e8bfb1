import { randomBytes, randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";
import { strict as assert } from "node:assert";
import type { Measure } from "../../bench/measure.ts";
import { newConversation, quiet } from "../../bench/servers.ts";
import { isRun, SocketDevice } from "../kit/socket-device.ts";
import { Talk } from "./conversations.ts";
import type { Server } from "./server.ts";
import { at } from "./window.ts";

// Devices that stop reading on a conversation that streams (S6): TCP sockets that are left as they are after their hello.

/** What a socket may be sent and not read, by the rule. */
const UNREAD_BYTES = 4 * 1024 * 1024;
/** A part under 16 KiB is sent whole. */
const TEXT_BYTES = 15 * 1024;
/** Texts that wait while an answer streams are told twice: when they come, and when the model gets them. */
const TEXTS = 40;
const CYCLES = 6;
/** What the runtime may hold for a socket beside what was sent, and what else may grow meanwhile. */
const BESIDE_BYTES = 1024 * 1024;
const ELSE_BYTES = 48 * 1024 * 1024;

/** A device that says hello and never reads again. */
class SilentDevice {
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  static async join(url: string, conversation: string): Promise<SilentDevice> {
    const { hostname, port, host } = new URL(url);
    const socket = connect(Number(port), hostname);
    const key = randomBytes(16).toString("base64");
    socket.write(
      `GET /api/conversations/${conversation}/socket HTTP/1.1\r\nHost: ${host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    );
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      socket.once("data", (data) => (String(data).startsWith("HTTP/1.1 101") ? resolve() : reject(new Error(String(data)))));
    });
    socket.pause();
    socket.write(masked(JSON.stringify({ type: "hello", protocol: 1, device: { id: randomUUID(), name: "silent" } })));
    return new SilentDevice(socket);
  }

  /** Reads at last what there is, and gives the code that it was closed with; null when it was not. */
  async closedWith(): Promise<number | null> {
    const chunks: Buffer[] = [];
    this.#socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    const ended = new Promise((resolve) => this.#socket.once("close", resolve));
    this.#socket.once("end", () => this.#socket.end());
    this.#socket.resume();
    // Who was not closed gets no end: what has come after this time is all there is.
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 10_000))]);
    this.#socket.destroy();
    return closeCodeIn(Buffer.concat(chunks));
  }
}

/** One text frame, as a client must send it. */
function masked(text: string): Buffer {
  const body = Buffer.from(text);
  assert(body.length < 126 * 256);
  const mask = randomBytes(4);
  const length = body.length < 126 ? Buffer.from([0x80 | body.length]) : Buffer.from([0xfe, body.length >> 8, body.length & 0xff]);
  return Buffer.concat([Buffer.from([0x81]), length, mask, body.map((byte: number, place: number) => byte ^ mask[place % 4]!)]);
}

/** Walks the server's frames, which are not masked, to one that closes. */
function closeCodeIn(bytes: Buffer): number | null {
  for (let place = 0; place + 2 <= bytes.length;) {
    const [opcode, short] = [bytes[place]! & 0x0f, bytes[place + 1]! & 0x7f];
    const head = short === 127 ? 10 : short === 126 ? 4 : 2;
    if (place + head > bytes.length) return null;
    const length = short === 127 ? Number(bytes.readBigUInt64BE(place + 2)) : short === 126 ? bytes.readUInt16BE(place + 2) : short;
    if (opcode === 8) return bytes.readUInt16BE(place + head);
    place += head + length;
  }
  return null;
}

/** Answers stream and texts come until the device that reads has been sent this much more. */
async function stream(url: string, id: string, reader: SocketDevice, bytes: number): Promise<void> {
  const enough = reader.bytes + bytes;
  while (reader.bytes < enough) {
    reader.say("2000 words");
    for (let text = 0; text < TEXTS; text += 1) reader.say(`1 words ${"x".repeat(TEXT_BYTES)}`);
    await reader.see(isRun("completed"));
    await quiet(url, id);
  }
}

/** The median from a decision to all devices of another conversation, in milliseconds. */
async function elsewhere(talk: Talk): Promise<number> {
  const times: number[] = [];
  for (let cycle = 0; cycle < CYCLES; cycle += 1) times.push((await talk.cycle()).decided);
  return at(times, 0.5);
}

export async function slowSockets(server: Server, count: number): Promise<Measure[]> {
  const { url } = server;
  const id = await newConversation(url);
  const [reader, other] = [await SocketDevice.join(url, id, "reader"), await Talk.open(url, 5)];
  await stream(url, id, reader, 1);
  const alone = await elsewhere(other);
  const before = server.memory();
  const silent = await Promise.all(Array.from({ length: count }, () => SilentDevice.join(url, id)));
  await stream(url, id, reader, UNREAD_BYTES * 1.1);
  const closed = server.memory() - before;
  const beside = await elsewhere(other);
  await stream(url, id, reader, UNREAD_BYTES * 1.1);
  const after = server.memory() - before;
  assert.equal(reader.closedWith, null, "the device that reads was closed");
  const codes = await Promise.all(silent.map((one) => one.closedWith()));
  reader.close();
  other.close();
  const MiB = 1024 * 1024;
  return [
    { measure: `${count} devices that never read: closed with 4429`, ours: codes.filter((code) => code === 4429).length, unit: "", target: count, least: true },
    { measure: "what workerd held more by then", ours: closed / MiB, unit: "MiB", target: (count * (UNREAD_BYTES + BESIDE_BYTES) + ELSE_BYTES) / MiB },
    { measure: "and what as much again added", ours: Math.max(0, after - closed) / MiB, unit: "MiB", target: ELSE_BYTES / MiB },
    { measure: "decision → all devices of another conversation, beside them against before", ours: beside, floor: alone, unit: "ms", target: 2 },
  ];
}
