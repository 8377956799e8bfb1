import { byteLength, canonicalJson, type Json } from "../protocol/json.js";
import type { CallCause } from "../protocol/entities.js";
import type { LivePart } from "../protocol/fold.js";
import { pausePointId, toolCallId } from "./ids.js";
import type { Transaction } from "./transaction.js";
import type { CallRow, RunRow } from "./rows.js";
import { durationMs } from "./limits.js";
import { isApprovalMarker } from "./marker.js";
import { chainOf, holdsWord } from "./told-by-message.js";
import type { Ports } from "./ports.js";
import type { ParsedInput, PausePointDraft, PolicyVerdict, Tool } from "./tool.js";
import { storedJson } from "./outcome.js";

// Does this call need a human? Asked once, when the model has proposed it, in the transaction that stores it.

export type ProposedCall = LivePart & { type: "tool" };

/** A tool's policy; one that throws counts as `ask`. */
export function policyOf(tool: Tool, input: Json): PolicyVerdict {
  try {
    const policy = tool.policy(input);
    if (policy.verdict === "ask" && policy.terms.expiresIn !== undefined) durationMs(policy.terms.expiresIn);
    return policy;
  } catch {
    return { verdict: "ask", terms: {} };
  }
}

/** A tool's parse; a schema that throws takes nothing. */
export function parseInput(tool: Tool, input: unknown): ParsedInput {
  try {
    return tool.parse(input);
  } catch {
    return { ok: false, faults: [{ path: [], message: "the tool's schema failed on this value" }] };
  }
}

/** Whether a second try is harmless. A tool that can't say is not idempotent: a person is asked (H5). */
export function isIdempotent(tool: Tool, input: Json): boolean {
  try {
    return tool.idempotent(input);
  } catch {
    return false;
  }
}

/** Longest sentence about a call: it stands in every frame that shows the call, and the input is shown whole beside it. */
const SUMMARY_CHARS = 1000;

/** A tool's sentence about a call; one that throws is replaced by the tool's name. */
export function summaryOf(tool: Tool, input: Json): string {
  try {
    const summary = tool.summary(input);
    return summary.length <= SUMMARY_CHARS ? summary : `${summary.slice(0, SUMMARY_CHARS - 1)}…`;
  } catch {
    return tool.name;
  }
}

/** Stores one proposed call as `ready`, `denied`, `failed`, or `awaiting` with its pause point. */
export function admitCall(ports: Ports, tx: Transaction, run: RunRow, index: number, proposed: ProposedCall): void {
  const { conversation } = tx;
  const tool = ports.agent(conversation.skill).tools.get(proposed.toolName);
  const base: Omit<CallRow, "seq" | "state"> = {
    turn: run.turn,
    step: run.step,
    index,
    toolCallId: toolCallId(run.turn, run.step, index),
    position: run.position,
    tool: proposed.toolName.slice(0, 200),
    cause: null,
    tries: 0,
    interrupted: 0,
    startedAt: null,
    endedAt: null,
    pausePoint: null,
    approval: null,
    summary: tool?.name ?? "",
    input: clip(proposed.input === undefined ? proposed.inputText : JSON.stringify(proposed.input), ports.limits.toolInputBytes),
    override: null,
    output: null,
    error: null,
    providerMetadata: proposed.providerMetadata === undefined ? null : JSON.stringify(proposed.providerMetadata),
  };
  const refuse = (state: "failed" | "denied", cause: CallCause, error: string): void => tx.insertCall({ ...base, state, cause, error, endedAt: tx.now });

  if (!tool) return refuse("failed", "invalid", `There is no tool named ${JSON.stringify(proposed.toolName.slice(0, 80))} here.`);
  const problem = unreadable(proposed, ports.limits.toolInputBytes);
  if (problem) return refuse("failed", "invalid", problem);
  const parsed = parseInput(tool, proposed.input);
  if (!parsed.ok)
    return refuse("failed", "invalid", `The input does not fit the tool: ${parsed.faults.map((fault) => `${fault.path.join(".") || "input"}: ${fault.message}`).join("; ")}`);

  base.input = JSON.stringify(parsed.value);
  base.summary = summaryOf(tool, parsed.value);
  if (byteLength(base.input) > ports.limits.toolInputBytes) return refuse("failed", "invalid", "The input is too large to be shown, so it can't be approved. Split it up.");
  if (holdsWord(conversation.word, base.input)) return refuse("failed", "invalid", "The input holds a word by which only the server speaks here. Leave it out.");
  if (wasRefused(tx, run, tool.name, parsed.value)) return refuse("denied", "repeated", "The same call was already refused in this run.");

  if (tool.pause) {
    const n = conversation.nextPausePoint;
    const id = pausePointId(conversation.id, n);
    const { draft, result } = tool.pause(parsed.value, id);
    if (!isApprovalMarker(result, id)) return tx.insertCall({ ...base, state: "succeeded", output: JSON.stringify(result), endedAt: tx.now });
    tx.insertCall({ ...base, state: "awaiting", pausePoint: n, output: JSON.stringify(result), summary: draft.title });
    openPausePoint(ports, tx, run, base, { ...draft, risk: draft.risk ?? tool.risk, payloadSchema: null, summary: draft.title });
    return;
  }

  const policy = policyOf(tool, parsed.value);
  if (tool.device && policy.verdict !== "deny") {
    tx.insertCall({ ...base, state: "awaiting", pausePoint: conversation.nextPausePoint });
    // A question to a device is one for values, which its tool's output schema describes.
    openPausePoint(ports, tx, run, base, {
      kind: "data_entry",
      title: base.summary,
      summary: base.summary,
      payload: parsed.value,
      payloadSchema: tool.device.outputSchema,
      risk: tool.risk,
      forPerson: run.person,
      expiresInMs: tool.device.expiresIn === undefined ? undefined : durationMs(tool.device.expiresIn),
    });
    return;
  }
  switch (policy.verdict) {
    case "allow":
      return tx.insertCall({ ...base, state: "ready" });
    case "deny":
      return refuse("denied", "policy", policy.reason);
    case "ask": {
      tx.insertCall({ ...base, state: "awaiting", pausePoint: conversation.nextPausePoint });
      const { terms } = policy;
      openPausePoint(ports, tx, run, base, {
        kind: "approval",
        title: terms.title ?? base.summary,
        summary: base.summary,
        description: terms.description ?? "",
        payload: parsed.value,
        payloadSchema: tool.inputSchema,
        risk: terms.risk ?? tool.risk,
        expiresInMs: terms.expiresIn === undefined ? undefined : durationMs(terms.expiresIn),
        onExpiry: terms.onExpiry,
      });
    }
  }
}

