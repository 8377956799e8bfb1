import type { UIMessage } from "ai";
import type { Browser, Page } from "playwright-core";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, LAPTOP, launch } from "../kit/browser.js";
import { api, history, newConversation, normal, transfers, type Server } from "./ai-sdk-kit.js";

const ENTRY = new URL("stock-page.ts", import.meta.url).pathname;

/** The AI SDK in a real browser: who it is comes with the cookie, and its transport gets nothing but an address. */
export function browserScenarios(at: () => Server): void {
  let browser: Browser;
  let script = "";
  /** Connections opened and streams asked for, per tab. */
  const seen = new WeakMap<Page, { sockets: number; resumes: number }>();
  beforeAll(async () => {
    if (!hasBrowser) return;
    const made = await build({
      configFile: false,
      logLevel: "error",
      define: { "process.env.NODE_ENV": '"production"' },
      build: { write: false, minify: false, lib: { entry: ENTRY, formats: ["iife"], name: "stock" } },
    });
    const output = [made].flat().flatMap((one) => ("output" in one ? one.output : []));
    script = output.flatMap((one) => (one.type === "chunk" ? [one.code] : [])).join("\n");
    browser = await launch();
  });
  afterAll(() => browser?.close());

  /** A tab in which a stock chat shows this conversation, and listens whenever it is at rest. */
  async function tab(opener: { newPage(): Promise<Page> }, id: string): Promise<Page> {
    const page = await opener.newPage();
    await page.route("**/stock.js", (route) => route.fulfill({ contentType: "text/javascript", body: script }));
    await page.goto(`${at().url}/healthz`);
    await page.addScriptTag({ url: "/stock.js" });
    seen.set(page, { sockets: 0, resumes: 0 });
    page.on("websocket", (socket) => {
      seen.get(page)!.sockets += 1;
      socket.on("framesent", ({ payload }) => {
        if (String(payload).startsWith('{"type":"resume"')) seen.get(page)!.resumes += 1;
      });
    });
    await page.evaluate(
      ([chatId, messages]) => {
        const { Chat, WebSocketChatTransport, sendAutomaticallyWhen } = globalThis as any;
        const transport = new WebSocketChatTransport({ url: "/api/chat/socket" });
        const chat = new Chat({ id: chatId, messages: JSON.parse(messages), transport, sendAutomaticallyWhen });
        Object.assign(globalThis, { chat });
        const listen = async (): Promise<void> => {
          while (chat.status === "ready") await chat.resumeStream();
        };
        void listen();
      },
      [id, JSON.stringify(await history(at(), id))] as const,
    );
    return page;
  }

  const sockets = (page: Page): number => seen.get(page)?.sockets ?? 0;
  const resumes = (page: Page): number => seen.get(page)?.resumes ?? 0;
  const messages = (page: Page): Promise<UIMessage[]> => page.evaluate(() => (globalThis as any).chat.messages);
  const cards = (page: Page): Promise<string[]> =>
    page.evaluate(() =>
      (globalThis as any).chat.messages.flatMap((message: any) => message.parts.flatMap((part: any) => (part.state === "approval-requested" ? [part.approval.id] : []))),
    );
  const asked = (page: Page) =>
    page.waitForFunction(() => (globalThis as any).chat.status === "ready" && /"approval-requested"/.test(JSON.stringify((globalThis as any).chat.messages)));
  const atRest = (page: Page) =>
    page.waitForFunction(() => (globalThis as any).chat.status === "ready" && /"output-(available|denied)"/.test(JSON.stringify((globalThis as any).chat.messages)));

  describe.skipIf(!hasBrowser)("a stock AI SDK client in a browser, over WebSocket", () => {
    it("[C28] signed in by cookie: an approval in one tab, and the other tab, which only listens, shows the same", async () => {
      const id = await newConversation(at());
      const context = await browser.newContext({ baseURL: at().url, viewport: LAPTOP });
      expect((await context.request.post("/auth/local", { data: { name: "ana" } })).status()).toBe(200);
      const one = await tab(context, id);
      await one.evaluate(() => (globalThis as any).chat.sendMessage({ text: "Transfer 250 EUR from operations to savings" }));
      const two = await tab(context, id);
      for (const page of [one, two]) await asked(page);
      expect(await cards(two)).toEqual(await cards(one));
      await one.evaluate((card) => (globalThis as any).chat.addToolApprovalResponse({ id: card, approved: true }), (await cards(one))[0] ?? "");
      await Promise.all([atRest(one), atRest(two)]);
      const stored = normal(await history(at(), id));
      expect(normal(await messages(one))).toEqual(stored);
      expect(normal(await messages(two))).toEqual(stored);
      expect(await transfers(at(), id)).toEqual([250]);
      expect((await api(at(), "ana", "GET", `/api/approvals?state=approved`)).body.items).toContainEqual(expect.objectContaining({ conversationId: id, decidedBy: "ana" }));
      // Both are listening again, each on one connection, without asking over and over.
      await api(at(), "ana", "POST", "/api/chat", { id, messages: [{ id: "typed-elsewhere", role: "user", parts: [{ type: "text", text: "say 12 words" }] }] });
      for (const page of [one, two]) await page.waitForFunction(() => (globalThis as any).chat.messages.at(-1).id === "m4" && (globalThis as any).chat.status === "ready");
      expect([sockets(one), sockets(two)]).toEqual([1, 1]);
      expect(resumes(one)).toBeLessThanOrEqual(4);
      expect(resumes(two)).toBeLessThanOrEqual(4);
      await context.close();
    });
  });
}
