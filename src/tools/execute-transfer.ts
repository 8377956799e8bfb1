import * as z from "zod";
import { toMinor, transfer, type TransferOrder } from "../store/ledger.js";
import { allow, ask, defineTool } from "./define-tool.js";
import { untilKnown } from "./until-known.js";

const account = z.string().trim().min(1).max(80);

export const executeTransfer = defineTool({
  name: "execute_transfer",
  description: "Move money between two accounts of the ledger, named by id or by name. More than 100 needs a person's approval, which it asks for itself.",
  input: z.object({
    from: account,
    to: account,
    amount: z
      .number()
      .positive({ abort: true })
      .refine((amount) => toMinor(amount) !== null, "at most two decimals, and at most a billion")
      .describe("In whole units of the currency, with at most two decimals"),
    currency: z.string().trim().length(3).toUpperCase().describe("ISO code, like EUR"),
  }),
  risk: "high",
  approval: ({ amount }) => (amount > 100 ? ask({ expiresIn: "24h" }) : allow()),
  summary: ({ from, to, amount, currency }) => `Transfer ${amount} ${currency} from ${from} to ${to}`,
  idempotent: true,
  async execute({ from, to, amount, currency }, { idempotencyKey, conversationId, signal, env }) {
    const amountMinor = toMinor(amount) ?? 0;
    const order: TransferOrder = { key: idempotencyKey, from, to, amountMinor, currency, conversationId, createdAtMs: Date.now() };
    const outcome = await untilKnown(() => transfer(env.DB, order), signal, "The ledger did not answer, so it is not known whether the money was moved.");
    if (outcome.status === "refused") throw new Error(outcome.message);
    return {
      transferId: outcome.transfer.key,
      from: outcome.from.id,
      to: outcome.to.id,
      amount,
      currency,
      balances: { [outcome.from.id]: outcome.from.balanceMinor / 100, [outcome.to.id]: outcome.to.balanceMinor / 100 },
    };
  },
});
