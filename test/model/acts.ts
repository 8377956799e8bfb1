import fc from "fast-check";
import type { Card } from "./cards.js";
import type { Promised } from "./promise.js";
import { MINUTE, OUTSIDER, type DecideFrame, type Plan, type Sent, type ToolName } from "./terms.js";

// What people and the clock do, before it is known what they find: each becomes a frame from what a device shows then.

export type Act =
  | {
      do: "decide";
      card: "pending" | number;
      by: string;
      opId: boolean;
      version: "shown" | "none" | "other";
      verdict: "approve" | "reject";
      edit: Edit | null;
      choice: "fitting" | "none" | "odd";
      which: number;
      reply: boolean;
    }
  /** All that are pending, in one body. */
  | { do: "batch"; by: string; verdicts: ("approve" | "reject")[] }
  | { do: "send"; by: string; withdraw: boolean; plan: Plan; messageId: "new" | "taken" }
  | { do: "cancel"; by: string; run: "newest" | "first" | "unknown" }
  | { do: "alarm"; when: "now" | "early" | "due" | "late" };
/** The amount that somebody wants instead: the card's own, small ones, one over a limit of the policy, and impossible ones. */
export type Edit = "same" | 7 | 8 | 5000 | 6000 | 666 | -1 | 20_000;

const people = fc.oneof({ weight: 9, arbitrary: fc.constantFrom("ana", "ben") }, { weight: 1, arbitrary: fc.constantFrom("vic", OUTSIDER) });
const often = <T>(usual: T, ...others: T[]): fc.Arbitrary<T> => fc.oneof({ weight: 8, arbitrary: fc.constant(usual) }, { weight: 2, arbitrary: fc.constantFrom(...others) });

const decision = (verdict: "approve" | "reject", edit: fc.Arbitrary<Edit | null>): fc.Arbitrary<Act> =>
  fc.record({
    do: fc.constant("decide" as const),
    // Counted from the newest; beyond the oldest one there is none.
    card: fc.oneof({ weight: 5, arbitrary: fc.constant("pending" as const) }, { weight: 4, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.constant(99) }),
    by: people,
    opId: fc.boolean(),
    version: often("shown", "none", "other"),
    verdict: fc.constant(verdict),
    edit,
    choice: often("fitting", "none", "odd"),
    which: fc.nat(2),
    reply: fc.boolean(),
  });

/** An approval with nothing wrong about it, which many things follow. */
const approval = (edit: Edit | null): fc.Arbitrary<Act> =>
  fc.record({
    do: fc.constant("decide" as const),
    card: fc.constant("pending" as const),
    by: fc.constantFrom("ana", "ben"),
    opId: fc.boolean(),
    version: fc.constant("shown" as const),
    verdict: fc.constant("approve" as const),
    edit: fc.constant(edit),
    choice: fc.constant("fitting" as const),
    which: fc.nat(2),
    reply: fc.boolean(),
  });

const tools: ToolName[] = ["pay", "pay", "pay", "set", "vote", "choose"];
const plan = fc.array(fc.tuple(fc.constantFrom(...tools), fc.constantFrom(5, 60, 60, 5000)), { minLength: 1, maxLength: 3 }) as fc.Arbitrary<Plan>;
const text = (withdraw: boolean): fc.Arbitrary<Act> =>
  fc.record({ do: fc.constant("send" as const), by: people, withdraw: fc.constant(withdraw), plan, messageId: often<"new" | "taken">("new", "taken") });

const verdict = fc.constantFrom("approve" as const, "reject" as const);
const batch: fc.Arbitrary<Act> = fc.record({ do: fc.constant("batch" as const), by: people, verdicts: fc.array(verdict, { minLength: 3, maxLength: 3 }) });

export const ACTS = {
  ask: text(false),
  decide: fc.oneof({ weight: 3, arbitrary: decision("approve", fc.constant(null)) }, { weight: 1, arbitrary: batch }),
  edit: fc.oneof({ weight: 3, arbitrary: decision("approve", fc.constantFrom<Edit>("same", 7, 8, 5000, 6000, 666, -1, 20_000)) }, { weight: 2, arbitrary: approval(5000) }),
  reject: decision("reject", often<Edit | null>(null, 7)),
  cancel: fc.record({ do: fc.constant("cancel" as const), by: people, run: often("newest", "first", "unknown") }) as fc.Arbitrary<Act>,
  withdraw: text(true),
  expire: fc.record({ do: fc.constant("alarm" as const), when: fc.constantFrom("now", "early", "due", "late") }) as fc.Arbitrary<Act>,
};

