import worker, { Conversation as Real } from "../../src/worker.js";
import { workersAiModel } from "../../src/models/workers-ai.js";
import type { Settings } from "../../src/settings.js";
import { WorkersAiStandIn } from "../kit/workers-ai-stand-in.js";

export default worker;

const standIn = new WorkersAiStandIn();

/** A Holdpoint whose Workers AI binding is a stand-in: the real one needs an account. */
export class Conversation extends Real {
  protected override settings(): Settings {
    const settings = super.settings();
    return { ...settings, model: workersAiModel(standIn.binding, settings.modelName.replace("workers-ai/", "")) };
  }
}