const clip = (text: string, bytes: number): string => (byteLength(text) <= bytes ? text : JSON.stringify(text.slice(0, 2000)));

function unreadable(proposed: ProposedCall, limit: number): string | null {
  if (proposed.state === "input-error") return `The input can't be read: ${proposed.errorText ?? "it is not JSON"}.`;
  if (proposed.state !== "input-available") return "The input was cut off.";
  if (byteLength(JSON.stringify(proposed.input ?? null)) > limit) return "The input is too large to be shown, so it can't be approved. Split it up.";
  return null;
}

const REFUSALS: ReadonlySet<CallCause> = new Set(["rejected", "policy", "repeated"]);

/** Whether this very call was refused since a person's text was last given to the model (H13). */
export function wasRefused(tx: Transaction, run: RunRow, tool: string, input: Json): boolean {
  const wanted = canonicalJson(input);
  return chainOf(tx.store, run)
    .flatMap((one) => tx.store.calls(one.turn).filter((call) => call.step >= one.sinceStep))
    .some((call) => call.tool === tool && call.state === "denied" && call.cause !== null && REFUSALS.has(call.cause) && canonicalJson(storedJson(call.input)) === wanted);
}

interface Opening extends Omit<PausePointDraft, "kind"> {
  kind: PausePointDraft["kind"] | "recovery";
  summary: string;
  payloadSchema: Json;
  expiresInMs?: number | undefined;
  onExpiry?: "continue" | "halt" | undefined;
  forPerson?: string;
}

/** Writes a pause point about a call and stamps the conversation with it. A recovery card does not expire (H5). */
export function openPausePoint(ports: Ports, tx: Transaction, run: RunRow, call: Pick<CallRow, "step" | "index" | "toolCallId" | "tool">, opening: Opening): void {
  const { conversation } = tx;
  const n = conversation.nextPausePoint;
  tx.insertPausePoint({
    n,
    state: "pending",
    turn: run.turn,
    step: call.step,
    index: call.index,
    toolCallId: call.toolCallId,
    action: call.tool,
    kind: opening.kind,
    risk: opening.risk ?? "medium",
    onExpiry: opening.onExpiry ?? "continue",
    createdAt: tx.now,
    expiresAt: opening.kind === "recovery" ? null : tx.now + (opening.expiresInMs ?? ports.limits.expiresInMs),
    decidedAt: null,
    decision: null,
    decidedBy: null,
    decidedDevice: null,
    decidedVia: null,
    opId: null,
    title: opening.title,
    summary: opening.summary,
    options: opening.options ? JSON.stringify(opening.options) : null,
    choice: null,
    reply: null,
    description: opening.description ?? "",
    payload: opening.payload === undefined ? null : JSON.stringify(opening.payload),
    payloadOverride: null,
    payloadSchema: opening.payloadSchema === null ? null : JSON.stringify(opening.payloadSchema),
    forPerson: opening.forPerson ?? null,
    replacedBy: null,
    replacedOp: null,
  });
  tx.patchConversation({ nextPausePoint: n + 1, pausePointId: conversation.pausePointId ?? pausePointId(conversation.id, n) });
}
