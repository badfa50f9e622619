// The explorer in a real browser, on a trace that is served: LBOLT_EXPLORE is its address,
// LBOLT_CHROMIUM the browser's path. Run by crates/lbolt/tests/explore.rs, by Node's own test
// runner. Screenshots go to LBOLT_SHOTS, where that is set.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { WIDTHS, launch, seriousFaults, watch, widths } from "./browser.mjs";

const ADDRESS = process.env.LBOLT_EXPLORE ?? "";
const SHOTS = process.env.LBOLT_SHOTS;

/** @typedef {import("playwright-core").Page} Page */
/** @type {import("playwright-core").Browser} */
let browser;

before(async () => {
  browser = await launch();
});

after(() => browser?.close());

/** @param {import("playwright-core").BrowserContextOptions} options */
async function open(options = {}, hash = "") {
  const viewport = { width: 1280, height: 900 };
  const context = await browser.newContext({ viewport, ...options });
  const page = await context.newPage();
  /** @type {string[]} */
  const complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(ADDRESS) && !url.startsWith("data:")) complaints.push(`asked for ${url}`);
  });
  await watch(page);
  await page.goto(ADDRESS + hash);
  await answered(page);
  return { context, page, complaints };
}

/** Waits for an answer; gives how many requests it counts. */
async function answered(/** @type {Page} */ page) {
  await page.locator("#answer[data-answers]").waitFor();
  return requests(page);
}

async function requests(/** @type {Page} */ page) {
  const text = (await page.locator("#answer").textContent()) ?? "";
  return Number((text.split(" requests")[0] ?? "").replaceAll("\u202f", ""));
}

/** Does something, and waits until another answer is there. */
async function then(/** @type {Page} */ page, /** @type {() => Promise<unknown>} */ act) {
  const before = await page.locator("#answer").getAttribute("data-answers");
  await act();
  await page.waitForFunction(
    (before) => document.querySelector("#answer")?.getAttribute("data-answers") !== before,
    before,
  );
  return requests(page);
}

/** Drags over parts of a figure. */
async function drag(
  /** @type {Page} */ page,
  /** @type {string} */ figure,
  /** @type {[number, number]} */ from,
  /** @type {[number, number]} */ to,
) {
  const over = page.locator(`#${figure} .u-over`);
  await over.scrollIntoViewIfNeeded();
  const box = await over.boundingBox();
  assert.ok(box !== null);
  const at = (/** @type {[number, number]} */ [x, y]) =>
    /** @type {const} */ ([box.x + x * box.width, box.y + y * box.height]);
  await page.mouse.move(...at(from));
  await page.mouse.down();
  await page.mouse.move(...at(to), { steps: 4 });
  await page.mouse.up();
}

async function shot(/** @type {Page} */ page, /** @type {string} */ name) {
  if (SHOTS !== undefined) {
    await page.screenshot({ path: join(SHOTS, `explore-${name}.png`), fullPage: true });
  }
}

