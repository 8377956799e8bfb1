import { Chat } from "@ai-sdk/react";
import { lastAssistantMessageIsCompleteWithApprovalResponses, WebSocketChatTransport } from "ai";

// Bundled and loaded into a browser's page, where tests find the AI SDK as an app would have it.
Object.assign(globalThis, { Chat, WebSocketChatTransport, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
