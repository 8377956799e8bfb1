import { loggable } from "../protocol/loggable.js";
import { DurableObject } from "cloudflare:workers";
import type { Decision } from "../protocol/commands.js";
import type { Conversation as ConversationEntity, MessageStep, PausePoint, Role, Run } from "../protocol/entities.js";
import { createConversation } from "../core/create.js";
import { messageNamed } from "../core/branches.js";
import { NOT_FOUND, rejected, type CommandOutcome } from "../core/command.js";
import { Engine } from "../core/engine.js";
import { hex, pausePointNumber } from "../core/ids.js";
import { Journal } from "../core/journal.js";
import type { Changes } from "../core/transaction.js";
import type { DecisionOutcome } from "../core/pause-point.js";
import type { Actor, Clock, Ports } from "../core/ports.js";
import type { Store } from "../core/rows.js";
import type { ObjectStatus } from "../protocol/status.js";
import { conversationView, pausePointView, runView } from "../core/views.js";
import { McpCatalog } from "../mcp/offer.js";
import { outOfOrder, readSettings, type Env, type Settings } from "../settings.js";
import { acknowledge, acknowledgeDecision } from "./acks.js";
import { Chat, chatRequest } from "./chat.js";
import { CHAT_TAG, ChatSockets } from "./chat-sockets.js";
import { branchPage, wholeMessage, type Page } from "./pages.js";
import { SqliteStore } from "./journal.js";
import { span } from "./spans.js";
import { objectStatus } from "./status.js";
import { Outbox, type Reindexed } from "./outbox.js";
import { Sockets } from "./sockets.js";
import { Timers } from "./timers.js";

/** Most that an answer over HTTP carries of messages: an RPC may not be larger than 32 MiB. */
const ANSWER_BYTES = 16 * 1024 * 1024;

/** How a decision ended, with the card as it is now. What the HTTP edge and the sockets answer is made from it. */
export type Decided = Omit<DecisionOutcome, "row"> & { card: PausePoint | null };

const clock: Clock = {
  now: () => Date.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
  breathe: () => scheduler.wait(1),
};

