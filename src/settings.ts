import * as z from "zod";
import { readAuth, type Auth, type AuthEnv } from "./auth/settings.js";
import type { Conversation } from "./conversation/conversation.js";
import { defaultLimits, type Limits } from "./core/limits.js";
import type { Model } from "./core/model.js";
import type { ResumeMode } from "./core/ports.js";
import type { Tools } from "./core/tool.js";
import type { McpOffer } from "./mcp/offer.js";
import { readServers, type McpServer } from "./mcp/servers.js";
import { createModel } from "./models/index.js";
import { skills, toolsOf, type Skill } from "./skills/index.js";
import { systemPrompt } from "./skills/system-prompt.js";
import { createTools, type ToolEnv } from "./tools/index.js";

/** Bindings and variables of the Worker. Nothing here is trusted before `readSettings` has parsed it. */
export interface Env extends ToolEnv, AuthEnv {
  CONVERSATION: DurableObjectNamespace<Conversation>;
  ASSETS: Fetcher;
  AI?: Ai;
  MODEL?: string;
  OPENAI_BASE_URL?: string;
  OPENAI_API_KEY?: string;
  DEMO_DELAY_MS?: string;
  HTTP_ALLOWLIST?: string;
  MODEL_CONTEXT_TOKENS?: string;
  MODEL_STALL_SECONDS?: string;
  EXPIRES_IN_SECONDS?: string;
  STEPS_PER_RUN?: string;
  RESUME_MODE?: string;
  AUTO_CONTINUE?: string;
  /** May hold secrets: never logged, never shown. */
  MCP_SERVERS?: string;
  OPERATORS?: string;
}

export interface Settings {
  auth: Auth;
  modelName: string;
  demo: boolean;
  model: Model;
  limits: Limits;
  resume: ResumeMode;
  mcpServers: McpServer[];
  /** The tools that ship, whatever the skill: names that no server may take. */
  shipped: Tools;
  agent(skill: string, offers?: readonly McpOffer[]): { system: string; tools: Tools };
}

/** For an object of a deployment whose settings are wrong: it does nothing until they are mended. */
export const outOfOrder: Settings = {
  auth: { mode: "local" },
  modelName: "",
  demo: false,
  model: () => {
    throw new Error("The settings of this deployment are wrong.");
  },
  limits: defaultLimits,
  resume: { mode: "continue" },
  mcpServers: [],
  shipped: new Map(),
  agent: () => ({ system: "", tools: new Map() }),
};

export interface Problem {
  setting: string;
  message: string;
}

const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most).optional();

const numbers = z.object({
  DEMO_DELAY_MS: whole(0, 10_000),
  MODEL_CONTEXT_TOKENS: whole(500, 10_000_000),
  MODEL_STALL_SECONDS: whole(1, 600),
  EXPIRES_IN_SECONDS: whole(1, 366 * 86_400),
  STEPS_PER_RUN: whole(1, 1000),
});

const resumeModes = z.object({ RESUME_MODE: z.enum(["continue", "message"]).optional(), AUTO_CONTINUE: z.enum(["true", "false"]).optional() });

/** The settings, or every problem that keeps this deployment from serving, each naming its setting. */
export function readSettings(env: Env): { ok: true; settings: Settings } | { ok: false; problems: Problem[] } {
  const problems: Problem[] = [];
  const auth = readAuth(env);
  if (!auth.ok) problems.push(...auth.problems);
  const parsed = numbers.safeParse(env);
  if (!parsed.success) problems.push(...parsed.error.issues.map((issue) => ({ setting: String(issue.path[0]), message: `${String(issue.path[0])} is wrong: ${issue.message}.` })));
  const modes = resumeModes.safeParse(env);
  if (!modes.success)
    problems.push(
      ...modes.error.issues.map((issue) => {
        const setting = issue.path[0] === "RESUME_MODE" ? "RESUME_MODE" : "AUTO_CONTINUE";
        return { setting, message: `${setting} is ${JSON.stringify(env[setting])}. Use ${setting === "RESUME_MODE" ? "continue or message" : "true or false"}.` };
      }),
    );
  if (!env.DB) problems.push({ setting: "DB", message: "The D1 binding DB is missing. Create the database and bind it in wrangler.toml." });
  if (env.EMAIL && !env.EMAIL_FROM) problems.push({ setting: "EMAIL_FROM", message: "EMAIL is bound, but EMAIL_FROM, the sender's address, is not set." });
  const number = parsed.data ?? {};
  const { MODEL, AI, OPENAI_BASE_URL, OPENAI_API_KEY } = env;
  const choice = createModel({ MODEL, AI, OPENAI_BASE_URL, OPENAI_API_KEY, ...(number.DEMO_DELAY_MS === undefined ? {} : { demoDelayMs: number.DEMO_DELAY_MS }) });
  if (!choice.ok) problems.push({ setting: choice.setting, message: choice.message });
  const mcp = readServers(env.MCP_SERVERS);
  if (!mcp.ok) problems.push({ setting: "MCP_SERVERS", message: mcp.message });
  if (!auth.ok || !choice.ok || !mcp.ok || problems.length > 0) return { ok: false, problems };

  const tools = toolsFor(env);
  return {
    ok: true,
    settings: {
      auth: auth.auth,
      modelName: choice.name,
      demo: choice.demo,
      model: choice.model,
      limits: limitsOf(number),
      resume: modes.data?.RESUME_MODE === "message" ? { mode: "message", auto: modes.data.AUTO_CONTINUE !== "false" } : { mode: "continue" },
      mcpServers: mcp.servers,
      shipped: tools,
      agent: (name, offers = []) => {
        const skill = skills.get(name);
        if (!skill) return { system: "", tools: new Map() };
        const silent = offers.filter((offer) => !offer.answers && uses(skill, offer.server)).map((offer) => offer.server);
        return { system: systemPrompt(skill, silent), tools: toolsOf(skill, tools, offers) };
      },
    },
  };
}

const uses = (skill: Skill, server: string): boolean => skill.tools === "all" || skill.tools.some((name) => name.startsWith(`${server}/`));

function toolsFor(env: Env): Tools {
  const httpAllowlist = (env.HTTP_ALLOWLIST ?? "")
    .split(",")
    .map((host) => host.trim())
    .filter(Boolean);
  return createTools({ httpAllowlist, emailConfigured: env.EMAIL !== undefined });
}

function limitsOf(number: z.infer<typeof numbers>): Limits {
  return {
    ...defaultLimits,
    ...(number.MODEL_CONTEXT_TOKENS === undefined ? {} : { contextTokens: number.MODEL_CONTEXT_TOKENS }),
    ...(number.MODEL_STALL_SECONDS === undefined ? {} : { modelStallMs: number.MODEL_STALL_SECONDS * 1000 }),
    ...(number.EXPIRES_IN_SECONDS === undefined ? {} : { expiresInMs: number.EXPIRES_IN_SECONDS * 1000 }),
    ...(number.STEPS_PER_RUN === undefined ? {} : { stepsPerRun: number.STEPS_PER_RUN }),
  };
}
