import { runId } from "../core/ids.js";
import type { Journal } from "../core/journal.js";
import type { ObjectStatus } from "../protocol/status.js";

/** Due for so long, or due and no alarm at all: the alarm is overdue. */
const LATE_MS = 15_000;

/** What an operator may know of one conversation: states, counts and times, no texts and no names. */
export function objectStatus(journal: Journal, due: number | null, alarm: number | null): ObjectStatus {
  const conversation = journal.conversation();
  const now = journal.now();
  const run = journal.run(conversation.turn);
  const turns = conversation.lingering === null ? [conversation.turn] : Array.from({ length: conversation.turn - conversation.lingering + 1 }, (_, n) => conversation.turn - n);
  const calls = turns.flatMap((turn) => journal.read.calls(turn));
  const started = calls.filter((call) => call.state === "started");
  const unknown = calls.filter((call) => call.state === "unknown").length + journal.pending().filter((card) => card.kind === "recovery").length;
  const { undelivered, oldest, parked } = journal.read.backlog();
  return {
    conversation: conversation.id,
    run: run && { runId: runId(run.turn), status: run.status, startedAt: run.startedAt },
    startedCalls: { count: started.length, oldest: started.length ? Math.min(...started.map((call) => call.startedAt ?? now)) : null },
    unknownCalls: unknown,
    undelivered: { count: undelivered, oldest },
    parked,
    alarm,
    due,
    alarmOverdue: due !== null && (alarm === null ? due < now - LATE_MS : alarm < now - LATE_MS),
  };
}
