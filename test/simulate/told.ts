import type { PausePoint } from "../../src/protocol/entities.js";
import type { Ack, ClientFrame, LiveAttempt, ServerFrame } from "../../src/protocol/frames.js";
import { pausePointId, pausePointNumber } from "../../src/core/ids.js";
import type { Reads } from "../../src/core/rows.js";
import type { D1Row, SimulatedD1 } from "./d1.js";
import { hold } from "./invariants.js";
import { ID } from "./platform.js";
import type { Wire } from "./wire.js";

type Sent = Extract<ClientFrame, { opId: string }>;

/** Frames are texts of `JSON.stringify`, and this is the one that says nothing about the conversation. */
const PRESENCE = '{"type":"presence"';

const nameOf = ({ runId, step, attempt }: LiveAttempt): string => `${runId} step ${step} attempt ${attempt}`;

/** What must be true of everything that leaves the object: to devices, and to D1. */
export class Told {
  /** The final state that anybody was told of each card. */
  readonly #finals = new Map<string, string>();
  readonly #attempts = new Map<string, number>();
  readonly #sent = new Map<string, { person: string; frame: Sent }>();
  /** The texts that were acknowledged: they may not be missing. */
  readonly #acknowledged = new Set<string>();
  /** A broadcast is one text for every device: it is read once. */
  #last: { text: string; frame: ServerFrame } | null = null;

  constructor(
    private readonly reads: Reads,
    private readonly d1: SimulatedD1,
  ) {}

  /** A device has sent a command; its answer will name it. */
  asked(person: string, frame: ClientFrame): void {
    if ("opId" in frame) this.#sent.set(frame.opId, { person, frame });
  }

  /** A frame leaves the object for a device: what was committed before it is durable by now, or lost. */
  left(wire: Wire, text: string, process: number): void {
    if (text.startsWith(PRESENCE)) return;
    if (this.#last?.text !== text) this.#last = { text, frame: JSON.parse(text) as ServerFrame };
    const { frame } = this.#last;
    switch (frame.type) {
      case "welcome":
        this.#neverAhead(frame.seq);
        wire.seq = frame.seq;
        wire.live = frame.live && { name: nameOf(frame.live), n: frame.live.n };
        return this.#cards(frame.pausePoints);
      case "change": {
        this.#neverAhead(frame.seq);
        hold("S3", wire.seq !== null && frame.seq > wire.seq, () => `a device at ${wire.seq} is told of change ${frame.seq}`);
        if (!frame.more) wire.seq = frame.seq;
        return this.#cards(frame.pausePoints ?? []);
      }
      case "delta":
        return this.#delta(wire, frame, process);
      case "page":
        return this.#cards(frame.pausePoints);
      case "ack":
        return this.#ack(frame);
      case "presence":
      case "error":
      case "pong":
    }
  }

  /** H1: persist, then speak. */
  #neverAhead(seq: number): void {
    const durable = this.reads.get("conversation")?.seq ?? 0;
    hold("H1", seq <= durable, () => `a device was told of change ${seq}, and ${durable} is the newest that was kept`);
  }

