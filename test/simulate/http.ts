import { pausePointId } from "../../src/core/ids.js";
import type { Actor } from "../../src/core/ports.js";
import { answerTo } from "./device.js";
import { hold } from "./invariants.js";
import { ID, type Platform } from "./platform.js";
import type { SimulatedObject } from "./object.js";
import type { Random } from "./random.js";

/** Who there is, and what they hold in their hands. */
export const DEVICES = [
  ["ana", "laptop"],
  ["ana", "phone"],
  ["ben", "tablet"],
  ["vic", "desk"],
] as const;

interface Watch {
  tell(line: string): void;
  watched(check: () => void): void;
  leavingRun(withdraw: boolean, move: () => void): void;
}

/** What has no socket: an answer from the list of approvals, and what is done to a conversation by its routes. */
export class OverHttp {
  constructor(
    private readonly platform: Platform,
    private readonly random: Random,
    private readonly watch: Watch,
  ) {}

  act(): void {
    const { random } = this;
    const [person, name] = random.pick(DEVICES);
    const actor: Actor = { person, device: { id: name, name }, via: "http" };
    this.platform.enter((object) => {
      const mood = random.next();
      if (mood < 0.55) this.#decide(object, actor);
      else if (mood < 0.75) this.#choose(object, actor);
      else this.#own(object, actor);
    });
  }

  #decide(object: SimulatedObject, actor: Actor): void {
    const { random, watch } = this;
    const cards = this.platform.rows.pausePointsFrom(1);
    if (cards.length === 0) return;
    const card = random.pick(cards);
    const decision = { pausePointId: pausePointId(ID, card.n), ...(random.chance(0.5) ? { version: card.version } : {}), ...answerTo(card, random) };
    const [outcome] = object.decide(actor, [decision]);
    watch.tell(`${actor.person} answers over HTTP ${JSON.stringify(decision)}: ${outcome?.code}`);
    const refused = outcome?.code === "forbidden" || outcome?.code === "not_found";
    watch.watched(() => hold("C42", actor.person !== "vic" || refused, () => "a viewer's decision was not refused"));
  }

  #choose(object: SimulatedObject, actor: Actor): void {
    const { random, watch } = this;
    const places = this.platform.rows.places(0);
    if (places.length === 0) return;
    const { messageId } = random.pick(places);
    const withdraw = random.chance(0.5);
    watch.leavingRun(withdraw, () => watch.tell(`${actor.person} chooses ${messageId}${withdraw ? ", withdrawing" : ""}: ${object.head(actor, messageId, withdraw).status}`));
  }

  /** What only ana may do; the others are refused. */
  #own(object: SimulatedObject, actor: Actor): void {
    const { random, watch } = this;
    const mood = random.next();
    if (mood < 0.4) watch.tell(`${actor.person} renames it: ${object.rename(actor, `Talk ${random.int(100)}`).status}`);
    else if (mood < 0.8) {
      watch.tell(`${actor.person} has it indexed again`);
      object.reindexAs(actor).catch(() => {});
    } else watch.tell(`${actor.person} deletes it: ${object.remove(actor).status}`);
  }
}
