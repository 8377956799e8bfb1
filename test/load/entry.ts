import measured, { Conversation as Measured } from "../../bench/entry.js";
import { assistantMessageId, toolCallId } from "../../src/core/ids.js";
import type { Env } from "../../src/settings.js";

/** The conversation of the measurements, which can be made long without living through it. */
export class Conversation extends Measured {
  /** Adds so many copies of its newest turn, as if it had been lived through again and again. D1 is not told. */
  grow(copies: number): void {
    const { store } = this.journal;
    const before = this.journal.conversation();
    const run = store.get("runs", before.turn);
    if (!run) throw new Error("There is no turn to copy.");
    const rows = { asked: store.message(run.parent), answered: store.message(run.position), calls: store.calls(run.turn), cards: store.pausePointsFrom(run.firstPausePoint) };
    const length = before.nextPosition - run.parent;
    const another = (id: string | null, copy: number): string | null => id && `${id}~${copy}`;
    store.atomically(() => {
      for (let copy = 1; copy <= copies; copy += 1) {
        const [seq, turn, onwards, cardsOnwards] = [before.seq + copy, run.turn + copy, length * copy, rows.cards.length * copy];
        const asked = rows.asked.map((row) => ({
          ...row,
          seq,
          turn,
          position: row.position + onwards,
          messageId: `${row.messageId}~${copy}`,
          parent: run.position + onwards - length,
          parentId: assistantMessageId(run.position + onwards - length),
          opId: another(row.opId, copy),
        }));
        const place = { position: run.position + onwards, messageId: assistantMessageId(run.position + onwards), parent: run.parent + onwards, parentId: asked[0]!.messageId };
        for (const row of asked) store.insert("steps", row);
        for (const row of rows.answered) store.insert("steps", { ...row, ...place, seq, turn });
        store.insert("runs", { ...run, ...place, seq, turn, firstPausePoint: run.firstPausePoint + cardsOnwards });
        for (const row of rows.calls)
          store.insert("calls", {
            ...row,
            seq,
            turn,
            position: place.position,
            toolCallId: toolCallId(turn, row.step, row.index),
            pausePoint: row.pausePoint && row.pausePoint + cardsOnwards,
            approval: row.approval && row.approval + cardsOnwards,
          });
        for (const row of rows.cards)
          store.insert("pausePoints", { ...row, seq, turn, n: row.n + cardsOnwards, toolCallId: toolCallId(turn, row.step, row.index), opId: another(row.opId, copy) });
      }
      const head = run.position + length * copies;
      store.update("conversation", [], {
        turn: run.turn + copies,
        seq: before.seq + copies,
        head,
        headId: assistantMessageId(head),
        nextPosition: before.nextPosition + length * copies,
        nextPausePoint: before.nextPausePoint + rows.cards.length * copies,
      });
    });
  }
}

/** The routes of the measurements, and one that makes a conversation long. */
export default {
  async fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const grown = /^\/load\/grow\/(\w+)$/.exec(pathname)?.[1];
    if (!grown) return measured.fetch(request, env, ctx);
    const object = env.CONVERSATION.getByName(grown) as unknown as { grow(copies: number): Promise<void> };
    await object.grow(Number(searchParams.get("copies")));
    return new Response("grown");
  },
};
