import * as z from "zod";
import { accounts } from "../store/ledger.js";
import { defineTool } from "./define-tool.js";

export const listAccounts = defineTool({
  name: "list_accounts",
  description: "The accounts of the ledger with their balances.",
  input: z.object({}),
  risk: "low",
  readOnly: true,
  summary: () => "Read the accounts and their balances",
  execute: async (_, { env }) => ({
    accounts: (await accounts(env.DB)).map(({ id, name, currency, balanceMinor }) => ({ id, name, balance: balanceMinor / 100, currency })),
  }),
});