/** Any of them, as it would come beside another or under a crash. */
export const anyAct = fc.oneof(
  { weight: 6, arbitrary: approval(null) },
  { weight: 3, arbitrary: ACTS.decide },
  { weight: 2, arbitrary: ACTS.edit },
  { weight: 2, arbitrary: ACTS.reject },
  { weight: 1, arbitrary: ACTS.cancel },
  { weight: 1, arbitrary: ACTS.withdraw },
  { weight: 2, arbitrary: ACTS.ask },
  { weight: 1, arbitrary: ACTS.expire },
);

/** The card that an act is about: its own, or the newest. */
export function cardOf(act: Act | null, { cards }: Promised): Card | null {
  if (act?.do === "decide" && act.card !== "pending") return cards.at(-1 - act.card) ?? null;
  const pending = act?.do === "decide" || act?.do === "batch" ? cards.find(({ state }) => state === "pending") : undefined;
  return pending ?? cards.at(-1) ?? null;
}

/** What a client sends for it. `op` is unused so far. */
export function framed(act: Exclude<Act, { do: "alarm" }>, promised: Promised, op: string): Sent {
  switch (act.do) {
    case "send": {
      const messageId = act.messageId === "taken" && promised.last !== "alarm" && promised.last?.frame.type === "send" ? promised.last.frame.messageId : `u-${op}`;
      return { person: act.by, frame: { type: "send", opId: op, messageId, text: JSON.stringify(act.plan), withdraw: act.withdraw } };
    }
    case "cancel":
      return { person: act.by, frame: { type: "cancel", opId: op, runId: `r${act.run === "newest" ? promised.runs.length : act.run === "first" ? 1 : 9999}` } };
    case "decide":
      return { person: act.by, frame: decided(act, cardOf(act, promised), act.opId ? op : null) };
    case "batch": {
      const asked = promised.pending().length > 0 ? promised.pending() : promised.cards.slice(-1);
      const usual = { do: "decide", card: "pending", by: act.by, opId: false, version: "shown", edit: null, choice: "fitting", reply: true } as const;
      return {
        person: act.by,
        frame: { type: "batch", decisions: asked.map((card, n) => decided({ ...usual, which: n, verdict: act.verdicts[n % 3] ?? "approve" }, card, null)) },
      };
    }
  }
}

function decided(act: Act & { do: "decide" }, card: Card | null, opId: string | null): DecideFrame {
  const version = card?.version ?? 1;
  const amount = act.edit === "same" ? card?.amount || 5 : act.edit;
  const choice = act.choice === "odd" ? "neither" : act.choice === "fitting" ? card?.options?.[act.which % card.options.length] : undefined;
  return {
    type: "decide",
    opId,
    n: card?.n ?? 9999,
    ...(act.version === "none" ? {} : { version: act.version === "shown" ? version : version > 1 ? version - 1 : 2 }),
    decision: act.verdict,
    ...(amount === null ? {} : { payloadOverride: { amount } }),
    ...(choice === undefined ? {} : { choice }),
    ...(act.reply ? { reply: `because of ${opId ?? "that"}` } : {}),
  };
}

/** The same again; or something else under the same opId. */
export function repeated({ person, frame }: Sent, other: boolean, promised: Promised): Sent {
  if (!other) return { person, frame };
  switch (frame.type) {
    case "send":
      return { person, frame: { ...frame, messageId: `${frame.messageId}-other` } };
    case "cancel":
      return { person, frame: { ...frame, runId: `r${promised.runs.length + 1}` } };
    case "decide":
      return { person, frame: turned(frame) };
    case "batch":
      return { person, frame: { ...frame, decisions: frame.decisions.map(turned) } };
  }
}

const turned = (frame: DecideFrame): DecideFrame => ({ ...frame, decision: frame.decision === "approve" ? "reject" : "approve" });

/** How far the clock goes before the alarm comes: not at all, to just before the next deadline, to it, or past it. */
export function untilAlarm(when: "now" | "early" | "due" | "late", promised: Promised, now: number): number {
  const next = Math.min(...promised.pending().flatMap(({ expiresAt }) => (expiresAt !== null && expiresAt > now ? [expiresAt] : [])));
  if (when === "now" || next === Infinity) return 0;
  return next - now + (when === "early" ? -1 : when === "due" ? 0 : MINUTE);
}
