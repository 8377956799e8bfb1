import type { Chunk } from "../protocol/frames.js";
import type { ChatSink } from "./chat-stream.js";

const HEADERS = { "content-type": "text/event-stream", "cache-control": "no-cache", "x-vercel-ai-ui-message-stream": "v1", "x-accel-buffering": "no" };

/** Comments sent while nothing else is, so that nothing on the way takes the stream for dead. */
const PING_MS = 15_000;

/** A chat stream as server-sent events: the response, and what to write to. `gone` is called when the client drops it. */
export function sseResponse(gone: () => void): { sink: ChatSink; response: Response } {
  const encoder = new TextEncoder();
  let out!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      out = controller;
    },
    cancel: gone,
  });
  const write = (text: string): void => {
    try {
      out.enqueue(encoder.encode(text));
    } catch {
      // Cancelled in this very turn.
    }
  };
  const ping = setInterval(() => write(": ping\n\n"), PING_MS);
  const sink: ChatSink = {
    chunk: (chunk: Chunk) => write(`data: ${JSON.stringify(chunk)}\n\n`),
    end: (whole) => {
      clearInterval(ping);
      if (whole) write("data: [DONE]\n\n");
      try {
        out.close();
      } catch {
        // The client went away.
      }
    },
  };
  return { sink, response: new Response(body, { headers: HEADERS }) };
}
