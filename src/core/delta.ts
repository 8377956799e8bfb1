import { byteLength } from "../protocol/json.js";
import { SERVER_FRAME_BYTES, type Chunk, type LiveAttempt } from "../protocol/frames.js";
import { foldChunks, type LivePart } from "../protocol/fold.js";
import type { Clock } from "./ports.js";

/** At most one flush in this time, the first after a breath (S4). */
const FLUSH_MS = 40;
/** A flush larger than this goes out as several, so that a welcome can be cut between them. */
const FLUSH_BYTES = 128 * 1024;
/** The largest single chunk: one that can't be split must still fit a frame. */
const CHUNK_BYTES = SERVER_FRAME_BYTES - 4096;

type AttemptId = Pick<LiveAttempt, "runId" | "messageId" | "step" | "attempt">;

/** One attempt at a step while it streams: what it has built so far, and the chunks not yet sent. */
export class LiveStep {
  readonly parts: LivePart[] = [];
  bytes = 0;
  #n = 0;
  #pending: Chunk[] = [];
  #sent: Chunk[] = [];
  /** The next flush waits for its time. */
  #resting = false;
  #timer: (() => void) | null = null;
  #ended = false;

  constructor(
    readonly id: AttemptId,
    private readonly clock: Clock,
    private readonly emit: (flush: LiveAttempt) => void,
  ) {}

  /** Takes a chunk. False, and nothing taken, when the step would be larger than `most` bytes, or the chunk than a frame. */
  push(chunk: Chunk, most: number): boolean {
    const bytes = byteLength(JSON.stringify(chunk));
    if (this.bytes + bytes > most || bytes > CHUNK_BYTES) return false;
    if (this.#ended) return true;
    this.bytes += bytes;
    foldChunks(this.parts, [chunk]);
    append(this.#pending, chunk);
    if (!this.#resting) {
      this.#resting = true;
      // What comes in one breath leaves together: the first flush is a word, and not the news that a text begins.
      void this.clock.breathe().then(() => this.#flushAndRest());
    }
    return true;
  }

  #flushAndRest(): void {
    if (this.#ended) return;
    this.flush();
    this.#timer = this.clock.after(FLUSH_MS, () => {
      if (this.#pending.length > 0) this.#flushAndRest();
      else this.#resting = false;
    });
  }

  /** Sends what is pending. */
  flush(): void {
    for (const chunks of split(this.#pending)) {
      this.#n += 1;
      this.emit({ ...this.id, n: this.#n, chunks });
    }
    for (const chunk of this.#pending) append(this.#sent, chunk);
    this.#pending = [];
  }

  /** Ends the deltas. What is pending is returned, not sent: the `change` that commits the step contains it (S3). */
  end(): LiveAttempt {
    this.#ended = true;
    this.#timer?.();
    return { ...this.id, n: this.#n + 1, chunks: this.#pending };
  }

  /** The attempt so far, compacted, for a device that joins: one delta a part, in pieces that fit a frame. */
  snapshot(): LiveAttempt[] {
    this.flush();
    const pieces = split(this.#sent);
    if (pieces.length === 0) return [{ ...this.id, n: this.#n, chunks: [] }];
    return pieces.map((chunks, place) => ({ ...this.id, n: this.#n - pieces.length + 1 + place, chunks }));
  }
}

/** Adds a chunk, joining it with the one before when both are text of the same part. */
function append(chunks: Chunk[], chunk: Chunk): void {
  const last = chunks.at(-1);
  const joined = last && join(last, chunk);
  if (joined) chunks[chunks.length - 1] = joined;
  else chunks.push(chunk);
}

function join(a: Chunk, b: Chunk): Chunk | null {
  if (a.type !== b.type || b["providerMetadata"] !== undefined) return null;
  if ((a.type === "text-delta" || a.type === "reasoning-delta") && a["id"] === b["id"]) return { ...a, delta: String(a["delta"]) + String(b["delta"]) };
  if (a.type === "tool-input-delta" && a["toolCallId"] === b["toolCallId"]) return { ...a, inputTextDelta: String(a["inputTextDelta"]) + String(b["inputTextDelta"]) };
  return null;
}

function split(chunks: Chunk[]): Chunk[][] {
  const pieces: Chunk[][] = [];
  let piece: Chunk[] = [];
  let bytes = 0;
  for (const chunk of chunks.flatMap(splitText)) {
    const size = byteLength(JSON.stringify(chunk));
    if (piece.length > 0 && bytes + size > FLUSH_BYTES) {
      pieces.push(piece);
      piece = [];
      bytes = 0;
    }
    piece.push(chunk);
    bytes += size;
  }
  if (piece.length > 0) pieces.push(piece);
  return pieces;
}

/** Cuts one long text delta into several; never between the halves of a surrogate pair. */
function splitText(chunk: Chunk): Chunk[] {
  const field = chunk.type === "tool-input-delta" ? "inputTextDelta" : chunk.type === "text-delta" || chunk.type === "reasoning-delta" ? "delta" : null;
  const text = field ? String(chunk[field]) : "";
  const most = FLUSH_BYTES / 4;
  if (!field || text.length <= most) return [chunk];
  const pieces: Chunk[] = [];
  for (let from = 0; from < text.length;) {
    let to = Math.min(from + most, text.length);
    if (to < text.length && /[\uD800-\uDBFF]/.test(text.charAt(to - 1))) to -= 1;
    pieces.push({ ...chunk, [field]: text.slice(from, to) });
    from = to;
  }
  return pieces;
}
