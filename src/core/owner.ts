import type { Role } from "../protocol/entities.js";
import { leaveRun } from "./branches.js";
import { NOT_FOUND, rejected, type CommandOutcome } from "./command.js";
import type { Actor, Ports } from "./ports.js";
import type { Streaming } from "./stream.js";
import type { Transaction } from "./transaction.js";

// What only the owner of a conversation does to it. Each is one transaction, as every command is.

/** The owner, or the refusal. */
function mayOwn(tx: Transaction, actor: Actor): CommandOutcome | null {
  const member = tx.store.get("members", actor.person);
  if (!member || member.removed || tx.conversation.deletedAt !== null) return NOT_FOUND;
  return member.role === "owner" ? null : rejected("forbidden", "Only the owner of the conversation may do this.");
}

export function rename(tx: Transaction, actor: Actor, title: string): CommandOutcome {
  const refusal = mayOwn(tx, actor);
  if (refusal) return refusal;
  tx.patchConversation({ title });
  return { status: "applied" };
}

/** Lets a person in, gives them another role, or takes them out with null. */
export function setMember(ports: Ports, tx: Transaction, actor: Actor, person: string, role: Exclude<Role, "owner"> | null): CommandOutcome {
  const refusal = mayOwn(tx, actor);
  if (refusal) return refusal;
  if (person === tx.conversation.owner) return rejected("owner_stays", "The owner of a conversation stays its owner.");
  const known = tx.store.get("members", person);
  if (role === null && !known) return { status: "applied" };
  if (!known && tx.store.members().length >= ports.limits.members)
    return rejected("too_many_members", `A conversation has at most ${ports.limits.members} members, those who were removed included.`);
  tx.putMember(person, role ?? "viewer", role === null);
  return { status: "applied" };
}

/** Deletes the conversation: its run is cancelled and the tombstone written in one transaction (H15). */
export function remove(tx: Transaction, actor: Actor, streaming: Streaming | null): CommandOutcome {
  const refusal = mayOwn(tx, actor);
  if (refusal) return refusal;
  leaveRun(tx, actor, true, streaming);
  tx.patchConversation({ deletedAt: tx.now, title: "", pausePointId: null });
  return { status: "applied" };
}
