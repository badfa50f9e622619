// Charts made by hand, in the committed page in a real browser: what no run can be made to hold.
// LBOLT_CHROMIUM is the browser's path; run by crates/lbolt/tests/page.rs.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { launch } from "./browser.mjs";

const VIEWER = new URL("../../crates/report/src/page/viewer.html", import.meta.url);
const TEMPLATE = readFileSync(VIEWER, "utf8");

/** @type {import("playwright-core").Browser} */
let browser;

before(async () => {
  browser = await launch();
});

after(() => browser?.close());

/** @param {Record<string, unknown>} own */
function chart(own) {
  const axis = { label: "", unit: "", scale: "linear" };
  const plane = { id: "c", title: "A chart", height: 340, x: axis, y: axis, series: ["s"] };
  return { ...plane, columns: [], rules: [], fits: [], ...own };
}

/**
 * @param {string} role
 * @param {(number | string | null)[]} values
 */
const column = (role, values, unit = "") => ({ name: role, unit, role, values });

/** What is drawn of a chart, read in the page by `read`.
 * @template T
 * @param {ReturnType<typeof chart>} of
 * @param {() => T} read
 */
async function drawn(of, read) {
  const figure = '<figure id="c"><div class="plot" tabindex="0"></div></figure>';
  const parts = { title: of.title, body: figure, charts: JSON.stringify([of]) };
  const html = Object.entries(parts).reduce(
    (page, [name, part]) => page.replace(`{{${name}}}`, () => part),
    TEMPLATE,
  );
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.setContent(html);
  await page.locator(".drawing-place svg").first().waitFor();
  const found = await page.evaluate(read);
  await page.close();
  return found;
}

/** The texts of the lower axis. */
const ticks = () => {
  const texts = document.querySelectorAll('[data-mark="x-axis tick label"] text');
  return [...texts].map((text) => text.textContent ?? "");
};

const SECOND = 1e9;

test("a time axis begins with the data, and its ticks are told apart", async () => {
  for (const seconds of [[102, 110], [102, 104], [3602, 3605], [100, 1900]]) {
    const domain = seconds.map((second) => second * SECOND);
    const over = chart({
      kind: "over",
      x: { label: "start time", unit: "ns", scale: "linear", domain, bins: 2 },
      columns: [column("series", ["s", "s"]), column("x", domain), column("y", [1, 2])],
    });
    const texts = await drawn(over, ticks);
    assert.ok(texts.length > 2 && !texts.includes("0"), `${texts}`);
    assert.equal(new Set(texts).size, texts.length, `${texts}`);
  }
});

test("a doubted point has its star, in the plane and among the errors", async () => {
  const points = chart({
    kind: "points",
    x: { label: "published", unit: "%", scale: "linear" },
    y: { label: "the model", unit: "%", scale: "linear" },
    columns: [
      column("series", ["s", "s"]),
      column("x", [52, 96]),
      column("y", [100, 95]),
      column("residual", [48, -1], "%"),
      column("note", ["suspect: starred", ""]),
    ],
  });
  const found = await drawn(points, () =>
    [...document.querySelectorAll(".drawing-place svg")].map((svg) => ({
      stars: [...svg.querySelectorAll("text")].filter((text) => text.textContent === "*").length,
      points: svg.querySelectorAll('[data-mark="dot"] path').length,
    })),
  );
  assert.deepEqual(found, [{ stars: 1, points: 2 }, { stars: 1, points: 2 }]);
});

test("what is not above zero stands at the begin of an axis of powers", async () => {
  const dots = chart({
    kind: "dots",
    x: { label: "T_call", unit: "ns", scale: "log" },
    columns: [
      column("category", ["mmap", "psync", "threads"]),
      column("series", ["s", "s", "s"]),
      column("value", [-5, 200, 50_000]),
      column("low", [-9, 0, 40_000]),
      column("high", [300, 400, 60_000]),
    ],
  });
  const places = await drawn(dots, () => {
    const left = (/** @type {Element} */ mark) => mark.getBoundingClientRect().left;
    const all = (/** @type {string} */ marks) => [...document.querySelectorAll(marks)].map(left);
    return {
      dots: all('[data-mark="dot"] path'),
      intervals: all('[data-mark="rule"] line[stroke^="var(--series"]'),
    };
  });
  assert.equal(places.dots.length, 3);
  assert.equal(places.intervals.length, 3);
  const [mmap = 0, psync = 0, threads = 0] = places.dots;
  // Six powers of ten lie between them on one line: nothing is crushed.
  assert.ok(mmap < psync && psync < threads && threads - psync > 300, `${places.dots}`);
});

test("a line that was fitted is a curve on axes of powers", async () => {
  const axis = { unit: "ns", scale: "log" };
  const points = chart({
    kind: "points",
    x: { label: "1/B", ...axis },
    y: { label: "CPU time", ...axis },
    columns: [column("series", ["s", "s"]), column("x", [0.01, 1]), column("y", [15, 510])],
    fits: [{ series: "s", points: [[0, 10], [1, 510]] }],
  });
  const pieces = await drawn(points, () => {
    const line = document.querySelector('[data-mark="line"] path')?.getAttribute("d") ?? "";
    return { count: line.split("L").length, isWhole: !line.includes("NaN") };
  });
  assert.ok(pieces.count > 10 && pieces.isWhole, JSON.stringify(pieces));
});

test("a rate has the unit that it came in", async () => {
  const bars = chart({
    kind: "bars",
    x: { label: "rate", unit: "MB/s", scale: "linear" },
    columns: [
      column("category", ["read"]),
      column("series", ["s"]),
      column("value", [1234], "MB/s"),
    ],
  });
  const texts = await drawn(bars, () =>
    [...document.querySelectorAll(".drawing-place text")].map((text) => text.textContent),
  );
  assert.ok(texts.includes("1\u202f234 MB/s"), `${texts}`);
});
