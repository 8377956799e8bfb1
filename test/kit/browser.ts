import { existsSync } from "node:fs";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";

/** Where Debian's Chromium is, or what CHROMIUM names. */
const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const hasBrowser = existsSync(CHROMIUM);

if (!hasBrowser) {
  const how = "The browser tests were left out: there is no Chromium. Get it with: apt-get install chromium (or set CHROMIUM to its path).";
  if (process.env["HOLDPOINT_BROWSER"] === "required") throw new Error(how);
  console.log(how);
}

export const launch = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM, args: FLAGS, env: { ...process.env, HOME: mkdtempSync(join(tmpdir(), "holdpoint-browser-")) } });

export const LAPTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };
export const SMALL_PHONE = { width: 360, height: 640 };

export interface Screen {
  context: BrowserContext;
  page: Page;
  /** What went wrong on the page: uncaught errors and refused content. */
  errors: string[];
}

/** One device: a browser profile of its own. */
export async function device(browser: Browser, url: string, viewport: { width: number; height: number }, colorScheme: "light" | "dark" = "light"): Promise<Screen> {
  const context = await browser.newContext({ baseURL: url, viewport, colorScheme, hasTouch: viewport.width < 600, reducedMotion: "reduce" });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" && /Content Security Policy|Refused to/.test(message.text())) errors.push(message.text());
  });
  return { context, page, errors };
}
