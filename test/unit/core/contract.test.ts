import { MemoryStore } from "../../../src/core/memory-store.js";
import { decideScenarios } from "../../contract/decide.js";
import { runScenarios } from "../../contract/run.js";
import { runAgainst } from "../../contract/suite.js";

runAgainst("in memory", (body) => body(new MemoryStore()), { "pause points": decideScenarios, "the run": runScenarios });
