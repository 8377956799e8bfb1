import * as z from "zod";
import { device } from "../protocol/entities.js";
import { Allowance } from "../core/allowance.js";

/** Frames a socket may send at once, and each second after. */
const BURST = 200;
const FRAMES_PER_SECOND = 50;

/** Survives hibernation and deploys with the socket; read defensively, for an older release may have written it. */
const attachment = z.object({ person: z.string(), device: device.nullable().catch(null), at: z.number().catch(0) });
export type Attachment = z.infer<typeof attachment>;

export interface Flow {
  /** The attachment, parsed once: two hundred devices are told of a change without reading each one's again. */
  known: Attachment | null;
  unseen: number;
  lagging: boolean;
  heardAt: number;
  frames: Allowance;
}

/** What is known of each device's socket. All but the attachment is lost with the object's memory. */
export class Flows {
  readonly #flows = new WeakMap<WebSocket, Flow>();

  constructor(private readonly now: () => number) {}

  of(socket: WebSocket): Flow {
    const flow = this.#flows.get(socket);
    if (flow) return flow;
    const known = attachment.safeParse(socket.deserializeAttachment()).data ?? null;
    const fresh: Flow = { known, unseen: 0, lagging: false, heardAt: 0, frames: new Allowance(BURST, FRAMES_PER_SECOND, this.now()) };
    this.#flows.set(socket, fresh);
    return fresh;
  }

  attach(socket: WebSocket, known: Attachment): void {
    socket.serializeAttachment(known);
    this.of(socket).known = known;
  }
}
