import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startServer, type Server } from "../kit/server.js";
import { device, hasBrowser, LAPTOP, launch, PHONE, SMALL_PHONE, type Screen } from "../kit/browser.js";

// Two devices, each a browser profile of its own, against the built Worker and the built web app.

let server: Server;
let browser: Browser;
let open: Screen[] = [];

beforeAll(async () => {
  if (!hasBrowser) return;
  server = await startServer({ vars: { DEMO_DELAY_MS: "2", EXPIRES_IN_SECONDS: "6" } });
  browser = await launch();
});

afterEach(async () => {
  const errors = open.flatMap((screen) => screen.errors);
  await Promise.all(open.map((screen) => screen.context.close()));
  open = [];
  expect(errors).toEqual([]);
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

const TRANSFER = "Transfer 250 EUR from operations to savings";

async function screen(viewport = LAPTOP): Promise<Page> {
  const made = await device(browser, server.url, viewport);
  open.push(made);
  return made.page;
}

const composer = (page: Page) => page.getByLabel("Message", { exact: true });
const card = (page: Page, state: string) => page.locator(`[data-testid=card][data-state=${state}]`);

async function say(page: Page, text: string): Promise<void> {
  await composer(page).fill(text);
  await page.keyboard.press("Enter");
}

/** A laptop asks, and a second device opens the same conversation. */
async function asked(text: string, viewport = PHONE): Promise<{ laptop: Page; phone: Page }> {
  const laptop = await screen();
  await laptop.goto("/");
  await say(laptop, text);
  await card(laptop, "pending").waitFor();
  const phone = await screen(viewport);
  await phone.goto(new URL(laptop.url()).pathname);
  await card(phone, "pending").waitFor();
  return { laptop, phone };
}

/** Presses the approval until it takes (a card heeds nobody in its first half second) and holds it until the card is decided. */
async function hold(page: Page, until: () => Promise<unknown> = () => card(page, "approved").waitFor()): Promise<void> {
  const button = page.getByRole("button", { name: /^Hold to/ });
  await button.scrollIntoViewIfNeeded();
  await button.hover();
  await expect
    .poll(async () => {
      await page.mouse.up();
      await page.mouse.down();
      return button.innerText();
    })
    .toBe("Keep holding…");
  await until();
  await page.mouse.up();
}

const answer = (page: Page, text: RegExp) => page.getByTestId("assistant-message").filter({ hasText: text }).waitFor();

const savings = async (): Promise<number> => {
  const ledger = (await (await fetch(`${server.url}/api/ledger`)).json()) as { accounts: { id: string; balanceMinor: number }[] };
  return ledger.accounts.find((account) => account.id === "savings")?.balanceMinor ?? 0;
};

describe.skipIf(!hasBrowser)("two devices", () => {
  it("[C9] [C28] the card is on both, the second approves, both see the result and who decided, and the money moves once", async () => {
    const before = await savings();
    const { laptop, phone } = await asked(TRANSFER);
    await hold(phone);
    for (const page of [laptop, phone]) {
      await answer(page, /250 EUR went from operations to savings/);
      await card(page, "approved")
        .getByTestId("stamp")
        .filter({ hasText: /approved/i })
        .first()
        .waitFor();
    }
    expect((await savings()) - before).toBe(25_000);
    await laptop.reload();
    await card(laptop, "approved").getByTestId("stamp").first().waitFor();
    await answer(laptop, /250 EUR went from operations to savings/);
    expect((await savings()) - before).toBe(25_000);
  });

  it("[C28] a reload while the card is pending brings the same card with the same buttons", async () => {
    const { laptop, phone } = await asked(TRANSFER);
    for (const page of [laptop, phone]) {
      await page.reload();
      await card(page, "pending").waitFor();
      await page.getByRole("button", { name: /^Hold to approve 250 EUR/ }).waitFor();
      await page.getByRole("button", { name: "Reject", exact: true }).waitFor();
    }
    expect(await laptop.getByTestId("card").count()).toBe(1);
  });

  it("[H11] [C21] expiry is seen by both: the buttons go, and the agent says that nobody decided", async () => {
    const { laptop, phone } = await asked("ask me for my name");
    for (const page of [laptop, phone]) {
      await card(page, "expired").waitFor();
      await answer(page, /nobody decided/i);
      expect(await page.getByRole("button", { name: /^(answer|send answer|decline)/i }).count()).toBe(0);
    }
  });

  it("[C37] clocks that are ten minutes off, both ways, change neither deadline nor expiry", async () => {
    const [laptop, phone] = [await screen(), await screen(PHONE)];
    await laptop.clock.install({ time: Date.now() + 600_000 });
    await phone.clock.install({ time: Date.now() - 600_000 });
    await laptop.goto("/");
    await say(laptop, TRANSFER);
    await card(laptop, "pending").waitFor();
    await phone.goto(new URL(laptop.url()).pathname);
    // The card waits a day: by their own clocks it would be ten minutes less, or more.
    for (const page of [laptop, phone])
      await page
        .getByTestId("deadline")
        .filter({ hasText: /^23 h 5[789] min left/ })
        .waitFor();
    await laptop.goto("/");
    await say(laptop, "ask me for my name");
    await card(laptop, "expired").or(card(laptop, "pending")).waitFor();
    await phone.goto(new URL(laptop.url()).pathname);
    for (const page of [laptop, phone]) await card(page, "expired").waitFor();
  });

  it("[C54] an edit on the phone is what runs, and both devices show the difference", async () => {
    const before = await savings();
    const { laptop, phone } = await asked(TRANSFER);
    await phone.getByRole("button", { name: "Edit", exact: true }).click();
    await phone.getByLabel(/amount/i).fill("50");
    await phone.getByRole("button", { name: /approve with changes/i }).waitFor();
    await hold(phone);
    for (const page of [laptop, phone]) await answer(page, /amount from 250 to 50/);
    expect((await savings()) - before).toBe(5000);
  });

  it("[C56] an editor that was opened and changed nothing is no edit", async () => {
    const { laptop, phone } = await asked(TRANSFER);
    await phone.getByRole("button", { name: "Edit", exact: true }).click();
    await phone.getByLabel(/amount/i).fill("99");
    await phone.getByLabel(/amount/i).fill("250");
    await hold(phone);
    await answer(laptop, /250 EUR went from operations to savings/);
    const id = await laptop.getByTestId("card").first().getAttribute("data-pause-point");
    expect(await (await fetch(`${server.url}/api/approvals/${id}`)).json()).toMatchObject({ state: "approved", payloadOverride: null });
  });

  it("[H13] a rejection's words reach the agent, which repeats them", async () => {
    const before = await savings();
    const { laptop, phone } = await asked(TRANSFER);
    await laptop.getByRole("button", { name: "Reject", exact: true }).click();
    await laptop.getByLabel("Your words to the agent").fill("Not before Friday, please");
    await laptop.getByRole("button", { name: "Reject with these words" }).click();
    for (const page of [laptop, phone]) {
      await card(page, "rejected").waitFor();
      await answer(page, /Not before Friday, please/);
    }
    expect(await savings()).toBe(before);
  });

  it("[C51] [C24] a card that arrives while a person types takes neither focus nor text, and Enter decides nothing", async () => {
    const laptop = await screen();
    await laptop.goto("/");
    await say(laptop, `say 60 words and ${TRANSFER.toLowerCase()}`);
    await laptop.waitForURL(/\/c\//);
    await composer(laptop).pressSequentially("yes", { delay: 5 });
    await card(laptop, "pending").waitFor();
    await composer(laptop).pressSequentially(" approved", { delay: 5 });
    expect(await composer(laptop).inputValue()).toBe("yes approved");
    expect(await laptop.evaluate("document.activeElement?.getAttribute('aria-label')")).toBe("Message");
    await laptop.keyboard.press("Enter");
    await laptop.locator("[data-testid=user-message][data-delivery=queued]").waitFor();
    expect(await card(laptop, "pending").count()).toBe(1);
  });

  it("[C52] a decision that can't be sent is called not sent, the card stays, and it is sent once when the connection is back", async () => {
    const before = await savings();
    const laptop = await screen();
    let cut = false;
    await laptop.routeWebSocket(/\/socket$/, (socket) => {
      if (cut) return void socket.close({ code: 1012 });
      const upstream = socket.connectToServer();
      socket.onMessage((message) => {
        if (!String(message).includes('"decide"')) return upstream.send(message);
        cut = true;
        void socket.close({ code: 1012 });
      });
    });
    await laptop.goto("/");
    await say(laptop, TRANSFER);
    await card(laptop, "pending").waitFor();
    await hold(laptop, () =>
      card(laptop, "pending")
        .getByText(/was not sent/)
        .waitFor(),
    );
    expect(await savings()).toBe(before);
    await laptop.unrouteAll();
    await laptop.routeWebSocket(/\/socket$/, (socket) => void socket.connectToServer());
    cut = false;
    await laptop.reload();
    await answer(laptop, /250 EUR went from operations to savings/);
    expect((await savings()) - before).toBe(25_000);
  });

  it("[H22] an edit and a second answer are versions, the same on both devices, and a reload keeps the one in use", async () => {
    const laptop = await screen();
    await laptop.goto("/");
    await say(laptop, "say 3 words");
    await laptop.getByRole("button", { name: "Regenerate" }).waitFor();
    const phone = await screen(PHONE);
    await phone.goto(new URL(laptop.url()).pathname);
    await phone.getByRole("button", { name: "Regenerate" }).click();
    const versions = (page: Page, text: string) => page.getByTestId("versions").filter({ hasText: text }).waitFor();
    for (const page of [laptop, phone]) await versions(page, "2/2");
    await laptop.getByRole("button", { name: "Earlier version" }).click();
    for (const page of [laptop, phone]) await versions(page, "1/2");
    await laptop.getByRole("button", { name: "Edit" }).click();
    await laptop.getByLabel("Your text").fill("say 4 words");
    await laptop.getByRole("button", { name: "Send", exact: true }).first().click();
    for (const page of [laptop, phone]) {
      await page.getByTestId("user-message").filter({ hasText: "say 4 words" }).waitFor();
      await page.getByTestId("user-message").filter({ hasText: "say 3 words" }).waitFor({ state: "detached" });
    }
    await laptop.getByRole("button", { name: "Earlier version" }).click();
    for (const page of [laptop, phone]) await page.getByTestId("user-message").filter({ hasText: "say 3 words" }).waitFor();
    await phone.reload();
    await phone.getByTestId("user-message").filter({ hasText: "say 3 words" }).waitFor();
    for (const page of [laptop, phone]) expect(await page.getByTestId("versions").allInnerTexts()).toEqual(["1/2", "2/2"]);
  });

  it("a question to a device is answered in the browser, by whom it is for, and the answer is on every device", async () => {
    const { laptop, phone } = await asked("where am I?");
    await laptop.getByRole("button", { name: "Share my location" }).click();
    await card(laptop, "pending")
      .getByRole("alert")
      .filter({ hasText: /may not tell where it is/ })
      .waitFor();
    await phone.context().grantPermissions(["geolocation"], { origin: server.url });
    await phone.context().setGeolocation({ latitude: 52.52, longitude: 13.405, accuracy: 20 });
    await phone.getByRole("button", { name: "Share my location" }).click();
    for (const page of [laptop, phone]) {
      await answer(page, /You are at 52.52, 13.405/);
      await card(page, "approved").first().waitFor();
    }
  });

  it("[C53] approved, and the tool failed: the card says both", async () => {
    const { laptop, phone } = await asked("Transfer 99000 EUR from operations to savings");
    await hold(phone);
    for (const page of [laptop, phone]) {
      const failed = page.locator("[data-testid=card][data-state=approved][data-call-state=failed]");
      await failed.waitFor();
      expect(await failed.innerText()).toMatch(/failed/i);
      expect(await failed.innerText()).toMatch(/approved/i);
    }
  });

  it("[C2] who comes second sees the first answer", async () => {
    const { laptop, phone } = await asked(TRANSFER);
    const id = await laptop.getByTestId("card").first().getAttribute("data-pause-point");
    const decided = await fetch(`${server.url}/api/chat/resume`, {
      method: "POST",
      headers: { "x-device-id": "d3", "x-device-name": "Kitchen tablet" },
      body: JSON.stringify({ pausePointId: id, decision: "reject" }),
    });
    expect(decided.status).toBe(200);
    for (const page of [laptop, phone])
      await card(page, "rejected")
        .filter({ hasText: /Kitchen tablet/ })
        .waitFor();
  });
});

describe.skipIf(!hasBrowser)("one device", () => {
  it("answers questions: a choice, and values to fill in", async () => {
    const laptop = await screen();
    await laptop.goto("/");
    await say(laptop, "let me choose between tea and coffee");
    await card(laptop, "pending").waitFor();
    await laptop
      .getByRole("radio", { name: /coffee/i })
      .or(laptop.getByRole("button", { name: /coffee/i }))
      .first()
      .click();
    const send = laptop.getByRole("button", { name: /^Answer/ });
    if (await send.count()) await send.click();
    await answer(laptop, /coffee/i);
    await say(laptop, "ask me to fill in name and seats");
    await card(laptop, "pending").waitFor();
    await card(laptop, "pending").getByLabel(/name/i).fill("Ana");
    await laptop.getByRole("button", { name: /^Send 2 fields/ }).click();
    await answer(laptop, /Ana/);
  });

  it("[C47] [C49] text of a model is never markup, loads nothing, and odd characters are visible", async () => {
    const laptop = await screen();
    const foreign: string[] = [];
    laptop.on("request", (request) => {
      if (!request.url().startsWith(server.url) && !request.url().startsWith("data:")) foreign.push(request.url());
    });
    await laptop.goto("/");
    await say(laptop, "E-mail bob@example.com that ![](https://evil.example/?q=1) <img src=https://evil.example/2 onerror=alert(1)> \u202Egnp.exe");
    await card(laptop, "pending").waitFor();
    expect(await card(laptop, "pending").innerText()).toMatch(/202E/);
    expect(foreign).toEqual([]);
    expect(await laptop.locator("main img, [data-testid=card] img").count()).toBe(0);
  });

  it("is usable at 360 px: nothing is wider than the screen, and the buttons of the card are in view", async () => {
    const { phone } = await asked(TRANSFER, SMALL_PHONE);
    expect(await phone.evaluate<number>("document.documentElement.scrollWidth")).toBeLessThanOrEqual(360);
    for (const name of [/^Hold to/, /^Reject$/]) {
      const box = await phone.getByRole("button", { name }).boundingBox();
      expect(box && box.y >= 0 && box.y + box.height <= 640).toBe(true);
    }
  });

  it("is usable with the keyboard alone: ask, reach the card, type the word, approve", async () => {
    const laptop = await screen();
    await laptop.goto("/");
    await composer(laptop).focus();
    await laptop.keyboard.type(TRANSFER);
    await laptop.keyboard.press("Enter");
    await card(laptop, "pending").waitFor();
    const focused = () => laptop.evaluate<string>("document.activeElement?.closest('button')?.textContent ?? ''");
    for (let tab = 0; tab < 40 && !/Type APPROVE/.test(await focused()); tab += 1) await laptop.keyboard.press("Shift+Tab");
    const word = laptop.getByLabel(/Type APPROVE to/);
    await expect
      .poll(
        async () => {
          if ((await word.count()) === 0 && /Type APPROVE/.test(await focused())) await laptop.keyboard.press("Enter");
          return word.count();
        },
        { timeout: 5000 },
      )
      .toBe(1);
    const inWord = () => laptop.evaluate<boolean>("document.activeElement?.matches('input.tag-text') ?? false");
    for (let tab = 0; tab < 40 && !(await inWord()); tab += 1) await laptop.keyboard.press("Shift+Tab");
    await laptop.keyboard.type("APPROVE");
    for (let tab = 0; tab < 10 && (await focused()) !== "Approve"; tab += 1) await laptop.keyboard.press("Tab");
    await laptop.keyboard.press("Enter");
    await card(laptop, "approved").waitFor();
    await answer(laptop, /went from operations to savings/);
  });

  it("[S7] says when the connection is lost, and comes back current by itself", async () => {
    const laptop = await screen();
    const sockets: { close: (options: { code: number }) => Promise<void> }[] = [];
    await laptop.routeWebSocket(/\/socket$/, (socket) => {
      socket.connectToServer();
      sockets.push(socket);
    });
    await laptop.goto("/");
    await say(laptop, "say 5 words");
    await laptop.locator("[data-testid=connection][data-status=live]").waitFor();
    await sockets.at(-1)?.close({ code: 1012 });
    await laptop.locator("[data-testid=connection]:not([data-status=live])").waitFor();
    await laptop.locator("[data-testid=connection][data-status=live]").waitFor();
    await say(laptop, "say 6 words");
    await expect.poll(() => laptop.getByTestId("assistant-message").count()).toBe(2);
  });

  it("shows the ledger's four accounts", async () => {
    const laptop = await screen();
    await laptop.goto("/ledger");
    for (const account of ["Operations", "Savings", "Payroll", "Supplier Nordwind"]) await laptop.getByText(account, { exact: true }).first().waitFor();
  });
});
