import { it } from "vitest";
import { fuzzEntry } from "./entry.js";

it("[C45] [S8] [C42] frames on a socket: what is refused changes nothing, tells nobody and logs nothing", () => fuzzEntry("socket", 0.6));
