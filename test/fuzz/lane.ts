import { codeOf, mayChange, Violation } from "./judge.js";
import { OPENING, type Input } from "./honest.js";
import { asPerson, at } from "./inputs.js";
import { Line } from "./wire.js";

/** Inputs between two looks at everything that a client can see. */
export const BATCH = 25;
/** A socket sends two frames an input, of 200 that may come at once. */
const MOST_ON_A_SOCKET = 80;
const MOST_TAKEN = 16;

const NOBODY = `c_${"0".repeat(32)}`;

/** One conversation on a running server, and who throws things at it: one input after the other. */
export class Lane {
  readonly tally = { http: 0, socket: 0, "chat socket": 0, taken: 0 };
  #id = "";
  #taken = 0;
  #probes = 0;
  #closing = false;
  #witness: Line | null = null;
  #lines = new Map<string, { line: Line; used: number }>();

  constructor(private readonly url: string) {}

  /** Throws when an input did what none may, or when a batch in which all were refused has changed something. */
  async feed(batch: Input[]): Promise<void> {
    if (this.#id === "" || this.#taken >= MOST_TAKEN) await this.#anew();
    const before = await this.#seen();
    const heard = this.#witness?.frames.length ?? 0;
    let taken = 0;
    // Deleting, removing a member and reindexing close sockets, as they say.
    this.#closing = batch.some(isClosing);
    for (const input of batch) {
      this.tally[input.entry] += 1;
      if (!(await this.#throw(at(input, this.#id)))) continue;
      taken += 1;
      if (isClosing(input)) this.#taken = MOST_TAKEN;
    }
    this.tally.taken += taken;
    this.#taken += taken;
    if (taken > 0) {
      if (this.#witness?.closed !== null && !this.#closing) throw new Violation(`Another device was closed with ${this.#witness?.closed}.`);
      return;
    }
    if (this.#witness?.closed !== null) throw new Violation(`All were refused, and another device was closed with ${this.#witness?.closed}.`);
    const told = this.#witness.frames.slice(heard).find(({ type }) => type !== "presence");
    if (told) throw new Violation(`All were refused, and another device was told ${JSON.stringify(told).slice(0, 300)}`);
    const after = await this.#seen();
    if (after !== before) throw new Violation(`All were refused, and what is seen changed from\n${before}\nto\n${after}`);
  }

  end(): void {
    for (const { line } of this.#lines.values()) line.close();
    this.#witness?.close();
    this.#lines = new Map();
  }

  #throw(input: Input): Promise<boolean> {
    if (input.entry === "http") return this.#request(input);
    return input.entry === "socket" ? this.#frame(input) : this.#chatFrame(input);
  }

  async #request({ person, method, path, headers, text }: Input): Promise<boolean> {
    const reads = method === "GET" || method === "HEAD";
    // Node's client makes no request that asks for another protocol.
    const { upgrade: _, ...sent } = headers;
    const response = await fetch(this.url + path, { method, redirect: "manual", headers: { ...asPerson(person), ...sent }, ...(reads ? {} : { body: text }) });
    const said = await response.text();
    if (response.status >= 500) throw new Violation(`${method} ${path} answered ${response.status}: ${said.slice(0, 500)}`);
    return response.status < 400 ? !reads : mayChange(codeOf(said));
  }

  async #frame({ person, text }: Input): Promise<boolean> {
    const line = await this.#line(person, `/api/conversations/${this.#id}/socket`);
    if (!line) return false;
    const before = line.frames.length;
    const probe = `probe-${(this.#probes += 1)}`;
    line.send(text);
    line.send(JSON.stringify({ type: "older", opId: probe, before: "m0" }));
    await line.until(() => line.frames.slice(before).some(({ opId }) => opId === probe));
    if (line.closed === 1011 && !this.#closing) throw new Violation("The socket was closed with 1011.");
    return line.frames.slice(before).some(({ type, status, code }) => type === "ack" && (status === "applied" || mayChange(code)));
  }

  async #chatFrame({ person, text }: Input): Promise<boolean> {
    const line = await this.#line(person, "/api/chat/socket");
    if (!line) return false;
    const before = line.frames.length;
    const probe = `probe-${(this.#probes += 1)}`;
    line.send(text);
    const ask = { type: "send", requestId: probe, id: NOBODY, headers: {}, messages: [{ id: "u1", role: "user", parts: [{ type: "text", text: "x" }] }] };
    line.send(JSON.stringify(ask));
    const since = (): Line["frames"] => line.frames.slice(before);
    await line.until(() => since().some(({ requestId }) => requestId === probe));
    if (line.closed === 1011 && !this.#closing) throw new Violation("The chat's socket was closed with 1011.");
    const failed = since().find((frame) => JSON.stringify(frame).includes('\\"code\\":\\"internal\\"'));
    if (failed) throw new Violation(`The chat's socket answered ${JSON.stringify(failed)}`);
    const asked = requestIdOf(text);
    // A request that was not refused by now may be under way, and change something.
    const refused = line.closed !== null || since().some(({ type, requestId }) => requestId === asked && type === "error");
    return !refused && /"type":"send"/.test(text);
  }

  /** A socket of this person at this address, said hello on; null when they get none. */
  async #line(person: string, path: string): Promise<Line | null> {
    const key = `${person} ${path}`;
    const known = this.#lines.get(key);
    if (known && known.line.closed === null && known.used < MOST_ON_A_SOCKET) {
      known.used += 1;
      return known.line;
    }
    known?.line.close();
    const line = new Line(this.url, path, person);
    if (!(await line.open())) return null;
    if (path.endsWith("/chat/socket")) {
      this.#lines.set(key, { line, used: 1 });
      return line;
    }
    line.send(JSON.stringify({ type: "hello", protocol: 1, device: { id: `${person}-fuzzer`, name: "fuzzer" } }));
    await line.until(() => line.frames.some(({ type }) => type === "welcome"));
    if (line.closed !== null) return null;
    this.#lines.set(key, { line, used: 1 });
    return line;
  }

  async #api(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(this.url + path, { method, headers: asPerson("ana"), ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    const text = await response.text();
    if (!response.ok && response.status !== 404) throw new Violation(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
    return response.headers.get("content-type")?.includes("json") ? (JSON.parse(text) as unknown) : text;
  }

  /** The conversation at rest, as its owner is shown it. */
  async #seen(): Promise<string> {
    for (;;) {
      const conversation = (await this.#api("GET", `/api/conversations/${this.#id}`)) as { run?: { status: string } };
      if (conversation.run?.status === "running") continue;
      const cards = [1, 2, 3].map((n) => this.#api("GET", `/api/approvals/${this.#id}.${n}`));
      return JSON.stringify([conversation, await this.#api("GET", `/api/conversations/${this.#id}/messages`), ...(await Promise.all(cards))]);
    }
  }

  async #anew(): Promise<void> {
    this.end();
    this.#id = ((await this.#api("POST", "/api/conversations", {})) as { id: string }).id;
    this.#taken = 0;
    for (const [person, role] of Object.entries({ ben: "approver", vic: "viewer" })) await this.#api("PUT", `/api/conversations/${this.#id}/members/${person}`, { role });
    await this.#api("POST", "/api/chat", { id: this.#id, messages: [{ id: "u1", role: "user", parts: [{ type: "text", text: OPENING }] }] });
    this.#witness = new Line(this.url, `/api/conversations/${this.#id}/socket`, "ben");
    await this.#witness.open();
    this.#witness.send(JSON.stringify({ type: "hello", protocol: 1, device: { id: "witness", name: "witness" } }));
    await this.#witness.until(() => this.#witness?.frames.some(({ type }) => type === "welcome") === true);
  }
}

const isClosing = ({ method, path }: Input): boolean => method === "DELETE" || path.includes("/reindex");

function requestIdOf(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { requestId?: string }).requestId;
  } catch {
    return undefined;
  }
}