describe("explore", () => {
  for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
    test(`shows the trace, ${colorScheme}, without a serious fault of access`, async () => {
      const { context, page, complaints } = await open({ colorScheme });
      assert.ok((await requests(page)) > 0);
      for (const figure of ["flow", "responses", "places"]) {
        assert.equal(await page.locator(`#${figure} canvas`).count(), 1, figure);
      }
      await page.locator("#requests tbody tr").first().waitFor();
      await page.locator("#requests tbody button").first().click();
      await page.locator("#request h3").waitFor();
      assert.deepEqual(await seriousFaults(page), []);
      assert.deepEqual(complaints, []);
      const seen = await page.evaluate(() => globalThis.seen);
      assert.equal(seen.moved, 0, "nothing moves by itself");
      await shot(page, colorScheme);
      await context.close();
    });
  }

  test("every figure follows what is brushed, and the browser's back goes back", async () => {
    const { context, page, complaints } = await open();
    const all = await requests(page);
    const inTime = await then(page, () => drag(page, "flow", [0.3, 0.5], [0.7, 0.5]));
    assert.ok(inTime > 0 && inTime < all, `${inTime} of ${all}`);
    assert.equal(await page.locator("#chips li").count(), 1);
    const slow = await then(page, () => drag(page, "responses", [0.02, 0.004], [0.98, 0.5]));
    assert.ok(slow > 0 && slow < inTime, `${slow} of ${inTime}`);
    assert.match((await page.locator("#chips").textContent()) ?? "", /response/);
    const kept = page.url();
    assert.equal(await then(page, () => page.goBack()), inTime);
    assert.equal(await then(page, () => page.goBack()), all);
    const again = await open({}, kept.slice(ADDRESS.length));
    assert.equal(await requests(again.page), slow, "an address shows what it showed");
    await again.context.close();
    const placed = await then(page, () => drag(page, "places", [0.05, 0.02], [0.95, 0.5]));
    assert.ok(placed < all, `${placed} of ${all}`);
    assert.match((await page.locator("#chips").textContent()) ?? "", /place on/);
    const without = page.locator("#chips button", { hasText: "×" });
    while ((await without.count()) > 0) await then(page, () => without.first().click());
    assert.equal(await requests(page), all);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test("a line of a list chooses, and the others of its list stay to be chosen", async () => {
    const { context, page, complaints } = await open();
    const all = await requests(page);
    const lines = page.locator("#operations tbody tr");
    const count = await lines.count();
    const first = lines.first().locator("button");
    const own = await then(page, () => first.click());
    assert.ok(own > 0 && own < all, `${own} of ${all}`);
    assert.equal(await lines.count(), count);
    assert.equal(await first.getAttribute("aria-pressed"), "true");
    assert.equal(await then(page, () => page.locator("#all").click()), all);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test("keys zoom, move and go back", async () => {
    const { context, page, complaints } = await open();
    const all = await requests(page);
    await page.locator("#responses").focus();
    const near = await then(page, () => page.keyboard.press("+"));
    assert.ok(near <= all);
    const times = () => page.locator("#from").inputValue();
    const from = Number(await times());
    await then(page, () => page.keyboard.press("ArrowRight"));
    assert.ok(Number(await times()) > from);
    await then(page, () => page.keyboard.press("Escape"));
    assert.equal(Number(await times()), from);
    await then(page, () => page.keyboard.press("-"));
    assert.equal(await requests(page), all);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test("a time can be typed, and what is none is said", async () => {
    const { context, page } = await open();
    const all = await requests(page);
    const until = Number(await page.locator("#until").inputValue());
    await page.locator("#until").fill(String(until / 2));
    const half = await then(page, () => page.keyboard.press("Enter"));
    assert.ok(half > 0 && half < all, `${half} of ${all}`);
    await page.locator("#from").fill("soon");
    await page.keyboard.press("Enter");
    assert.match((await page.locator("#answer").textContent()) ?? "", /number of seconds/);
    await page.locator("#from").fill("9999999");
    await page.keyboard.press("Enter");
    assert.match((await page.locator("#answer").textContent()) ?? "", /ends before it begins/);
    await context.close();
  });

  test("a single request shows its steps, and what went on meanwhile", async () => {
    const { context, page, complaints } = await open();
    await page.locator("#requests tbody button").first().click();
    await page.locator("#request .steps span").first().waitFor();
    assert.match((await page.locator("#request").textContent()) ?? "", /in the queue and at the device: .*operation/);
    await shot(page, "request");
    const meanwhile = page.getByRole("button", { name: "What went on meanwhile" });
    const others = await then(page, () => meanwhile.click());
    assert.ok(others >= 1);
    const rows = page.waitForResponse((response) => response.url().includes("/requests?"));
    await page.getByRole("button", { name: "First first" }).click();
    assert.ok((await rows).ok());
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test("fits any width", async () => {
    for (const width of WIDTHS) {
      const { context, page, complaints } = await open({ viewport: { width, height: 900 } });
      const { scroll, client } = await widths(page);
      assert.ok(scroll <= client, `${width}: ${scroll} > ${client}`);
      assert.deepEqual(complaints, []);
      await shot(page, `${width}`);
      await context.close();
    }
  });

  test("an answer is drawn soon", async () => {
    const { context, page } = await open();
    /** @type {number[]} */
    const took = [];
    for (let turn = 0; turn < 12; turn++) {
      const from = 0.05 * turn;
      const began = performance.now();
      await then(page, () => drag(page, "flow", [from, 0.5], [from + 0.3, 0.5]));
      took.push(Number(await page.locator("#answer").getAttribute("data-took-ms")));
      assert.ok(performance.now() - began < 20_000);
      await then(page, () => page.locator("#all").click());
      took.push(Number(await page.locator("#answer").getAttribute("data-took-ms")));
    }
    took.sort((a, b) => a - b);
    const at = (/** @type {number} */ share) => took[Math.floor(share * (took.length - 1))];
    console.log(`explore: an answer takes ${at(0.5)} ms, 95 % within ${at(0.95)} ms`);
    await context.close();
  });

  test("runs nothing that a name holds, and says what a lost server means", async () => {
    const { context, page } = await open();
    assert.equal(await page.evaluate(() => Reflect.get(globalThis, "taken")), undefined);
    assert.equal(await page.locator("img, iframe, object, embed").count(), 0);
    await page.route("**/view?*", (route) => route.abort());
    await page.locator("#operations tbody button").first().click();
    await page.waitForFunction(() =>
      /server is gone/.test(document.querySelector("#answer")?.textContent ?? ""),
    );
    await context.close();
  });

  test("without JavaScript it says what to do", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(ADDRESS);
    assert.match((await page.locator("noscript, body").first().textContent()) ?? "", /lbolt report/);
    await context.close();
  });
});
