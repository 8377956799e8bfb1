/** How long a step of the tour may take. */
const PATIENCE_MS = 20_000;

export interface TourCard {
  id: string;
  version: number;
  state: string;
  title: string;
  action: string;
  risk: string;
  payload: Record<string, unknown>;
  decidedBy: string | null;
  decidedDevice: string | null;
}

interface Frame {
  type: string;
  run?: { status: string } | null;
  messages?: { messageId: string; step: number; role: string; parts: { type: string; text?: string }[] }[];
  pausePoints?: TourCard[];
  status?: string;
  message?: string;
}

/** A device as the tour needs it: a socket, and what can be seen on it. */
export class TourDevice {
  readonly #cards = new Map<string, TourCard>();
  readonly #texts = new Map<string, string>();
  readonly #waiting = new Set<() => void>();
  #problem: string | null = null;
  status: string | null = null;
  /** Whether text came while it was being written. */
  streamed = false;

  readonly name: string;
  readonly #socket: WebSocket;

  private constructor(name: string, socket: WebSocket) {
    this.name = name;
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#take(JSON.parse(String(data)) as Frame));
    socket.addEventListener("close", ({ code, reason }) => this.#fail(`the ${name.toLowerCase()}'s socket was closed (${code} ${reason})`));
  }

  static async connect(url: string, conversation: string, name: string): Promise<TourDevice> {
    const socket = new WebSocket(`${url.replace("http", "ws")}/api/conversations/${conversation}/socket`);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", () => reject(new Error(`The ${name.toLowerCase()} could not connect.`)));
    });
    const device = new TourDevice(name, socket);
    device.send({ type: "hello", protocol: 1, device: { id: name, name } });
    return device;
  }

  send(frame: object): void {
    this.#socket.send(JSON.stringify(frame));
  }

  close(): void {
    this.#socket.close();
  }

  cardIn(state: string): TourCard | undefined {
    return [...this.#cards.values()].find((card) => card.state === state);
  }

  /** The text of the newest step of the agent. */
  get answer(): string | undefined {
    return [...this.#texts.values()].at(-1);
  }

  /** Waits until something can be seen here; throws with its name when it can't be in time. */
  async see<T>(what: string, look: (device: TourDevice) => T | undefined): Promise<T> {
    const giveUp = setTimeout(() => this.#fail(`${what} was not seen in ${PATIENCE_MS / 1000} seconds`), PATIENCE_MS);
    try {
      for (;;) {
        if (this.#problem) throw new Error(this.#problem);
        const seen = look(this);
        if (seen !== undefined) return seen;
        await new Promise<void>((resolve) => this.#waiting.add(resolve));
      }
    } finally {
      clearTimeout(giveUp);
    }
  }

  #take(frame: Frame): void {
    if (frame.type === "delta") this.streamed = true;
    if (frame.type === "ack" && frame.status !== "applied") this.#fail(`a command was not applied: ${frame.message}`);
    for (const card of frame.pausePoints ?? []) this.#cards.set(card.id, card);
    for (const step of frame.messages ?? []) {
      const text = step.parts.flatMap((part) => part.text ?? []).join("");
      if (step.role === "assistant" && text) this.#texts.set(`${step.messageId}:${step.step}`, text);
    }
    if (frame.run) this.status = frame.run.status;
    this.#wake();
  }

  #fail(problem: string): void {
    this.#problem ??= problem;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
