import worker, { Conversation as Real } from "../../src/worker.js";
import { workersAiModel } from "../../src/models/workers-ai.js";
import type { Settings } from "../../src/settings.js";
import { WorkersAiStandIn } from "../kit/workers-ai-stand-in.js";

export default worker;

const { binding } = new WorkersAiStandIn();
const native = workersAiModel(binding, "@cf/stand-in/native");
const whole = workersAiModel(binding, "@cf/stand-in/whole");

/** A Holdpoint whose Workers AI binding is a stand-in: the real one needs an account. A text that says "whole" gets the model that can't stream. */
export class Conversation extends Real {
  protected override settings(): Settings {
    return { ...super.settings(), model: (request) => (JSON.stringify(request.messages).includes("whole") ? whole : native)(request) };
  }
}
