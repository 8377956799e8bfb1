import type { ClientFrame } from "../../protocol/frames.js";

/** A frame that changes something, and is therefore kept until the server has acknowledged it. */
export type Command = Extract<ClientFrame, { type: "send" | "decide" | "cancel" | "regenerate" | "head" }>;

export interface Kept {
  command: Command;
  /** Who gave it. It is never sent in another person's name. */
  person: string | null;
  at: number;
}

/** What is used of `localStorage`. */
export interface StorageLike {
  readonly length: number;
  key(index: number): string | null;
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/**
 * Commands without an answer yet, one storage key each, so that two tabs never overwrite each other's.
 * They are sent again with the same `opId` after a reconnect or a reload; the server does each once (S5).
 */
export class Outbox {
  readonly #kept = new Map<string, Kept>();
  readonly #prefix: string;

  constructor(
    conversationId: string,
    private readonly storage: StorageLike,
  ) {
    this.#prefix = `holdpoint:op:${conversationId}:`;
    for (const key of Array.from({ length: storage.length }, (_, index) => storage.key(index))) {
      const kept = key?.startsWith(this.#prefix) ? parse(storage.getItem(key)) : null;
      if (kept) this.#kept.set(kept.command.opId, kept);
    }
  }

  /** In the order in which they were given. */
  list(): Kept[] {
    return [...this.#kept.values()].sort((a, b) => a.at - b.at);
  }

  get(opId: string): Kept | undefined {
    return this.#kept.get(opId);
  }

  add(kept: Kept): void {
    this.#kept.set(kept.command.opId, kept);
    try {
      this.storage.setItem(this.#prefix + kept.command.opId, JSON.stringify(kept));
    } catch {
      // Storage is full or forbidden: the command lives as long as this page does.
    }
  }

  remove(opId: string): Kept | undefined {
    const kept = this.#kept.get(opId);
    this.#kept.delete(opId);
    try {
      this.storage.removeItem(this.#prefix + opId);
    } catch {
      // As above.
    }
    return kept;
  }
}

function parse(text: string | null): Kept | null {
  try {
    const kept = JSON.parse(text ?? "null") as Kept | null;
    return typeof kept?.command?.opId === "string" ? kept : null;
  } catch {
    return null;
  }
}

/** Storage that forgets, for browsers that forbid the real one. */
export function memoryStorage(): StorageLike {
  const values = new Map<string, string>();
  return {
    get length() {
      return values.size;
    },
    key: (index) => [...values.keys()][index] ?? null,
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
    removeItem: (key) => void values.delete(key),
  };
}
