import { pausePointId } from "../../src/core/ids.js";
import type { PausePointRow } from "../../src/core/rows.js";
import type { Listed } from "./index-db.js";
import type { Card } from "./cards.js";
import type { Promised } from "./promise.js";
import { CONVERSATION, type World } from "./world.js";

// What must hold after each command: the product is where the promise is.

export class Broken extends Error {
  override name = "Broken";
}

export function same(what: string, found: unknown, promised: unknown): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(promised)];
  if (a !== b) throw new Broken(`${what}: it is ${a}, promised is ${b}`);
}

/** At rest, after a command. */
export function compare(promised: Promised, world: World): void {
  if (world.broken[0]) throw new Broken(world.broken[0]);
  const { store } = world.journal;
  const conversation = world.journal.conversation();
  const { run, live } = promised;
  const stored = run && store.get("runs", run.n);
  same("the newest run", stored && [stored.status, conversation.turn], run && [run.status, run.n]);
  same("the conversation's state", conversation.state, live ? (live.status === "suspended" ? "paused" : "running") : "idle");
  const first = promised.pending()[0];
  same("the card that the conversation is stamped with", conversation.pausePointId, live && first ? pausePointId(CONVERSATION, first.n) : null);
  same("the number of the next card", conversation.nextPausePoint, promised.cards.length + 1);
  const touched = new Set(world.commits.flatMap(({ pausePoints }) => [...pausePoints]));
  world.commits = [];
  for (const card of promised.cards) if (touched.has(card.n)) compareCard(card, world);
  for (const call of run?.calls ?? []) same(`what ${call.key} was run with`, world.ran.get(call.key) ?? [], call.ran);
  compareAlarm(promised, world);
  if (touched.size > 0) compareConversation(world);
}

/** Everything that there ever was, at the end of a sequence. */
export function compareAll(promised: Promised, world: World): void {
  const { store } = world.journal;
  for (const card of promised.cards) compareCard(card, world);
  for (const call of promised.calls) same(`what ${call.key} was run with`, world.ran.get(call.key) ?? [], call.ran);
  same("the number of calls whose tools ran", world.ran.size, promised.calls.filter(({ ran }) => ran.length > 0).length);
  for (const run of promised.runs) same(`run ${run.n}`, store.get("runs", run.n)?.status, run.status);
  compareTold(promised, world);
  same("what D1 has not taken", store.backlog(), { undelivered: 0, parked: 0, oldest: null });
  compareConversation(world);
}

/** In the object, and in D1 as the object has it (H21): nothing that could be told at once waits for the alarm. */
function compareCard(card: Card, { journal, disk }: World): void {
  const { decision } = card;
  const row = journal.store.get("pausePoints", card.n);
  same(
    `card ${card.n}`,
    row && {
      kind: row.kind,
      state: row.state,
      version: row.version,
      risk: row.risk,
      expiresAt: row.expiresAt,
      amount: row.payload === null ? 0 : (JSON.parse(row.payload) as { amount: number }).amount,
      decision: row.decision,
      by: row.decidedBy,
      override: row.payloadOverride,
      choice: row.choice,
      decided: row.decidedAt !== null,
    },
    {
      kind: card.kind,
      state: card.state,
      version: card.version,
      risk: card.risky ? "high" : "medium",
      expiresAt: card.expiresAt,
      amount: card.amount,
      decision: decision?.verdict ?? null,
      by: decision?.by ?? null,
      override: decision && decision.amount !== null ? JSON.stringify({ amount: decision.amount }) : null,
      choice: decision && decision.choice !== null ? JSON.stringify(decision.choice) : null,
      decided: card.state !== "pending",
    },
  );
  same(`card ${card.n} in D1`, indexed(disk.index.pausePoint(pausePointId(CONVERSATION, card.n))), row && rowOf(row));
}

/** H7: the agent is called once for each step, in one process, and told the same in every. */
function compareTold(promised: Promised, world: World): void {
  const calls = new Set<string>();
  const steps = new Map<string, string>();
  for (const { step, told, process } of world.told) {
    if (calls.has(`${step} ${process}`)) throw new Broken(`the agent was called twice for step ${step}`);
    calls.add(`${step} ${process}`);
    steps.set(step, told);
    same(`what the agent was told at step ${step}`, told, promised.told.get(step));
  }
  same("the steps for which the agent was called", [...steps.keys()], [...promised.told.keys()]);
}

/** H11: a card that waits has an alarm, whoever is there. */
function compareAlarm(promised: Promised, { alarm }: World): void {
  const due = promised.pending().flatMap(({ expiresAt }) => expiresAt ?? []);
  if (due.length > 0 && (alarm === null || alarm > Math.min(...due))) throw new Broken(`a card is due at ${Math.min(...due)}, and the alarm is set to ${alarm}`);
}

function compareConversation({ journal, disk }: World): void {
  const { state, pausePointId: stamp, version } = journal.conversation();
  const listed = disk.index.conversation(CONVERSATION);
  same("the conversation in D1", [listed?.["state"], listed?.["pause_point_id"], listed?.version], [state, stamp, version]);
}

const indexed = (listed: Listed | null): unknown =>
  listed && [
    listed.state,
    listed.version,
    ...["decision", "payload", "payload_override", "choice", "reply", "decided_by", "decided_device", "decided_via", "decided_at", "expires_at", "risk", "title"].map(
      (column) => listed[column],
    ),
  ];
const rowOf = (row: PausePointRow): unknown => [
  row.state,
  row.version,
  row.decision,
  row.payload,
  row.payloadOverride,
  row.choice,
  row.reply,
  row.decidedBy,
  row.decidedDevice,
  row.decidedVia,
  row.decidedAt,
  row.expiresAt,
  row.risk,
  row.title,
];
