import { env, runInDurableObject } from "cloudflare:test";
import { SqliteStore } from "../../src/conversation/journal.js";
import { CONTRACT } from "../contract/all.js";
import { runAgainst } from "../contract/suite.js";

let count = 0;

runAgainst(
  "in SQLite",
  async (body) => {
    count += 1;
    const stub = env.CONVERSATION.getByName(`c_${count.toString(16).padStart(32, "0")}`);
    await runInDurableObject(stub, (_, state) => body(new SqliteStore(state.storage)));
  },
  CONTRACT,
);
