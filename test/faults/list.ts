/** One place of the product, written otherwise. */
export interface Edit {
  file: string;
  /** Stands exactly once in the file. */
  find: string;
  replace: string;
}

/** A one-line fault in the product that a rule's tests must find. */
export interface Fault extends Edit {
  rule: string;
  /** Tells the faults of one rule apart. */
  part?: string;
  /** What it does wrong. */
  fault: string;
  /** Where the rule's tests are. */
  tests: "core" | "sync" | "hostile" | "outbox" | "cycle" | "release";
}

/** What names a fault: its rule, and its part if it has one. */
export const nameOf = ({ rule, part }: Fault): string => (part === undefined ? rule : `${rule}/${part}`);

export const TEST_FILES: Record<Fault["tests"], { project: "unit" | "worker"; file: string }> = {
  core: { project: "unit", file: "test/unit/core/contract.test.ts" },
  sync: { project: "worker", file: "test/worker/sync.test.ts" },
  hostile: { project: "worker", file: "test/worker/hostile.test.ts" },
  outbox: { project: "worker", file: "test/worker/outbox.test.ts" },
  cycle: { project: "worker", file: "test/worker/cycle.test.ts" },
  release: { project: "worker", file: "test/worker/release.test.ts" },
};

export const FAULTS: Fault[] = [
  {
    rule: "H1",
    fault: "a transaction is not rolled back",
    file: "src/core/journal.ts",
    find: "result = this.store.atomically(() => {",
    replace: "result = ((run: () => T) => run())(() => {",
    tests: "core",
  },
  {
    rule: "H2",
    fault: "the model is given whole tools, execute included",
    file: "src/core/stream.ts",
    find: ".map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))",
    replace: ".map((tool) => ({ ...tool }))",
    tests: "core",
  },
  {
    rule: "H3",
    fault: "the settling statement takes any row",
    file: "src/core/transaction.ts",
    find: '{ state: "pending", version: row.version })',
    replace: "{})",
    tests: "core",
  },
  {
    rule: "H4",
    fault: "a decision without the intent to resume",
    file: "src/core/pause-point.ts",
    find: "if (run?.turn === row.turn) resume(tx, run);",
    replace: "",
    tests: "core",
  },
  {
    rule: "H5",
    fault: "a call found started is run again, whatever it is",
    file: "src/core/run.ts",
    find: "if (!idempotent) {",
    replace: "if (false) {",
    tests: "core",
  },
  {
    rule: "H6",
    fault: "what runs is not compared with what was shown",
    file: "src/core/execute.ts",
    find: "const changed = whyNotAsShown(tool, input, call);",
    replace: "const changed = null as string | null;",
    tests: "core",
  },
  {
    rule: "H7",
    fault: "the run goes on while a sibling waits",
    file: "src/core/run.ts",
    find: 'if (ready.calls.some((call) => call.state === "awaiting")) {',
    replace: 'if (ready.calls.length > 0 && ready.calls.every((call) => call.state === "awaiting")) {',
    tests: "core",
  },
  {
    rule: "H8",
    fault: "a new attempt has the old one's number",
    file: "src/core/stream.ts",
    find: "const attempt = run.attempt + 1;",
    replace: "const attempt = Math.max(1, run.attempt);",
    tests: "core",
  },
  {
    rule: "H9",
    fault: "text typed while a run is live is not queued",
    file: "src/core/commands.ts",
    find: 'delivery: run ? "queued" : "sent",',
    replace: 'delivery: "sent",',
    tests: "core",
  },
  {
    rule: "H10",
    fault: "a client's message replaces another's",
    file: "src/core/commands.ts",
    find: 'return rejected("message_id_taken", "This message id is taken by another message. Use a new one.");',
    replace: "return null;",
    tests: "core",
  },
  {
    rule: "H10",
    part: "device",
    fault: "what a device answers is taken as it comes",
    file: "src/core/pause-point.ts",
    find: "...deviceFaults(ports.agent",
    replace: "...((_: unknown, __: unknown): InputFault[] => [])(ports.agent",
    tests: "core",
  },
  { rule: "H11", fault: "the deadline is left to the alarm", file: "src/core/pause-point.ts", find: "if (isDue(row, tx.now)) {", replace: "if (false) {", tests: "core" },
  {
    rule: "H12",
    fault: "an override is not judged by the policy again",
    file: "src/core/pause-point.ts",
    find: "if (override !== undefined && demandsMore(ports, tx, row, override)) {",
    replace: "if (override === null && demandsMore(ports, tx, row, override)) {",
    tests: "core",
  },
  {
    rule: "H13",
    fault: "a refused call may be proposed again and again",
    file: "src/core/policy.ts",
    find: "if (wasRefused(tx, run, tool.name, parsed.value)) return",
    replace: "if (false) return",
    tests: "core",
  },
  {
    rule: "H14",
    fault: "only successful calls have a result",
    file: "src/core/history.ts",
    find: 'const results: ToolMessage["content"] = calls.map(',
    replace: 'const results: ToolMessage["content"] = calls.filter((call) => call.state === "succeeded").map(',
    tests: "core",
  },
  {
    rule: "H15",
    fault: "a deleted conversation keeps its rows",
    file: "src/conversation/outbox.ts",
    find: "if (tx.conversation.deletedAt !== null && !this.#load()) tx.store.purge();",
    replace: "void tx;",
    tests: "outbox",
  },
  {
    rule: "H15",
    part: "journal",
    fault: "tables of an older release are left as they are",
    file: "src/conversation/journal.ts",
    find: "if (found >= VERSION) return;",
    replace: "return;",
    tests: "release",
  },
  {
    rule: "H16",
    fault: "a person's words are logged",
    file: "src/core/transaction.ts",
    find: "state: patch.state ?? row.state });",
    replace: "state: patch.state ?? row.state, reply: patch.reply ?? null });",
    tests: "core",
  },
  {
    rule: "H13",
    part: "message",
    fault: "a refusal is forgotten in the run that it starts",
    file: "src/core/policy.ts",
    find: "return chainOf(tx.store, run)",
    replace: "return [run]",
    tests: "core",
  },
  {
    rule: "H17",
    fault: "each kick starts a driver",
    file: "src/core/engine.ts",
    find: "if (this.#driving || this.ports",
    replace: "if (this.ports",
    tests: "core",
  },
  {
    rule: "H18",
    fault: "a model that stalls is waited for",
    file: "src/core/stream.ts",
    find: "const cancel = clock.after(Math.max(0, patience), timedOut);",
    replace: "const cancel = (): void => void timedOut;",
    tests: "core",
  },
  {
    rule: "H19",
    fault: "a cancelled tool gets no signal",
    file: "src/core/engine.ts",
    find: 'for (const abort of this.#executing.values()) abort.abort(new Error("The run was cancelled."));',
    replace: "",
    tests: "core",
  },
  {
    rule: "H20",
    fault: "a text may have any size",
    file: "src/core/commands.ts",
    find: "if (bytes > ports.limits.userTextBytes) return",
    replace: "if (false) return",
    tests: "core",
  },
  {
    rule: "H21",
    fault: "the newest version counts as sent",
    file: "src/conversation/outbox.ts",
    find: "tx.mirrored(table, key, version);",
    replace: "tx.mirrored(table, key, tx.store.get(table, ...key)?.version ?? 0);",
    tests: "outbox",
  },
  {
    rule: "H22",
    fault: "withdraw leaves the cards pending",
    file: "src/core/commands.ts",
    find: "if (command.withdraw && run) withdrawCards",
    replace: "if (false) withdrawCards",
    tests: "core",
  },
  {
    rule: "H22",
    part: "branches",
    fault: "an edit moves the head away from a live run",
    file: "src/core/branches.ts",
    find: 'if (!withdraw) return rejected("run_live"',
    replace: 'if (false as boolean) return rejected("run_live"',
    tests: "core",
  },
  {
    rule: "S1",
    fault: "the welcome leaves out pending cards that a device should know",
    file: "src/conversation/snapshot.ts",
    find: "[...changed.pausePoints, ...journal.pending()]",
    replace: "[...changed.pausePoints]",
    tests: "sync",
  },
  {
    rule: "S2",
    fault: "a seq beyond the server's is believed",
    file: "src/conversation/snapshot.ts",
    find: "has.seq !== undefined && has.seq <= conversation.seq ?",
    replace: "has.seq !== undefined ?",
    tests: "sync",
  },
  { rule: "S3", fault: "the welcome's live text has the wrong n", file: "src/core/delta.ts", find: "n: this.#n - pieces.length + 1 + place,", replace: "n: place,", tests: "sync" },
  {
    rule: "S4",
    fault: "each chunk is sent by itself",
    file: "src/core/delta.ts",
    find: "if (!this.#resting) {",
    replace: "this.flush();\n    if (!this.#resting) {",
    tests: "sync",
  },
  {
    rule: "S5",
    fault: "an opId may mean two things",
    file: "src/core/commands.ts",
    find: 'return known.kind === "send" && isSame(known.step, command) ?',
    replace: 'return known.kind === "send" ?',
    tests: "sync",
  },
  {
    rule: "S6",
    fault: "a device that lags gets every delta",
    file: "src/conversation/sockets.ts",
    find: "if (!flow.lagging) this.#sendText(socket, text);",
    replace: "this.#sendText(socket, text);",
    tests: "hostile",
  },
  { rule: "S7", fault: "an outsider's socket is kept", file: "src/conversation/sockets.ts", find: "if (!this.#role(person)) return this.refuse();", replace: "", tests: "sync" },
  {
    rule: "S8",
    fault: "a frame may have any size",
    file: "src/conversation/sockets.ts",
    find: "if (byteLength(data) > CLIENT_FRAME_BYTES) return",
    replace: "if (false) return",
    tests: "hostile",
  },
  {
    rule: "S9",
    fault: "a device is present for ever",
    file: "src/conversation/sockets.ts",
    find: "if (now - heard <= PRESENT_MS) present.set",
    replace: "present.set",
    tests: "sync",
  },
];
