import type { Decision } from "../../protocol/commands.js";
import type { Device, PausePoint } from "../../protocol/entities.js";
import type { Ack, ClientFrame, PROTOCOL, ServerFrame } from "../../protocol/frames.js";
import { Connection, type ConnectionStatus, type Environment, type SocketLike } from "./connection.js";
import { Outbox, type Command, type Kept, type StorageLike } from "./outbox.js";
import { applyFrame, emptyState, withPausePoint, type SyncState } from "./state.js";

const protocol: typeof PROTOCOL = 1;

/** What a person answers to a card. */
export type Answer = Pick<Decision, "decision" | "payloadOverride" | "choice" | "reply">;

/** How the server answered a decision of this device, when that is worth saying on the card. */
export interface DecisionNote {
  status: "conflict" | "rejected";
  code: string | null;
  message: string;
  answer: Answer;
}

/** A text that the server refused. It is shown with the reason, so that no words are lost. */
export interface RefusedText {
  opId: string;
  text: string;
  message: string;
}

export interface Snapshot {
  sync: SyncState;
  status: ConnectionStatus;
  closeCode: number;
  /** Commands without an answer yet. */
  unacknowledged: Kept[];
  notes: ReadonlyMap<string, DecisionNote>;
  refused: RefusedText[];
  loadingOlder: boolean;
  /** The newest complaint of the server that belongs to nothing else on the page. */
  error: string | null;
}

export interface StoreOptions {
  conversationId: string;
  /** Who uses this page, as far as is known before the server has said it. */
  person(): string | null;
  device: () => Device;
  storage: StorageLike;
  environment: Environment;
  open(): SocketLike;
  random?: () => number;
}

/** One conversation on this device: its state, its socket, and the commands that are on their way. */
export class ConversationStore {
  #snapshot: Snapshot;
  readonly #outbox: Outbox;
  readonly #connection: Connection;
  readonly #listeners = new Set<() => void>();
  #olderOp: string | null = null;

  constructor(private readonly options: StoreOptions) {
    this.#outbox = new Outbox(options.conversationId, options.storage);
    this.#snapshot = {
      sync: emptyState,
      status: "connecting",
      closeCode: 0,
      unacknowledged: this.#outbox.list(),
      notes: new Map(),
      refused: [],
      loadingOlder: false,
      error: null,
    };
    this.#connection = new Connection({
      open: options.open,
      environment: options.environment,
      hello: () => this.#hello(),
      seen: () => ({ n: this.#snapshot.sync.live?.n ?? 0, seq: this.#snapshot.sync.seq }),
      onFrame: (frame) => this.#take(frame),
      onLive: () => this.#sendAgain(),
      onStatus: (status, closeCode) => this.#connectionChanged(status, closeCode),
      ...(options.random && { random: options.random }),
    });
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly getSnapshot = (): Snapshot => this.#snapshot;

  start(): void {
    this.#connection.start();
  }

  stop(): void {
    this.#connection.stop();
  }

  /** Now, by the server's clock. */
  now(): number {
    return Date.now() + this.#snapshot.sync.clockOffset;
  }

  /** Sends a person's text. While a run is live the server queues it; it never decides anything. */
  send(text: string, withdraw = false): void {
    this.#give({ type: "send", opId: randomId(), messageId: `u_${randomId()}`, text, ...(withdraw && { withdraw }) });
  }

  /** Writes a text beside one that was sent before: a new branch begins there (H22). */
  edit(parentId: string | null, text: string): void {
    this.#give({ type: "send", opId: randomId(), messageId: `u_${randomId()}`, text, parentId });
  }

  /** Has the agent answer once more, beside the answer that is there. */
  regenerate(messageId: string): void {
    this.#give({ type: "regenerate", opId: randomId(), messageId });
  }

  /** Goes to the branch of a message, on every device. */
  choose(messageId: string): void {
    this.#give({ type: "head", opId: randomId(), messageId });
  }

  /** Answers a card. A second answer to it is not taken while the first has no answer. */
  decide(pausePoint: PausePoint, answer: Answer): void {
    if (this.unansweredDecision(pausePoint.id)) return;
    this.#forgetNote(pausePoint.id);
    this.#give({ type: "decide", opId: randomId(), pausePointId: pausePoint.id, version: pausePoint.version, ...answer });
  }

  cancel(runId: string): void {
    const asked = this.#outbox.list().some(({ command }) => command.type === "cancel" && command.runId === runId);
    if (!asked) this.#give({ type: "cancel", opId: randomId(), runId });
  }

