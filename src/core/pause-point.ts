import type { Decision, DecisionCode } from "../protocol/commands.js";
import { byteLength, canonicalJson, type Json } from "../protocol/json.js";
import { pausePointId, pausePointNumber } from "./ids.js";
import type { Transaction } from "./transaction.js";
import type { CallRow, PausePointRow } from "./rows.js";
import { isApprovalMarker } from "./marker.js";
import { storedJson } from "./outcome.js";
import { parseInput, policyOf, summaryOf } from "./policy.js";
import type { Actor, Ports } from "./ports.js";
import { liveRun, resume } from "./run.js";
import { holdsWord } from "./told-by-message.js";
import type { InputFault, Tool } from "./tool.js";

// A pause point's state machine. Whoever settles one (a person, the clock, a cancellation) comes through
// `settlePausePoint`, so that one statement decides who was first (H3).

export interface DecisionOutcome {
  code: DecisionCode;
  /** For people: what happened and what to do next. */
  message: string;
  /** The card as it is now; null when there is none for this person. */
  row: PausePointRow | null;
  faults?: InputFault[];
}

const NOT_FOUND: DecisionOutcome = { code: "not_found", message: "There is no such pause point, or it is not yours to see.", row: null };

/** Judges one decision in the order: known and member, right, final state, deadline, version, validity. */
export function decide(ports: Ports, tx: Transaction, actor: Actor, decision: Decision, opId: string | null): DecisionOutcome {
  const n = pausePointNumber(tx.conversation.id, decision.pausePointId);
  const row = n ? tx.store.get("pausePoints", n) : null;
  const member = tx.store.get("members", actor.person);
  if (!row || !member || member.removed) return NOT_FOUND;
  if (member.role === "viewer") return { code: "forbidden", message: "You can see this conversation, but not decide in it. Ask its owner to make you an approver.", row };
  if (row.forPerson !== null && row.forPerson !== actor.person)
    return { code: "forbidden", message: `This is a question to a device of ${row.forPerson}. Only they can answer it.`, row };
  if (row.state !== "pending") return afterTheFact(ports, row, decision);
  if (isDue(row, tx.now)) {
    settlePausePoint(ports, tx, row, { state: "expired" });
    return expired(tx.store.get("pausePoints", n) ?? row);
  }
  // A card that an edit has replaced is decided by its version only: without one nobody has seen it (H12).
  if ((decision.version ?? 1 + row.raised) !== row.version) return changed(row);
  return decideNow(ports, tx, actor, row, decision, opId);
}

export const isDue = (row: PausePointRow, now: number): boolean => row.expiresAt !== null && row.expiresAt <= now;

const expired = (row: PausePointRow): DecisionOutcome => ({
  code: "expired",
  message: "The deadline has passed and nobody had decided. Ask the agent again if it is still wanted.",
  row,
});
const changed = (row: PausePointRow): DecisionOutcome => ({ code: "changed", message: "The card has changed since you saw it. Nothing was decided: look at it again.", row });
const invalid = (row: PausePointRow, faults: InputFault[]): DecisionOutcome => ({
  code: "invalid",
  message: faults.map((fault) => `${fault.path.join(".") || "decision"}: ${fault.message}`).join("; "),
  row,
  faults,
});

function afterTheFact(ports: Ports, row: PausePointRow, decision: Decision): DecisionOutcome {
  if (row.state === "expired") return expired(row);
  if (row.state === "cancelled") return { code: "conflict", message: "The question was withdrawn before you answered. Nothing ran.", row };
  const override = normalOverride(ports, row, decision);
  const same =
    row.decision === decision.decision &&
    canonicalJson(override ?? null) === canonicalJson(storedJson(row.payloadOverride) ?? null) &&
    (decision.decision === "reject" || canonicalJson(decision.choice ?? null) === canonicalJson(storedJson(row.choice) ?? null));
  const by = `${row.decidedBy} on ${row.decidedDevice}`;
  if (same) return { code: "same", message: `Already ${row.state} by ${by}.`, row };
  return { code: "conflict", message: `${by} ${row.state} this first. Your answer changed nothing.`, row };
}

