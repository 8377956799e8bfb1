import { MemoryStore } from "../../../src/core/memory-store.js";
import { branchScenarios } from "../../contract/branches.js";
import { decideScenarios } from "../../contract/decide.js";
import { deviceToolScenarios } from "../../contract/device-tools.js";
import { edgeScenarios } from "../../contract/edges.js";
import { limitScenarios } from "../../contract/limits.js";
import { messageModeScenarios } from "../../contract/message-mode.js";
import { runScenarios } from "../../contract/run.js";
import { runAgainst } from "../../contract/suite.js";
import { secondReviewScenarios } from "../../contract/second-review.js";
import { textScenarios } from "../../contract/texts.js";

runAgainst("in memory", (body) => body(new MemoryStore()), {
  "pause points": decideScenarios,
  "what a review found": edgeScenarios,
  "what a second review found": secondReviewScenarios,
  "the run": runScenarios,
  "texts and what the model is told": textScenarios,
  "limits and cancelling": limitScenarios,
  branches: branchScenarios,
  "questions to devices": deviceToolScenarios,
  "decisions told by a message": messageModeScenarios,
});
