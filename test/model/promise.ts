import { afterwards, editOf, end, isOverdue, isValid, recovered, STATUS, type Call, type Card, type CardState, type Code, type Run } from "./cards.js";
import { HOUR, MEMBERS, QUEUE, TOOLS, wordOf, type DecideFrame, type Frame, type Plan, type Sent } from "./terms.js";

// What is promised about pause points, as small as it can be said: the states, and what each command must answer in
// each of them. Written from the rules, never from the code. It has no rows, no transactions and no driver.

type Made = { kind: "send"; frame: Frame } | { kind: "decide" | "replace"; card: number } | { kind: "cancel"; run: string };

/** One conversation as its people may rely on it. */
export class Promised {
  readonly cards: Card[] = [];
  readonly calls: Call[] = [];
  readonly runs: Run[] = [];
  /** What the agent is told at the beginning of each step: once, and when all calls of the step before have ended (H7). */
  readonly told = new Map<string, string>();
  /** The newest thing that a client or the clock did. */
  last: Sent | "alarm" | null = null;
  #queue: Plan[] = [];
  readonly #texts = new Map<string, { person: string; text: string }>();
  readonly #made = new Map<string, Made>();

  get run(): Run | null {
    return this.runs.at(-1) ?? null;
  }

  get live(): Run | null {
    const { run } = this;
    return run?.status === "running" || run?.status === "suspended" ? run : null;
  }

  pending(): Card[] {
    return this.cards.filter(({ state }) => state === "pending");
  }

  /** What a command is answered, and what it does. What follows of it is `drive`'s. */
  take({ person, frame }: Sent, now: number): string {
    switch (frame.type) {
      case "decide": {
        const code = this.#decide(person, frame, now);
        return frame.opId === null ? code : `${STATUS[code]}/${code}`;
      }
      // Decided one by one.
      case "batch":
        return frame.decisions.map((one) => this.#decide(person, one, now)).join();
      case "send":
        return this.#send(person, frame);
      case "cancel":
        return this.#cancel(person, frame);
    }
  }

  /** The deadline is judged by the clock whoever looks (H11). A recovery card has none (H5). */
  expire(now: number): void {
    for (const card of this.pending()) if (isOverdue(card, now)) this.#settle(card, "expired");
  }

  /** The process died while these calls had begun: harmless ones begin again, about the others a person is asked (H5). */
  die(begun: { key: string; ran: number[] }[], now: number): void {
    for (const call of this.live?.calls ?? []) {
      const found = begun.find(({ key }) => key === call.key);
      // A call about which a person is asked already is not begun again.
      if (!found || call.state !== "ready") continue;
      call.ran = found.ran;
      call.state = TOOLS[call.tool].idempotent ? "ready" : "awaiting";
      if (call.state === "awaiting") this.#open(call, "recovery", now);
    }
  }

  /** What goes on by itself: approved calls run, once; then the agent is told, or a person is waited for (H4, H7). */
  drive(now: number): void {
    for (let run = this.live; run?.status === "running"; run = this.live) {
      for (const call of run.calls.filter(({ state }) => state === "ready")) {
        call.ran.push(call.amount);
        end(call, "succeeded");
      }
      if (run.calls.some(({ state }) => state === "awaiting")) run.status = "suspended";
      else if (run.calls.some(({ halts }) => halts)) this.#end(run, "completed");
      else this.#step(run, now);
    }
  }

  #step(run: Run, now: number): void {
    this.told.set(`r${run.n}.${run.steps}`, run.calls.map(({ outcome }) => outcome).join());
    // Texts typed meanwhile are given to it now; the newest one counts (H9).
    run.plan = this.#queue.at(-1) ?? run.plan;
    this.#queue = [];
    run.calls = run.plan.map(([tool, amount], index): Call => {
      return { key: `r${run.n}.${run.steps}.${index}`, tool, state: "awaiting", outcome: null, amount: tool === "choose" ? 0 : amount, halts: false, ran: [] };
    });
    run.steps += 1;
    run.plan = [];
    if (run.calls.length === 0) return this.#end(run, "completed");
    for (const call of run.calls) {
      this.calls.push(call);
      this.#open(call, call.tool === "choose" ? "choice" : "approval", now);
    }
  }

