import { branchScenarios } from "./branches.js";
import { decideScenarios } from "./decide.js";
import { deviceToolScenarios } from "./device-tools.js";
import { edgeScenarios } from "./edges.js";
import { interruptedScenarios } from "./interrupted.js";
import { limitScenarios } from "./limits.js";
import { messageModeScenarios } from "./message-mode.js";
import { runScenarios } from "./run.js";
import { secondReviewScenarios } from "./second-review.js";
import { textScenarios } from "./texts.js";
import type { Scenario } from "./suite.js";

/** Every scenario of the contract, by what it is about. */
export const CONTRACT: Record<string, Scenario[]> = {
  "pause points": decideScenarios,
  "what a review found": edgeScenarios,
  "what a second review found": secondReviewScenarios,
  "the run": runScenarios,
  "texts and what the model is told": textScenarios,
  "limits and cancelling": limitScenarios,
  "what was interrupted, and has changed": interruptedScenarios,
  branches: branchScenarios,
  "questions to devices": deviceToolScenarios,
  "decisions told by a message": messageModeScenarios,
};