  unansweredDecision(pausePointId: string): Kept | undefined {
    return this.#outbox.list().find(({ command }) => command.type === "decide" && command.pausePointId === pausePointId);
  }

  /** Tries a kept command once more, with the same id. */
  sendAgain(opId: string): void {
    const kept = this.#outbox.get(opId);
    if (kept && !this.#connection.send(kept.command)) this.#connection.reconnectNow();
  }

  /** Stops sending a command that has no answer. If it has arrived all the same, the server's state will say so. */
  takeBack(opId: string): void {
    this.#outbox.remove(opId);
    this.#set({ unacknowledged: this.#outbox.list() });
  }

  dismissRefused(opId: string): void {
    this.#set({ refused: this.#snapshot.refused.filter((text) => text.opId !== opId) });
  }

  dismissError(): void {
    this.#set({ error: null });
  }

  loadOlder(): void {
    const { sync, loadingOlder } = this.#snapshot;
    const oldest = [...sync.steps.values()].reduce<{ messageId: string; position: number } | null>(
      (first, step) => (!first || step.position < first.position ? step : first),
      null,
    );
    if (loadingOlder || !sync.hasOlder || !oldest) return;
    const opId = randomId();
    if (this.#connection.send({ type: "older", opId, before: oldest.messageId })) {
      this.#olderOp = opId;
      this.#set({ loadingOlder: true });
    }
  }

  /** Takes in a card that was fetched because its frame left out what is large. */
  putPausePoint(pausePoint: PausePoint): void {
    this.#set({ sync: withPausePoint(this.#snapshot.sync, pausePoint) });
  }

  reconnectNow(): void {
    this.#connection.reconnectNow();
  }

  #hello(): ClientFrame {
    const { epoch, seq } = this.#snapshot.sync;
    return { type: "hello", protocol, ...(epoch !== null && { epoch, seq }), device: this.options.device() };
  }

  #give(command: Command): void {
    this.#outbox.add({ command, person: this.#person(), at: this.#nextTime() });
    this.#set({ unacknowledged: this.#outbox.list() });
    this.#connection.send(command);
  }

  // Two commands of one millisecond still have an order.
  #nextTime(): number {
    const newest = this.#outbox.list().at(-1)?.at ?? 0;
    return Math.max(Date.now(), newest + 1);
  }

  #person(): string | null {
    return this.#snapshot.sync.you?.person ?? this.options.person();
  }

  #sendAgain(): void {
    const person = this.#snapshot.sync.you?.person ?? null;
    for (const { command, person: giver } of this.#outbox.list()) {
      if (giver === null || giver === person) this.#connection.send(command);
    }
  }

  #take(frame: ServerFrame): void {
    const { state, resync } = applyFrame(this.#snapshot.sync, frame, Date.now());
    this.#set({ sync: state });
    if (resync) this.#connection.resync();
    if (frame.type === "ack") this.#acknowledged(frame);
    else if (frame.type === "page" && frame.opId === this.#olderOp) this.#set({ loadingOlder: false });
    else if (frame.type === "error") this.#set({ error: frame.message });
  }

  #acknowledged(ack: Ack): void {
    if (ack.opId === this.#olderOp) this.#set({ loadingOlder: false });
    const kept = this.#outbox.remove(ack.opId);
    this.#set({ unacknowledged: this.#outbox.list() });
    if (!kept || ack.status === "applied" || ack.status === "duplicate") return;
    const message = ack.message ?? "The server refused it.";
    const { command } = kept;
    switch (command.type) {
      case "send":
        this.#set({ refused: [...this.#snapshot.refused, { opId: ack.opId, text: command.text, message }] });
        return;
      case "decide": {
        const { decision, payloadOverride, choice, reply } = command;
        const answer: Answer = {
          decision,
          ...(payloadOverride !== undefined && { payloadOverride }),
          ...(choice !== undefined && { choice }),
          ...(reply !== undefined && { reply }),
        };
        const notes = new Map(this.#snapshot.notes);
        notes.set(command.pausePointId, { status: ack.status, code: ack.code ?? null, message, answer });
        this.#set({ notes });
        return;
      }
      case "cancel":
      case "regenerate":
      case "head":
        this.#set({ error: message });
    }
  }

  #forgetNote(pausePointId: string): void {
    const notes = new Map(this.#snapshot.notes);
    if (notes.delete(pausePointId)) this.#set({ notes });
  }

  #connectionChanged(status: ConnectionStatus, closeCode: number): void {
    this.#set({ status, closeCode, loadingOlder: false });
  }

  #set(part: Partial<Snapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...part };
    for (const listener of this.#listeners) listener();
  }
}

const randomId = (): string => crypto.randomUUID();