  #open(call: Call, kind: Card["kind"], now: number): void {
    const { expiresInMs = HOUR } = TOOLS[call.tool];
    this.cards.push({
      n: this.cards.length + 1,
      run: this.runs.length,
      kind,
      state: "pending",
      version: 1,
      amount: call.amount,
      risky: kind === "recovery" || call.amount > 1000,
      options: kind === "recovery" ? ["retry", "happened", "did_not_happen"] : kind === "choice" ? ["a", "b"] : null,
      expiresAt: kind === "recovery" ? null : now + expiresInMs,
      replaced: false,
      decision: null,
      call,
    });
  }

  #decide(person: string, frame: DecideFrame, now: number): Code {
    const op = `${person} ${frame.opId}`;
    const made = frame.opId === null ? undefined : this.#made.get(op);
    // S5: an opId that made something means that for ever.
    if (made && !((made.kind === "decide" || made.kind === "replace") && made.card === frame.n)) return "op_reused";
    const before = this.cards[frame.n - 1];
    if (made?.kind === "replace" && frame.version === before?.version) return "op_reused";
    const code = this.#judge(person, frame, now);
    if (made?.kind === "decide" && code !== "same") return "op_reused";
    return code;
  }

  /** In this order: known and member, right, final state, deadline, version, validity. */
  #judge(person: string, frame: DecideFrame, now: number): Code {
    const card = this.cards[frame.n - 1];
    const role = MEMBERS[person];
    if (!card || !role) return "not_found";
    if (role === "viewer") return "forbidden";
    if (card.state !== "pending") return afterwards(card, frame);
    if (isOverdue(card, now)) {
      this.#settle(card, "expired");
      return "expired";
    }
    if (frame.version === undefined ? card.replaced : frame.version !== card.version) return "changed";
    if (frame.decision === "approve" && !isValid(card, frame)) return "invalid";
    const amount = editOf(card, frame);
    if (amount !== null && amount > 1000 && !card.risky) {
      this.#forget("replace", card.n);
      this.#keep(person, frame.opId, { kind: "replace", card: card.n });
      Object.assign(card, { amount, risky: true, replaced: true, version: card.version + 1 });
      return "changed";
    }
    const choice = frame.decision === "reject" ? null : (frame.choice ?? null);
    card.decision = { by: person, verdict: frame.decision, amount, choice };
    this.#keep(person, frame.opId, { kind: "decide", card: card.n });
    this.#settle(card, frame.decision === "approve" ? "approved" : "rejected", wordOf(frame));
    return "decided";
  }

  /** H3, H4: whoever settles a card settles its call, and the run goes on. */
  #settle(card: Card, state: Exclude<CardState, "pending">, rejected = "rejected"): void {
    card.state = state;
    card.version += 1;
    const { call, decision } = card;
    const outcome = { approved: "answered", rejected, expired: "expired", cancelled: "cancelled" }[state];
    if (card.kind === "recovery") recovered(call, state === "approved" ? (decision?.choice ?? null) : null);
    else if (card.kind === "approval" && state === "approved") Object.assign(call, { state: "ready", amount: decision?.amount ?? card.amount });
    else end(call, outcome);
    call.halts = state === "expired" && TOOLS[call.tool].halts === true;
    if (this.live?.n === card.run) this.live.status = "running";
  }

  #send(person: string, frame: Frame & { type: "send" }): string {
    const refusal = refusalOf(person);
    if (refusal) return refusal;
    const made = this.#made.get(`${person} ${frame.opId}`);
    if (made) return made.kind === "send" && JSON.stringify(made.frame) === JSON.stringify(frame) ? "duplicate" : "rejected/op_reused";
    const taken = this.#texts.get(frame.messageId);
    if (taken) return taken.person === person && taken.text === frame.text ? "duplicate" : "rejected/message_id_taken";
    const { live } = this;
    if (live && this.#queue.length >= QUEUE) return "rejected/queue_full";
    if (live && frame.withdraw) for (const card of this.pending()) this.#settle(card, "cancelled");
    this.#texts.set(frame.messageId, { person, text: frame.text });
    this.#keep(person, frame.opId, { kind: "send", frame });
    const plan = JSON.parse(frame.text) as Plan;
    if (live) this.#queue.push(plan);
    else this.runs.push({ n: this.runs.length + 1, status: "running", steps: 0, calls: [], plan });
    return "applied";
  }

  #cancel(person: string, frame: Frame & { type: "cancel" }): string {
    const refusal = refusalOf(person);
    if (refusal) return refusal;
    const made = this.#made.get(`${person} ${frame.opId}`);
    if (made && !(made.kind === "cancel" && made.run === frame.runId)) return "rejected/op_reused";
    const run = this.runs.find(({ n }) => `r${n}` === frame.runId);
    if (!run) return "rejected/not_found";
    if (run.status === "cancelled") return "duplicate";
    if (run !== this.live) return "rejected/run_ended";
    for (const card of this.pending()) this.#settle(card, "cancelled");
    // What was approved and has not begun does not begin any more (H19).
    for (const call of run.calls) if (call.state === "ready") end(call, "cancelled");
    this.#end(run, "cancelled");
    this.#keep(person, frame.opId, { kind: "cancel", run: frame.runId });
    return "applied";
  }

  /** A run that is cancelled or halts leaves the texts that wait unanswered (H9). */
  #end(run: Run, status: "completed" | "cancelled"): void {
    run.status = status;
    this.#queue = [];
  }

  #keep(person: string, opId: string | null, made: Made): void {
    if (opId !== null) this.#made.set(`${person} ${opId}`, made);
  }

  /** An opId is kept as long as what it made. */
  #forget(kind: Made["kind"], card: number): void {
    for (const [op, made] of this.#made) if (made.kind === kind && "card" in made && made.card === card) this.#made.delete(op);
  }
}

function refusalOf(person: string): string | null {
  if (!MEMBERS[person]) return "rejected/not_found";
  return MEMBERS[person] === "viewer" ? "rejected/forbidden" : null;
}
