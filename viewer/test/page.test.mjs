// Pages of real runs in a real browser: LBOLT_PAGES has their paths, one a line, LBOLT_CHROMIUM the
// browser's. Run by crates/lbolt/tests/page.rs, by Node's own test runner: it needs no other
// package, and no step that builds it. Screenshots go to LBOLT_SHOTS, where that is set.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { WIDTHS, launch, seriousFaults, watch, widths } from "./browser.mjs";

const PAGES = (process.env.LBOLT_PAGES ?? "").split("\n").filter((path) => path !== "");
const SHOTS = process.env.LBOLT_SHOTS;
const MOST_BYTES = 1.5e6;

/** @type {import("playwright-core").Browser} */
let browser;

before(async () => {
  browser = await launch();
});

after(() => browser?.close());

/**
 * A page with what it complained of, what it asked for, and how far it moved by itself.
 * @param {string} path
 * @param {import("playwright-core").BrowserContextOptions} options
 */
async function open(path, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    acceptDownloads: true,
    ...options,
  });
  const page = await context.newPage();
  /** @type {string[]} */
  const complaints = [];
  /** @type {string[]} */
  const requests = [];
  const own = pathToFileURL(path).href;
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    const url = request.url();
    if (url !== own && !/^(data|blob):/.test(url)) requests.push(url);
  });
  await watch(page);
  await page.goto(own);
  return { context, page, complaints, requests };
}

/** Whether every chart that stands in the window is drawn. */
const isDrawnHere = () =>
  [...document.querySelectorAll(".drawing-place")].every((place) => {
    const { top, bottom, width } = place.getBoundingClientRect();
    const isSeen = width > 0 && bottom > 0 && top < innerHeight;
    return !isSeen || place.querySelectorAll("svg > *").length >= 2;
  });

/** Goes through the page, so that every chart comes near what is seen. */
async function walk(/** @type {import("playwright-core").Page} */ page) {
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  for (let top = 0; top <= height; top += 700) {
    await page.evaluate((top) => scrollTo({ top, behavior: "instant" }), top);
    await page.waitForTimeout(40);
    // Which one is missing after that is for the test to tell.
    await page.waitForFunction(isDrawnHere, undefined, { timeout: 10_000 }).catch(() => undefined);
  }
  await page.evaluate(() => scrollTo({ top: 0, behavior: "instant" }));
  await page.waitForTimeout(80);
}

/** How many charts there are, and which are not drawn. */
const drawn = () => {
  const charts = JSON.parse(document.querySelector("#charts")?.textContent ?? "[]");
  const missing = charts.filter((/** @type {{id: string}} */ { id }) => {
    const marks = document.querySelectorAll(`#${CSS.escape(id)} .drawing-place svg > *`);
    return marks.length < 2;
  });
  return { count: charts.length, missing: missing.map((/** @type {{id: string}} */ c) => c.id) };
};

