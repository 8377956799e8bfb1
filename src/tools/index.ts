import type { Tool, Tools } from "../core/tool.js";
import { currentTime } from "./current-time.js";
import { executeTransfer } from "./execute-transfer.js";
import { getLocation } from "./get-location.js";
import { askClarification, waitForApproval } from "./hitl.js";
import { httpRequest } from "./http-request.js";
import { listAccounts } from "./list-accounts.js";
import { sendEmail } from "./send-email.js";

export type { ToolEnv } from "./env.js";

export interface ToolSettings {
  /** Hosts that `http_request` GETs without asking. */
  httpAllowlist: readonly string[];
  /** Whether `EMAIL` and `EMAIL_FROM` are there. */
  emailConfigured: boolean;
}

/** Everything the agent can do. A tool of your own: one file beside these, one line here. */
export function createTools({ httpAllowlist, emailConfigured }: ToolSettings): Tools {
  const tools: Tool[] = [
    waitForApproval,
    askClarification,
    listAccounts,
    executeTransfer,
    sendEmail({ configured: emailConfigured }),
    httpRequest({ allowlist: httpAllowlist }),
    currentTime,
    getLocation,
  ];
  return new Map(tools.map((tool) => [tool.name, tool]));
}
