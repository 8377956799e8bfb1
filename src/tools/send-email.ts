import * as z from "zod";
import { writeEmail } from "../store/emails.js";
import { ask, defineTool, OutcomeUnknown } from "./define-tool.js";
import { untilKnown } from "./until-known.js";

const BODY_CHARACTERS = 50_000;

/** Sends through the mail binding, or, while none is configured, writes into a table that the web app shows. */
export const sendEmail = ({ configured }: { configured: boolean }) =>
  defineTool({
    name: "send_email",
    description: "Send one plain-text e-mail. A person approves each one; the tool asks for that itself.",
    input: z.object({
      to: z.email().max(254),
      // A line break in a subject is how a mail gets headers that nobody approved.
      subject: z
        .string()
        .trim()
        .min(1)
        .max(200)
        .regex(/^[^\r\n]*$/, "must be one line"),
      body: z.string().max(BODY_CHARACTERS),
    }),
    risk: "medium",
    approval: () => ask(),
    summary: ({ to, subject }) => `Send "${subject}" to ${to}`,
    // The binding takes no key: a second send is a second mail. The table does.
    idempotent: !configured,
    async execute({ to, subject, body }, { idempotencyKey, conversationId, signal, env }) {
      if (!configured) {
        const email = { key: idempotencyKey, to, subject, body, createdAt: Date.now(), conversationId };
        await untilKnown(() => writeEmail(env.DB, email), signal, "The database did not answer, so it is not known whether the mail was written.");
        return { sent: false, stored: true, to, subject, note: "No mail binding is configured here: the mail was written to the list of mails and did not leave." };
      }
      if (!env.EMAIL || !env.EMAIL_FROM) throw new Error("Mail is not set up: the binding EMAIL or the setting EMAIL_FROM is missing. Nothing was sent.");
      try {
        const { messageId } = await env.EMAIL.send({ from: env.EMAIL_FROM, to, subject, text: body });
        return { sent: true, to, subject, messageId };
      } catch (error) {
        throw wasRefused(error) ? error : new OutcomeUnknown("The mail service did not answer, so it is not known whether the mail went out.", { cause: error });
      }
    },
  });

/** Whether the service said no before it sent anything: its errors carry a code. An internal one says nothing about that. */
function wasRefused(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return code.startsWith("E_") && code !== "E_INTERNAL_SERVER_ERROR" && code !== "E_DELIVERY_FAILED";
}