/** An override as it is stored: what the schema makes of it, and nothing when it changes nothing (C56). */
function normalOverride(ports: Ports, row: PausePointRow, decision: Decision): Json | undefined {
  if (decision.payloadOverride === undefined || decision.decision === "reject") return undefined;
  const tool = ports.agent(ports.journal.conversation().skill).tools.get(row.action);
  if (row.forPerson !== null) return deviceAnswer(tool, decision.payloadOverride);
  const parsed = tool && !tool.pause ? parseInput(tool, decision.payloadOverride) : undefined;
  const value = parsed?.ok ? parsed.value : decision.payloadOverride;
  return canonicalJson(value) === canonicalJson(storedJson(row.payload)) ? undefined : value;
}

/** A device's answer as its tool's output schema puts it out. */
function deviceAnswer(tool: Tool | undefined, answer: Json): Json {
  const parsed = tool?.device?.parse(answer);
  return parsed?.ok ? parsed.value : answer;
}

/** A device answers with values that fit the tool's output schema, or declines. */
function deviceFaults(tool: Tool | undefined, answer: Json | undefined): InputFault[] {
  if (!tool?.device) return [{ path: ["payloadOverride"], message: "the tool is gone, so its answer can't be checked; reject the question" }];
  if (answer === undefined) return [{ path: ["payloadOverride"], message: "is needed: what the device answers" }];
  const parsed = tool.device.parse(answer);
  return parsed.ok ? [] : parsed.faults.map((fault) => ({ path: ["payloadOverride", ...fault.path], message: fault.message }));
}

function decideNow(ports: Ports, tx: Transaction, actor: Actor, row: PausePointRow, decision: Decision, opId: string | null): DecisionOutcome {
  const size = byteLength(JSON.stringify([decision.payloadOverride ?? null, decision.choice ?? null])) + byteLength(decision.reply ?? "");
  if (size > ports.limits.toolInputBytes)
    return invalid(row, [{ path: [], message: `Override and reply are ${size} bytes together; ${ports.limits.toolInputBytes} is the most.` }]);
  if (holdsWord(tx.conversation.word, JSON.stringify(decision)))
    return invalid(row, [{ path: [], message: "it holds a word by which only the server speaks to the agent here; leave it out" }]);
  const faults = decision.decision === "approve" ? faultsOf(ports, tx, row, decision) : [];
  if (faults.length > 0) return invalid(row, faults);
  const override = normalOverride(ports, row, decision);
  if (override !== undefined && demandsMore(ports, tx, row, override)) {
    tx.updatePausePoint(row, { ...replacement(ports, tx, row, override), replacedBy: actor.person, replacedOp: opId });
    const now = tx.store.get("pausePoints", row.n) ?? row;
    return { code: "changed", message: "With these values a stricter rule applies. The card shows them now and needs a new decision.", row: now };
  }
  const settled = settlePausePoint(ports, tx, row, {
    state: decision.decision === "approve" ? "approved" : "rejected",
    decision: decision.decision,
    decidedBy: actor.person,
    decidedDevice: actor.device.name,
    decidedVia: actor.via,
    opId,
    reply: decision.reply ? decision.reply : null,
    choice: decision.choice === undefined || decision.decision === "reject" ? null : JSON.stringify(decision.choice),
    payloadOverride: override === undefined ? null : JSON.stringify(override),
  });
  const now = tx.store.get("pausePoints", row.n) ?? row;
  return settled ? { code: "decided", message: `${now.state === "approved" ? "Approved" : "Rejected"}.`, row: now } : changed(now);
}

