/** The bindings that the tools use. A tool of your own that needs another one adds it here. */
export interface ToolEnv {
  DB: D1Database;
  /** Cloudflare Email Sending. Without it `send_email` writes into the table `emails`. */
  EMAIL?: SendEmail;
  /** The sender's address: required with `EMAIL`. */
  EMAIL_FROM?: string;
}
