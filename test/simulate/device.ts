import type { MessageStep, PausePoint } from "../../src/protocol/entities.js";
import { memoryStorage } from "../../src/web/sync/outbox.js";
import type { Environment } from "../../src/web/sync/connection.js";
import { ConversationStore, type Answer } from "../../src/web/sync/store.js";
import { hold } from "./invariants.js";
import { ID, type Platform } from "./platform.js";
import type { Random } from "./random.js";
import type { Owner } from "./scheduler.js";
import { Wire } from "./wire.js";

type Change = Parameters<Parameters<Environment["onChange"]>[0]>[0];

/** One browser profile of one person: the real sync code of the web app, on a network that breaks. */
export class SimulatedDevice {
  store!: ConversationStore;
  owner!: Owner;
  #wire: Wire | null = null;
  #online = true;
  #visible: boolean;
  readonly #storage = memoryStorage();
  #listener: ((what: Change) => void) | null = null;
  /** Cards that it has shown as decided, since it was loaded. */
  #final = new Map<string, string>();

  constructor(
    readonly person: string,
    readonly name: string,
    private readonly platform: Platform,
    private readonly random: Random,
    private readonly watched: (check: () => void) => void,
  ) {
    this.#visible = random.chance(0.2);
    this.load();
  }

  /** Has everything that it was told, and its own commands are answered. */
  get settled(): boolean {
    const { status, unacknowledged } = this.store.getSnapshot();
    return status === "live" && unacknowledged.length === 0;
  }