/** What is wrong with an approval: choice not offered, override that breaks the schema or the policy. Nothing is consumed then. */
function faultsOf(ports: Ports, tx: Transaction, row: PausePointRow, decision: Decision): InputFault[] {
  if (row.forPerson !== null)
    return [
      ...(decision.choice === undefined ? [] : [{ path: ["choice"], message: "no choice was offered" }]),
      ...deviceFaults(ports.agent(tx.conversation.skill).tools.get(row.action), decision.payloadOverride),
    ];
  const options = storedJson(row.options);
  const offered = Array.isArray(options) ? options : null;
  const faults: InputFault[] = [];
  if (decision.choice !== undefined && !offered?.some((option) => canonicalJson(option) === canonicalJson(decision.choice)))
    faults.push({ path: ["choice"], message: offered ? `is not one of ${JSON.stringify(offered)}` : "no choice was offered" });
  const needsChoice = row.kind === "choice" || row.kind === "recovery";
  if (needsChoice && decision.choice === undefined) faults.push({ path: ["choice"], message: `is needed: one of ${JSON.stringify(offered)}` });
  if (row.kind === "clarification" && decision.choice === undefined && !decision.reply)
    faults.push({ path: ["reply"], message: "is needed: the question asks for words or a choice" });
  if (decision.payloadOverride === undefined) return faults;
  if (row.kind === "recovery" || row.kind === "choice" || row.kind === "clarification")
    return [...faults, { path: ["payloadOverride"], message: "this question has no values to edit" }];
  const tool = ports.agent(tx.conversation.skill).tools.get(row.action);
  if (tool?.pause) return [...faults, ...shapeFaults(storedJson(row.payload) ?? null, decision.payloadOverride, ["payloadOverride"])];
  if (!tool) return [...faults, { path: ["payloadOverride"], message: `the tool ${row.action} is gone, so its input can't be edited` }];
  const parsed = parseInput(tool, decision.payloadOverride);
  if (!parsed.ok) return [...faults, ...parsed.faults.map((fault) => ({ path: ["payloadOverride", ...fault.path], message: fault.message }))];
  return [...faults, ...policyFaults(() => tool.policy(parsed.value))];
}

// H12: a policy that throws about an override refuses it. Anywhere else it counts as `ask`.
function policyFaults(policy: () => { verdict: string; reason?: string }): InputFault[] {
  try {
    const verdict = policy();
    return verdict.verdict === "deny" ? [{ path: ["payloadOverride"], message: `the policy forbids it: ${verdict.reason}` }] : [];
  } catch {
    return [{ path: ["payloadOverride"], message: "the tool's policy failed on these values, so they can't be approved" }];
  }
}

/** `data_entry` keeps the fields and the JSON types of the payload. A field that was null takes any value. */
function shapeFaults(shape: Json, value: Json, path: (string | number)[]): InputFault[] {
  if (shape === null) return [];
  if (typeOf(shape) !== typeOf(value)) return [{ path, message: `must be ${typeOf(shape)}, not ${typeOf(value)}` }];
  if (Array.isArray(shape) || typeof shape !== "object" || typeof value !== "object" || value === null || Array.isArray(value)) return [];
  const keys = new Set([...Object.keys(shape), ...Object.keys(value)]);
  return [...keys].flatMap((key) => {
    if (!Object.hasOwn(shape, key)) return [{ path: [...path, key], message: "was not asked for" }];
    if (!Object.hasOwn(value, key)) return [{ path: [...path, key], message: "is missing" }];
    return shapeFaults(shape[key] ?? null, value[key] ?? null, [...path, key]);
  });
}

const typeOf = (value: Json): string => (value === null ? "null" : Array.isArray(value) ? "an array" : typeof value === "object" ? "an object" : `a ${typeof value}`);

const RISKS = ["low", "medium", "high"];

function demandsMore(ports: Ports, tx: Transaction, row: PausePointRow, override: Json): boolean {
  const tool = ports.agent(tx.conversation.skill).tools.get(row.action);
  if (!tool || tool.pause || tool.device) return false;
  const policy = policyOf(tool, override);
  return policy.verdict === "ask" && RISKS.indexOf(policy.terms.risk ?? tool.risk) > RISKS.indexOf(row.risk);
}

