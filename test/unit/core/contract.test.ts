import { MemoryStore } from "../../../src/core/memory-store.js";
import { CONTRACT } from "../../contract/all.js";
import { runAgainst } from "../../contract/suite.js";

runAgainst("in memory", (body) => body(new MemoryStore()), CONTRACT);