  /** What was shown as decided stays so, on every device. */
  #cards(cards: PausePoint[]): void {
    for (const { id, state } of cards) {
      const known = this.#finals.get(id);
      hold("H3", known === undefined || known === state, () => `card ${id} was shown as ${known}, and is shown as ${state}`);
      if (state !== "pending") this.#finals.set(id, state);
    }
  }

  /** H8, S3: an attempt's number is never used by two processes, and its flushes come one after the other. */
  #delta(wire: Wire, delta: LiveAttempt, process: number): void {
    const name = nameOf(delta);
    hold("H8", (this.#attempts.get(name) ?? process) === process, () => `${name} was streamed by two processes`);
    this.#attempts.set(name, process);
    const before = wire.live?.name === name ? wire.live.n : 0;
    hold("S3", delta.n === before + 1, () => `${name}: a device is told flush ${delta.n} after ${before}`);
    wire.live = { name, n: delta.n };
  }

  /** S5: what was answered has happened, and is there. */
  #ack({ opId, status, code, current }: Ack): void {
    if (current) this.#cards([current]);
    const sent = this.#sent.get(opId);
    if (!sent) return;
    const { person, frame } = sent;
    const done = status === "applied" || status === "duplicate";
    hold("C42", person !== "vic" || !done || frame.type === "older", () => `a viewer's ${frame.type} was ${status}`);
    if (frame.type === "send" && done) {
      this.#acknowledged.add(frame.messageId);
      hold("S5", this.reads.userStep(frame.messageId) !== null, () => `the text ${frame.messageId} was acknowledged and is not there`);
    }
    if (frame.type === "decide" && code === "decided") this.#decided(person, frame);
  }

  #decided(person: string, { pausePointId: id, opId, payloadOverride }: Sent & { type: "decide" }): void {
    const card = this.reads.get("pausePoints", pausePointNumber(ID, id));
    hold("H3", card?.opId === opId, () => `the decision ${opId} was acknowledged, and card ${id} has that of ${card?.opId}`);
    hold("H10", card.forPerson === null || card.forPerson === person, () => `another person's device answered card ${id}`);
    const { latitude = 0 } = (payloadOverride ?? {}) as { latitude?: number };
    hold("H10", latitude <= 90, () => `an answer that its tool does not take was taken for card ${id}`);
  }

  /** D1 has taken a row: of a commit that was kept, and a card's final state is final there too. */
  mirrored(table: string, row: D1Row, before: D1Row | null): void {
    if (this.reads.get("conversation")?.deletedAt !== null) return;
    const n = table === "pause_points" ? pausePointNumber(ID, String(row["id"])) : 0;
    const version =
      table === "members" ? this.reads.get("members", String(row["person"]))?.version : n ? this.reads.get("pausePoints", n)?.version : this.reads.get("conversation")?.version;
    hold("H1", version !== undefined && Number(row["version"]) <= version, () => `D1 has version ${row["version"]} of a row of ${table}, and the object ${version}`);
    if (n === 0) return;
    const was = before?.["state"];
    hold("H3", was === undefined || was === "pending" || was === row["state"], () => `card ${n} was ${was} in D1, and is ${row["state"]}`);
  }

  /** H21: after everything has come to rest, D1 has what the object has. */
  atRest(): void {
    const { reads, d1 } = this;
    const conversation = reads.get("conversation");
    if (!conversation) return;
    const there = d1.row("conversations", ID);
    if (conversation.deletedAt !== null) return this.#gone(there);
    const same = there?.["version"] === conversation.version && there["state"] === conversation.state && there["pause_point_id"] === conversation.pausePointId;
    hold("H21", same, () => `the conversation is ${conversation.state} (version ${conversation.version}), in D1 ${there?.["state"]} (version ${there?.["version"]})`);
    for (const { person, role, version } of reads.members()) {
      const row = d1.row("members", person, ID);
      hold("H21", row?.["version"] === version && row["role"] === role, () => `a member is ${role}, in D1 ${row?.["role"]}`);
    }
    for (const card of reads.pausePointsFrom(1)) {
      const row = d1.row("pause_points", pausePointId(ID, card.n));
      const equal = row?.["version"] === card.version && row["state"] === card.state && row["decided_by"] === card.decidedBy && row["payload"] === card.payload;
      hold("H21", equal, () => `card ${card.n} is ${card.state} (version ${card.version}), in D1 ${row?.["state"]} (version ${row?.["version"]})`);
    }
    for (const id of this.#acknowledged) hold("S5", reads.userStep(id) !== null, () => `the text ${id} was acknowledged and is not there`);
  }

  /** H15: of a deleted conversation nothing is left but that it was there. */
  #gone(there: D1Row | undefined): void {
    hold("H15", typeof there?.["deleted_at"] === "number" && there["title"] === "", () => "the conversation was deleted, and D1 was not told");
    const left = this.d1.rows("pause_points").find((row) => row["title"] !== "" || row["payload"] !== null || row["reply"] !== null);
    hold("H15", left === undefined, () => `D1 still has the texts of ${String(left?.["id"])}, and its conversation was deleted`);
    const rows = this.reads.places(0).length + this.reads.members().length + this.reads.pausePointsFrom(0).length;
    hold("H15", rows === 0, () => `the deleted conversation still has ${rows} rows`);
  }
}