function replacement(ports: Ports, tx: Transaction, row: PausePointRow, override: Json): Partial<PausePointRow> {
  const tool = ports.agent(tx.conversation.skill).tools.get(row.action);
  if (!tool) return {};
  const policy = policyOf(tool, override);
  const terms = policy.verdict === "ask" ? policy.terms : {};
  const summary = summaryOf(tool, override);
  return { payload: JSON.stringify(override), summary, title: terms.title ?? summary, description: terms.description ?? "", risk: terms.risk ?? tool.risk };
}

export type Settlement = { state: "approved" | "rejected" | "expired" | "cancelled"; withdrawn?: true } & Partial<
  Pick<PausePointRow, "decision" | "decidedBy" | "decidedDevice" | "decidedVia" | "opId" | "reply" | "choice" | "payloadOverride">
>;

/** Settles a pending pause point, its call, and the intent that the run goes on, in one transaction (H3, H4). */
export function settlePausePoint(ports: Ports, tx: Transaction, row: PausePointRow, settlement: Settlement): boolean {
  const { withdrawn, ...patch } = settlement;
  if (!tx.updatePausePoint(row, { ...patch, decidedAt: tx.now })) return false;
  const call = tx.store.get("calls", row.turn, row.step, row.index);
  if (call) tx.updateCall(call, callAfter(ports, tx, row, call, settlement), { state: "awaiting" });
  const run = liveRun(tx);
  if (run?.turn === row.turn) resume(tx, run);
  return true;
}

function callAfter(ports: Ports, tx: Transaction, row: PausePointRow, call: CallRow, settlement: Settlement): Partial<CallRow> {
  const { state, choice, payloadOverride, withdrawn } = settlement;
  const ended = { endedAt: tx.now };
  if (row.kind === "recovery") {
    if (state !== "approved") return { state: "unknown", ...ended };
    const answer = storedJson(choice ?? null);
    if (answer === "retry") return { state: "ready", cause: null, interrupted: 0 };
    return answer === "happened" ? { state: "succeeded", cause: "told", ...ended } : { state: "failed", cause: "told", ...ended };
  }
  switch (state) {
    case "expired":
      return { state: "denied", cause: "expired", ...ended };
    case "cancelled":
      return { state: "denied", cause: withdrawn ? "withdrawn" : "cancelled", ...ended };
    case "rejected":
      return { state: "denied", cause: "rejected", approval: row.n, ...ended };
    case "approved": {
      if (row.forPerson !== null) return { state: "succeeded", approval: row.n, output: payloadOverride ?? "null", ...ended };
      const question = isApprovalMarker(storedJson(call.output), pausePointId(tx.conversation.id, row.n));
      // What was approved is what the card showed, and that may have been replaced since the model proposed it (H12).
      const approved = payloadOverride ?? row.payload;
      const proposed = storedJson(call.input);
      const asProposed = proposed === undefined || canonicalJson(storedJson(approved)) === canonicalJson(proposed);
      if (!question)
        return { state: "ready", approval: row.n, ...(asProposed ? {} : { override: approved, summary: summaryOfCall(ports, tx, row.action, approved) ?? call.summary }) };
      return { state: "succeeded", approval: row.n, output: answerText(row, settlement), ...ended };
    }
  }
}

/** The tool's sentence about what will run, when that is not what was proposed. */
function summaryOfCall(ports: Ports, tx: Transaction, action: string, approved: string | null): string | null {
  const tool = ports.agent(tx.conversation.skill).tools.get(action);
  const input = storedJson(approved);
  return tool && input !== undefined ? summaryOf(tool, input) : null;
}

/** What a question's answer is, as JSON text: the values, the choice, the words, or just `"approved"`. */
function answerText(row: PausePointRow, { choice, reply, payloadOverride }: Settlement): string {
  if (row.kind === "data_entry" || payloadOverride) return payloadOverride ?? row.payload ?? "null";
  if (choice) return choice;
  return JSON.stringify(row.kind === "clarification" ? (reply ?? null) : "approved");
}

/** Expires every card whose deadline has passed (H11). Says how many. */
export function expireDue(ports: Ports, tx: Transaction, pending: PausePointRow[]): number {
  return pending.filter((row) => isDue(row, tx.now) && settlePausePoint(ports, tx, row, { state: "expired" })).length;
}