  /** The page is opened: what was kept of it is there, and it connects. */
  load(): void {
    const owner: Owner = { kind: "device", alive: true };
    this.owner = owner;
    this.#final = new Map();
    const environment: Environment = {
      online: () => this.#online,
      visible: () => this.#visible,
      onChange: (listener) => {
        this.#listener = listener;
        return () => (this.#listener = null);
      },
    };
    const { person, name, random, platform } = this;
    this.store = new ConversationStore({
      conversationId: ID,
      person: () => person,
      device: () => ({ id: name, name }),
      storage: this.#storage,
      environment,
      open: () => (this.#wire = new Wire(platform, person, owner, () => this.watched(() => this.#cardsStayDecided()))),
      random: () => random.next(),
    });
    const before = platform.scheduler.owner;
    platform.scheduler.owner = owner;
    this.store.start();
    platform.scheduler.owner = before;
  }

  /** The page is closed, and nothing of it goes on. */
  leave(): void {
    this.store.stop();
    this.platform.scheduler.kill(this.owner);
  }

  get away(): boolean {
    return !this.owner.alive;
  }

  setOnline(online: boolean): void {
    if (this.#online === online) return;
    this.#online = online;
    this.#listener?.(online ? "online" : "offline");
  }

  setVisible(visible: boolean): void {
    this.#visible = visible;
    this.#listener?.(visible ? "shown" : "hidden");
  }

  get pending(): PausePoint[] {
    return [...this.store.getSnapshot().sync.pausePoints.values()].filter(({ state }) => state === "pending");
  }

  decide(card: PausePoint): string {
    const answer = answerTo(card, this.random);
    this.store.decide(card, answer);
    return `decides ${card.id}: ${JSON.stringify(answer)}`;
  }

  /** What somebody does on it, by what it shows. Says what that was. */
  act(): string {
    const { store, random } = this;
    const { sync } = store.getSnapshot();
    const { pending } = this;
    if (pending.length > 0 && random.chance(0.6)) return this.decide(random.pick(pending));
    const withdraw = random.chance(0.3);
    switch (random.int(16)) {
      case 0:
        if (sync.run && random.chance(0.5)) store.cancel(sync.run.runId);
        return "cancels";
      case 1:
        this.setOnline(!this.#online);
        return this.#online ? "is online" : "is offline";
      case 2:
        this.leave();
        if (random.chance(0.7)) this.load();
        return this.away ? "is closed" : "is loaded again";
      case 3:
        this.setVisible(!this.#visible);
        return this.#visible ? "is shown" : "is hidden";
      case 4:
      case 5:
        return this.#branch([...sync.steps.values()], withdraw);
      case 6:
        this.#wire?.break(random.chance(0.5));
        return "loses its socket";
      case 7: {
        // A card that it has seen decided, or has never seen change.
        const cards = [...sync.pausePoints.values()];
        return cards.length > 0 ? this.decide(random.pick(cards)) : "does nothing";
      }
      default:
        store.send("a text", withdraw);
        return `sends a text${withdraw ? ", withdrawing" : ""}`;
    }
  }

  #branch(messages: MessageStep[], withdraw: boolean): string {
    if (messages.length === 0) return "does nothing";
    const { messageId, parentId } = this.random.pick(messages);
    const kind = this.random.pick(["edit", "regenerate", "head"] as const);
    if (kind === "edit") this.store.edit(parentId, "another text");
    // The page never withdraws with these, and other clients may.
    else if (withdraw) this.#wire?.send(JSON.stringify({ type: kind, opId: crypto.randomUUID(), messageId, withdraw }));
    else if (kind === "regenerate") this.store.regenerate(messageId);
    else this.store.choose(messageId);
    return `${kind} at ${kind === "edit" ? parentId : messageId}${withdraw ? ", withdrawing" : ""}`;
  }

  /** A card that was shown here as decided is never shown otherwise. */
  #cardsStayDecided(): void {
    for (const { id, state } of this.store.getSnapshot().sync.pausePoints.values()) {
      const known = this.#final.get(id);
      hold("H3", known === undefined || known === state, () => `${this.name} showed card ${id} as ${known}, and shows it as ${state}`);
      if (state !== "pending") this.#final.set(id, state);
    }
  }

  /** S1, S3: shows what a device shows that has just come. */
  showsAs(fresh: SimulatedDevice): void {
    const [own, other] = [this.store.getSnapshot().sync, fresh.store.getSnapshot().sync];
    hold("S2", own.seq === other.seq && own.epoch === other.epoch, () => `${this.name} is at ${own.seq}, a fresh device at ${other.seq}`);
    const same = (what: string, one: unknown, two: unknown): void =>
      hold("S3", JSON.stringify(one) === JSON.stringify(two), () => `${this.name} shows ${what} as ${JSON.stringify(one)}, a fresh device as ${JSON.stringify(two)}`);
    same("the run", own.run, other.run);
    same("the conversation", own.conversation, other.conversation);
    same("live text", own.live, other.live);
    for (const [id, card] of other.pausePoints) if (own.pausePoints.has(id)) same(`card ${id}`, own.pausePoints.get(id), card);
    for (const [key, step] of other.steps) if (own.steps.has(key)) same(`step ${key}`, own.steps.get(key), step);
    for (const { id } of other.pausePoints.values())
      hold("S1", own.pausePoints.get(id)?.state !== undefined || !fresh.pending.some((card) => card.id === id), () => `${this.name} does not show the pending card ${id}`);
    // It may hold what is further up than a fresh device's first page; never something as pending that is not.
    for (const { id } of this.pending) hold("S1", other.pausePoints.get(id)?.state === "pending", () => `${this.name} shows card ${id} as pending, and it is not`);
  }
}

/** An answer that somebody may give to a card, sometimes one that it does not take. */
export function answerTo(card: Pick<PausePoint, "kind" | "forPerson">, random: Random): Answer {
  if (random.chance(0.25)) return { decision: "reject", reply: "because" };
  if (card.forPerson !== null) return { decision: "approve", payloadOverride: { latitude: random.chance(0.2) ? 1000 : 1, longitude: 2, accuracyMeters: 3 } };
  if (card.kind === "recovery") return { decision: "approve", choice: random.pick(["retry", "happened", "did_not_happen"]) };
  if (card.kind === "choice") return { decision: "approve", choice: random.pick(["a", "b", "c"]) };
  return { decision: "approve", reply: "because", ...(random.chance(0.3) ? { payloadOverride: { amount: random.pick([1, 2, 60, 500]) } } : {}) };
}
