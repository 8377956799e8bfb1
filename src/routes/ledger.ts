import { Hono } from "hono";
import type { App } from "../auth/guard.js";
import { emails } from "../store/emails.js";
import { accounts, transfers } from "../store/ledger.js";

/** What the tools that ship have done: balances, transfers, and letters that were written instead of sent. */
export const ledger = new Hono<App>()
  .get("/ledger", async (c) => c.json({ accounts: await accounts(c.env.DB), transfers: await transfers(c.env.DB) }))
  .get("/emails", async (c) => c.json({ items: await emails(c.env.DB) }));