/** The Durable Object of one conversation: wires journal, engine, sockets, alarm and outbox together, and does not think. */
export class Conversation extends DurableObject<Env> {
  protected readonly journal: Journal;
  protected readonly engine: Engine;
  readonly #sockets: Sockets;
  readonly #chat: Chat;
  readonly #chatSockets: ChatSockets;
  readonly #outbox: Outbox;
  readonly #timers: Timers;
  /** What is wrong with the settings of this deployment. */
  #wrong: string | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    const settings = this.#settingsOr(outOfOrder);
    this.journal = new Journal(this.rows(), clock.now);
    const ports: Ports = {
      journal: this.journal,
      clock,
      model: settings.model,
      ...this.#agent(settings),
      env,
      limits: settings.limits,
      resume: settings.resume,
      randomWord: () => hex(crypto.getRandomValues(new Uint8Array(12))),
      background: (work) => ctx.waitUntil(work),
      live: (flush, last) => {
        if (!last) this.#sockets.delta(flush);
        this.#chat.live(flush);
      },
      log: this.#log,
      span,
    };
    this.engine = new Engine(ports);
    this.#outbox = new Outbox(ports, this.journal, env.DB);
    this.#timers = new Timers(ctx.storage, () => this.#nextDue());
    this.#chat = new Chat(this.journal, this.engine);
    this.#chatSockets = new ChatSockets(ctx, this.journal, this.#chat, (person) => this.#roleOf(person) !== null);
    this.#sockets = new Sockets(ctx, this.journal, {
      send: (actor, frame) => acknowledge(frame.opId, this.engine.send(actor, frame)),
      decide: (actor, { opId, type: _, ...decision }) => acknowledgeDecision(this.journal, actor, opId, decision, () => this.#decide(actor, [decision], opId)),
      cancel: (actor, frame) => acknowledge(frame.opId, this.engine.cancel(actor, frame)),
      regenerate: (actor, frame) => acknowledge(frame.opId, this.engine.regenerate(actor, frame)),
      head: (actor, frame) => acknowledge(frame.opId, this.engine.head(actor, frame)),
      live: () => this.engine.live(),
      untold: this.#untold,
    });
    this.journal.events = { arm: this.#timers.arm, rolledBack: () => this.#timers.forget(false), committed: (changes) => this.#committed(changes), untold: this.#untold };
    // Every first event of an object's life looks after what time or a crash has left, whatever the alarm says.
    this.#lookAfter();
  }

  /**
   * An object that could not be made would lose its alarm after six tries, and with it what it owes. So with wrong
   * settings it is made, does nothing, and looks again in a minute.
   */
  #settingsOr(fallback: Settings): Settings {
    try {
      return this.settings();
    } catch (error) {
      this.#wrong = error instanceof Error ? error.message : String(error);
      return fallback;
    }
  }

  /** The deployment's settings. The Worker has refused to serve when they are wrong. */
  protected settings(): Settings {
    const read = readSettings(this.env);
    if (!read.ok) throw new Error(read.problems.map((problem) => problem.message).join(" "));
    return read.settings;
  }

  /** Where the journal's rows are kept. */
  protected rows(): Store {
    return new SqliteStore(this.ctx.storage);
  }

  /** The agent with the tools of MCP servers, when the settings name any. */
  #agent({ agent, mcpServers, shipped }: Settings): Pick<Ports, "agent" | "discover"> {
    if (mcpServers.length === 0) return { agent };
    const catalog = new McpCatalog(mcpServers, this.journal, { taken: new Set(shipped.keys()), log: this.#log, now: clock.now });
    return { agent: (skill) => agent(skill, catalog.offers()), discover: () => catalog.discover() };
  }

  /** Makes the conversation; the same again, by its owner, finds it made. */
  create(owner: string, made: { id: string; title?: string | undefined; skill: string }): ConversationEntity | null {
    if (this.#wrong !== null) throw new Error(this.#wrong);
    // An object that was reached by its platform id has no name for the rest of its life.
    const id = this.ctx.id.name ?? made.id;
    if (!id) throw new Error("A conversation's object is reached by its name.");
    if (!this.journal.read.get("conversation"))
      this.journal.transaction("create", (tx) => createConversation(tx, { id, owner, title: made.title ?? "", skill: made.skill, epoch: crypto.randomUUID() }));
    return this.describe(owner);
  }

  describe(person: string): ConversationEntity | null {
    return this.#roleOf(person) ? conversationView(this.journal.conversation(), this.journal.read.members()) : null;
  }

  run(person: string): Run | null {
    const run = this.#roleOf(person) ? this.journal.run(this.journal.conversation().turn) : null;
    return run && runView(run);
  }

  /** Whole messages of the branch in use, oldest first, above the one at `before`; null for who may not see them. */
  messages(person: string, before: number | null, limit: number): Page | null {
    return this.#roleOf(person) ? branchPage(this.journal, before, limit, ANSWER_BYTES) : null;
  }

  /** All steps of one message. */
  message(person: string, messageId: string): MessageStep[] | null {
    if (!this.#roleOf(person)) return null;
    const steps = wholeMessage(this.journal, messageNamed(this.journal.read, messageId)?.position ?? 0, ANSWER_BYTES);
    return steps.length ? steps : null;
  }

  pausePoint(person: string, id: string): PausePoint | null {
    if (!this.#roleOf(person)) return null;
    const row = this.journal.read.get("pausePoints", pausePointNumber(this.journal.conversation().id, id));
    return row && pausePointView(this.journal.conversation().id, row);
  }

  decide(actor: Actor, decisions: Decision[]): Decided[] {
    return this.#decide(actor, decisions, null);
  }

  cancel(actor: Actor, runId: string): CommandOutcome {
    return this.#exists() ? this.engine.cancel(actor, { opId: null, runId }) : NOT_FOUND;
  }

  /** Chooses the branch in use. */
  head(actor: Actor, messageId: string, withdraw: boolean): CommandOutcome {
    return this.#exists() ? this.engine.head(actor, { opId: null, messageId, withdraw }) : NOT_FOUND;
  }

  rename(actor: Actor, title: string): CommandOutcome {
    return this.#exists() ? this.engine.rename(actor, title) : NOT_FOUND;
  }

  setMember(actor: Actor, person: string, role: Exclude<Role, "owner"> | null): CommandOutcome {
    return this.#exists() ? this.engine.setMember(actor, person, role) : NOT_FOUND;
  }

  /** Deleting is a state: the run is cancelled, sockets are closed, D1 is told, and then the rows go (H15). */
  remove(actor: Actor): CommandOutcome {
    return this.#exists() ? this.engine.remove(actor) : NOT_FOUND;
  }

  /** Sends everything to D1 again (H21); only for the owner. */
  async reindexAs(actor: Actor): Promise<CommandOutcome | Reindexed> {
    const role = this.#roleOf(actor.person);
    if (role === "owner") return (await this.reindex()) ?? NOT_FOUND;
    return role ? rejected("forbidden", "Only the owner of the conversation may do this.") : NOT_FOUND;
  }

  /** Sends everything to D1 again, a tombstone too, for the operator; null when this object has no conversation. */
  async reindex(): Promise<Reindexed | null> {
    if (!this.journal.read.get("conversation")) return null;
    const sent = await this.#outbox.reindex(crypto.randomUUID());
    // Another epoch: each device says hello again and gets a snapshot (S2).
    if (sent.status !== "unreachable") this.#sockets.drop();
    return sent;
  }

  /** What an operator may know of this conversation; null when there is none. */
  async status(): Promise<ObjectStatus | null> {
    const alarm = await this.ctx.storage.getAlarm();
    return this.journal.read.get("conversation") ? objectStatus(this.journal, this.#nextDue(), alarm) : null;
  }

  /** The routes that stream: the socket, and the AI SDK's chat. `x-actor` was made by the Worker from what it verified. */
  override async fetch(request: Request): Promise<Response> {
    const actor = JSON.parse(request.headers.get("x-actor") ?? "null") as Actor;
    const { pathname } = new URL(request.url);
    if (pathname === "/socket") return this.#exists() ? this.#sockets.accept(actor.person) : this.#sockets.refuse();
    if (!this.#roleOf(actor.person)) return Response.json(NOT_FOUND);
    if (pathname === "/chat-socket") return this.#chatSockets.accept(actor.person);
    if (pathname === "/resume") return this.#chat.resume(actor.person) ?? new Response(null, { status: 204 });
    const answer = this.#chat.post(actor, chatRequest.parse(await request.json()));
    return answer instanceof Response ? answer : Response.json(answer);
  }

  override webSocketMessage(socket: WebSocket, data: string | ArrayBuffer): void {
    if (this.#wrong !== null) return this.#sockets.drop();
    this.#partOf(socket).message(socket, data);
  }

  override webSocketClose(socket: WebSocket): void {
    this.#partOf(socket).closed(socket);
  }

  override webSocketError(socket: WebSocket): void {
    this.#partOf(socket).closed(socket);
  }

  override alarm(): void {
    this.#timers.forget(true);
    this.#lookAfter();
  }

  /** Settles what is due and starts what must go on; never waits for a run. When that fails it is tried again later. */
  #lookAfter(): void {
    if (this.#wrong !== null) {
      // An object that owes nothing needs no alarm, and one without a conversation writes nothing.
      if (this.#nextDue() === null) return;
      this.#log("settings.wrong", { problem: this.#wrong }, console.error);
      return this.#timers.retryAt(Date.now() + 60_000);
    }
    try {
      this.engine.reconcile();
      this.#outbox.deliver();
      this.#timers.arm();
    } catch (error) {
      this.#log("reconcile.failed", { error: loggable(error) }, console.error);
      this.#timers.retryAt(Date.now() + 10_000);
    }
  }

  #nextDue(): number | null {
    const due = [this.engine.nextDue(), this.#outbox.nextDue()].filter((time) => time !== null);
    return due.length ? Math.min(...due) : null;
  }

  #committed(changes: Changes): void {
    for (const { event, fields } of changes.lines) this.#log(event, fields);
    this.#sockets.changed(changes);
    this.#tell(() => this.#chat.changed());
    this.#tell(() => this.#chatSockets.changed(changes));
    this.#tell(() => this.#outbox.changed(changes));
  }

  /** One that could not be told must not keep it from the others. */
  #tell(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#untold(error);
    }
  }

  /** A device of ours, or a chat client of the AI SDK. */
  #partOf(socket: WebSocket): Sockets | ChatSockets {
    return this.ctx.getTags(socket).includes(CHAT_TAG) ? this.#chatSockets : this.#sockets;
  }

  readonly #untold = (error: unknown): void => this.#log("tell.failed", { error: loggable(error) }, console.error);

  // An object that was reached by its platform id alone has no name; its journal knows it then.
  readonly #log = (event: string, fields: Record<string, string | number | null>, write: (line: string) => void = console.log): void =>
    write(JSON.stringify({ event, conversation: this.ctx.id.name ?? this.journal.read.get("conversation")?.id ?? null, ...fields }));

  #decide(actor: Actor, decisions: Decision[], opId: string | null): Decided[] {
    if (!this.#exists()) return decisions.map(() => ({ code: "not_found", message: NOT_FOUND.message, card: null }));
    const id = this.journal.conversation().id;
    return this.engine.decide(actor, decisions, opId).map(({ row, ...outcome }) => ({ ...outcome, card: row && pausePointView(id, row) }));
  }

  #exists(): boolean {
    if (this.#wrong !== null) throw new Error(this.#wrong);
    const row = this.journal.read.get("conversation");
    return row !== null && row.deletedAt === null;
  }

  #roleOf(person: string): Role | null {
    const member = this.#exists() ? this.journal.read.get("members", person) : null;
    return member && !member.removed ? member.role : null;
  }
}