for (const path of PAGES) {
  const name = basename(path, ".html");
  const shot = async (/** @type {import("playwright-core").Page} */ page, /** @type {string} */ of) => {
    if (SHOTS !== undefined) {
      await page.screenshot({ path: join(SHOTS, `${name}-${of}.png`), fullPage: true });
    }
  };

  describe(name, () => {
    test("is small", () => assert.ok(statSync(path).size <= MOST_BYTES, `${statSync(path).size}`));

    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
      test(`is drawn whole, ${colorScheme}, and asks for nothing`, async () => {
        const { context, page, complaints, requests } = await open(path, { colorScheme });
        await walk(page);
        const { count, missing } = await page.evaluate(drawn);
        assert.deepEqual(missing, [], `of ${count} charts`);
        assert.deepEqual(complaints, []);
        assert.deepEqual(requests, []);
        const seen = await page.evaluate(() => globalThis.seen);
        assert.equal(seen.moved, 0, "nothing moves by itself");
        console.log(`${name} ${colorScheme}: first paint after ${Math.round(seen.paint)} ms`);
        await shot(page, colorScheme);
        await context.close();
      });

      test(`has no serious fault of access, ${colorScheme}`, async () => {
        const { context, page } = await open(path, { colorScheme });
        await walk(page);
        assert.deepEqual(await seriousFaults(page), []);
        await context.close();
      });
    }

    test("fits any width", async () => {
      for (const width of WIDTHS) {
        const { context, page, complaints } = await open(path, { viewport: { width, height: 900 } });
        await walk(page);
        const { scroll, client } = await widths(page);
        assert.ok(scroll <= client, `${width}: ${scroll} > ${client}`);
        assert.deepEqual((await page.evaluate(drawn)).missing, []);
        assert.deepEqual(complaints, []);
        await shot(page, `${width}`);
        await context.close();
      }
    });

    test("is drawn anew when the window changes", async () => {
      const { context, page } = await open(path);
      const plot = page.locator(".plot").first();
      if ((await plot.count()) > 0) {
        await plot.scrollIntoViewIfNeeded();
        await page.waitForTimeout(100);
        await page.setViewportSize({ width: 700, height: 900 });
        await page.waitForTimeout(150);
        const [box, svg] = await plot.evaluate((plot) => [
          plot.clientWidth,
          plot.querySelector("svg.drawing")?.getBoundingClientRect().width ?? 0,
        ]);
        assert.ok(Math.abs((box ?? 0) - (svg ?? 0)) < 2, `${box} ${svg}`);
      }
      await context.close();
    });

    test("has a cursor for keys, and a pointer's", async () => {
      const { context, page } = await open(path);
      const plots = page.locator(".plot");
      for (let place = 0; place < (await plots.count()); place++) {
        const plot = plots.nth(place);
        await plot.scrollIntoViewIfNeeded();
        await page.waitForTimeout(30);
        await plot.focus();
        await page.keyboard.press("ArrowRight");
        const first = await page.locator(".live").textContent();
        assert.notEqual(first, "");
        assert.ok(await plot.locator(".tip").isVisible());
        const took = await plot.evaluate((plot) => {
          const began = performance.now();
          plot.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
          plot.getBoundingClientRect();
          return performance.now() - began;
        });
        if (place === 0) console.log(`${name}: a key takes ${took.toFixed(1)} ms`);
        await page.keyboard.press("End");
        await page.keyboard.press("Escape");
        assert.ok(await plot.locator(".tip").isHidden());
        assert.ok(!(await plot.evaluate((plot) => plot === document.activeElement)));
      }
      await context.close();
    });

    test("puts each bin of a heat map where it belongs", async () => {
      const { context, page } = await open(path);
      await walk(page);
      const wrong = await page.evaluate(async () => {
        const charts = JSON.parse(document.querySelector("#charts")?.textContent ?? "[]");
        const faults = [];
        for (const { id, kind, x, columns } of charts) {
          if (kind !== "heat") continue;
          const drawn = document.querySelector(`#${CSS.escape(id)} image`);
          const image = new Image();
          image.src = drawn?.getAttribute("href") ?? "";
          await image.decode();
          const canvas = document.createElement("canvas");
          [canvas.width, canvas.height] = [image.width, image.height];
          const plane = canvas.getContext("2d");
          plane?.drawImage(image, 0, 0);
          const pixels = plane?.getImageData(0, 0, image.width, image.height).data ?? [];
          /** @type {(number | null)[]} */
          const counts = columns[0].values;
          const lines = counts.length / x.bins;
          const isOff = counts.some((count, place) => {
            const alpha = pixels[place * 4 + 3] ?? 0;
            return alpha > 0 !== (count ?? 0) > 0;
          });
          // Its lines come from below, as the counts do.
          const isUpright = drawn?.getAttribute("transform")?.endsWith("scale(1,-1)");
          const isWhole = image.width === x.bins && image.height === lines;
          if (isOff || isUpright !== true || !isWhole) faults.push(id);
        }
        return faults;
      });
      assert.deepEqual(wrong, []);
      await context.close();
    });

    test("keeps the theme that is chosen", async () => {
      const { context, page } = await open(path, { colorScheme: "light" });
      const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const light = await paper();
      await page.locator("#theme").click();
      assert.notEqual(await paper(), light);
      await page.reload();
      // A busy machine may show a page before its style has come.
      for (let tries = 0; tries < 100 && (await paper()) === light; tries++) {
        await page.waitForTimeout(50);
      }
      assert.notEqual(await paper(), light);
      assert.equal(await page.locator("#theme").textContent(), "Theme: dark");
      await context.close();
    });

    test("gives each chart's data as CSV and each chart a place in the address", async () => {
      const { context, page, complaints } = await open(path);
      const figures = page.locator("figure");
      if ((await figures.count()) > 0) {
        const id = (await figures.first().getAttribute("id")) ?? "";
        await page.locator(`#${id} .permalink`).click();
        assert.ok(page.url().endsWith(`#${id}`));
        const [download] = await Promise.all([
          page.waitForEvent("download"),
          page.locator(`#${id} .csv`).click(),
        ]);
        assert.equal(download.suggestedFilename(), `${id}.csv`);
        const lines = readFileSync((await download.path()) ?? "", "utf8").trim().split("\n");
        assert.ok(lines.length > 1, lines.join("\n"));
        assert.deepEqual(complaints, []);
      }
      await context.close();
    });

    test("says everything without its script", async () => {
      const { context, page } = await open(path, { javaScriptEnabled: false });
      assert.ok(await page.locator("h1").isVisible());
      const tables = await page.locator("table").count();
      const figures = await page.locator("figure").count();
      assert.ok(tables >= figures, `${tables} tables, ${figures} figures`);
      assert.equal(await page.locator(".plot:visible").count(), 0);
      assert.equal(await page.locator("button:visible").count(), 0);
      const details = page.locator("figure details").first();
      if ((await details.count()) > 0) {
        await details.locator("summary").click();
        assert.ok(await details.locator("table").isVisible());
      }
      await shot(page, "no-script");
      await context.close();
    });

    test("can be printed", async () => {
      const { context, page } = await open(path, { colorScheme: "dark" });
      await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
      assert.deepEqual((await page.evaluate(drawn)).missing, []);
      await page.emulateMedia({ media: "print" });
      assert.equal(await page.locator("button:visible").count(), 0);
      const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(paper, "rgb(255, 255, 255)");
      await context.close();
    });

    test("runs nothing that a name holds", async () => {
      const { context, page } = await open(path);
      assert.equal(await page.evaluate(() => Reflect.get(globalThis, "taken")), undefined);
      assert.equal(await page.locator("img, iframe, object, embed").count(), 0);
      assert.equal(await page.locator("script").count(), 3);
      const ids = await page.locator("[id]").evaluateAll((all) => all.map(({ id }) => id));
      assert.equal(new Set(ids).size, ids.length, "each name once");
      await context.close();
    });
  });
}
