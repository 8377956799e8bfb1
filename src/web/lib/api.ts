import type { MessageStep, PausePoint } from "../../protocol/entities.js";
import type { Status } from "../../protocol/status.js";
import type { ApprovalListItem, ConversationListItem, Ledger, Me, Problem, SentEmail } from "../../protocol/http.js";

/** The server refused, or could not be reached. `message` is for people. */
export class ApiError extends Error {
  override name = "ApiError";
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
  ) {
    super(message);
  }
}

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(path, {
    method,
    headers: body === undefined ? {} : { "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new ApiError("The server can't be reached.", 0, "unreachable");
  });
  const text = await response.text();
  const answer = text ? parse(text) : undefined;
  if (response.ok) return answer as T;
  const problem = (answer ?? {}) as Partial<Problem>;
  throw new ApiError(problem.detail ?? problem.title ?? `The server answered ${response.status}.`, response.status, problem.code ?? "unknown");
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const conversation = (id: string): string => `/api/conversations/${encodeURIComponent(id)}`;

export interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

export const api = {
  me: () => call<Me>("GET", "/api/me"),
  signIn: (name: string) => call<void>("POST", "/auth/local", { name }),
  conversations: () => call<Page<ConversationListItem>>("GET", "/api/conversations"),
  createConversation: (body: { title?: string; skill?: string }) => call<{ id: string }>("POST", "/api/conversations", body),
  rename: (id: string, title: string) => call<unknown>("PATCH", conversation(id), { title }),
  remove: (id: string) => call<unknown>("DELETE", conversation(id)),
  message: (conversationId: string, messageId: string) =>
    call<{ steps?: MessageStep[] } | MessageStep[]>("GET", `${conversation(conversationId)}/messages/${encodeURIComponent(messageId)}`),
  pendingApprovals: () => call<Page<ApprovalListItem>>("GET", "/api/approvals?state=pending"),
  approval: (id: string) => call<PausePoint>("GET", `/api/approvals/${encodeURIComponent(id)}`),
  ledger: () => call<Ledger>("GET", "/api/ledger"),
  status: () => call<Status>("GET", "/api/status"),
  emails: () => call<{ items: SentEmail[] }>("GET", "/api/emails"),
};
