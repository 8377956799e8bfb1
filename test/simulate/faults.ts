import { FAULTS, nameOf, type Edit } from "../faults/list.ts";

// The faults that the simulation must find. Each breaks the product in a copy; the product itself has no switch.

export interface SimulatedFault {
  name: string;
  /** All of them together are the fault. */
  edits: Edit[];
}

/** One of the faults that the rule's own tests find too. */
function of(name: string): Edit[] {
  const fault = FAULTS.find((one) => nameOf(one) === name);
  if (!fault) throw new Error(`There is no fault ${name}.`);
  return [fault];
}

export const SIMULATED_FAULTS: SimulatedFault[] = [
  { name: "a decision without the resume intent", edits: of("H4") },
  { name: "running a `started` call again", edits: of("H5") },
  {
    name: "broadcast before commit",
    edits: [
      {
        file: "src/core/journal.ts",
        find: "if (tx.wrote) this.events.arm();",
        replace: "if (tx.wrote) this.events.arm();\n        if (tx.changes.seq) this.events.committed(tx.changes);",
      },
      { file: "src/core/journal.ts", find: "if (tx.changes.seq) {", replace: "if (false) {" },
    ],
  },
  {
    name: "a read-then-write decide",
    edits: [
      // The card is read, something is waited for, and what was read is what is judged and written over.
      {
        file: "src/conversation/sockets.ts",
        find: "return this.#send(socket, this.commands.decide(actor, frame));",
        replace: `{
          const read = this.journal.read.get("pausePoints", Number(frame.pausePointId.split(".")[1]));
          void scheduler.wait(1).then(() => this.#send(socket, this.commands.decide(actor, { ...frame, read }))).catch(() => {});
          return;
        }`,
      },
      {
        file: "src/core/pause-point.ts",
        find: 'const row = n ? tx.store.get("pausePoints", n) : null;',
        replace: 'const row = (decision as any).read ?? (n ? tx.store.get("pausePoints", n) : null);',
      },
      ...of("H3"),
    ],
  },
  {
    name: "`seq` taken outside the transaction",
    edits: [
      {
        file: "src/core/transaction.ts",
        find: "if (!this.changes.seq) this.changes.seq = this.conversation.seq + 1;",
        replace: "if (!this.changes.seq) this.changes.seq = (this.store as any).counter = Math.max((this.store as any).counter ?? 0, this.conversation.seq) + 1;",
      },
    ],
  },
  {
    name: "an outbox row lost",
    edits: [
      {
        file: "src/conversation/outbox.ts",
        find: "await this.#withTimeLimit(this.db.batch(statements.map(({ statement }) => statement)));",
        replace: "void this.#withTimeLimit(this.db.batch(statements.map(({ statement }) => statement))).catch(() => {});",
      },
    ],
  },
  { name: "two drivers", edits: of("H17") },
  {
    name: "an alarm set after an `await`",
    edits: [
      { file: "src/conversation/timers.ts", find: "void this.storage.setAlarm(due);", replace: "void scheduler.wait(1).then(() => this.storage.setAlarm(due)).catch(() => {});" },
    ],
  },
  {
    name: "a late tool result overwriting",
    edits: [
      // What a tool says after its time was up is recorded too, whatever has become of the call.
      {
        file: "src/core/execute.ts",
        find: "    const settled = (result: TryResult): void => {\n      cancel();",
        replace:
          '    const settled = (result: TryResult): void => {\n      cancel();\n      if (abort.signal.aborted) ports.journal.transaction("result", (tx) => void recordResult(ports, tx, attempt, result));',
      },
      {
        file: "src/core/execute.ts",
        find: 'if (tx.updateCall(call, patch, { state: "started", tries: call.tries })) return true;',
        replace: "if (tx.updateCall(call, patch, {})) return true;",
      },
    ],
  },
  { name: "`mirrored = version` instead of the version sent", edits: of("H21") },
];
