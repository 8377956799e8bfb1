import { afterAll, beforeAll } from "vitest";
import { startServer, type Server } from "../kit/server.js";
import { approvalScenarios } from "./ai-sdk-approvals.js";
import { browserScenarios } from "./ai-sdk-browser.js";
import { WIRES } from "./ai-sdk-kit.js";
import { pushScenarios } from "./ai-sdk-push.js";
import { reloadScenarios } from "./ai-sdk-reload.js";

let server: Server;
beforeAll(async () => {
  server = await startServer({ vars: { DEMO_DELAY_MS: "1" } });
});
afterAll(() => server.stop());

for (const wire of WIRES) {
  approvalScenarios(wire, () => server);
  reloadScenarios(wire, () => server);
}
pushScenarios(() => server);
browserScenarios(() => server);
