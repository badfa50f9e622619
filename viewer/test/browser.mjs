// What the tests in the browser share: how it is begun, what is found of a page's access, how far
// a page moves by itself. LBOLT_CHROMIUM is the browser's path.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

/** @typedef {import("playwright-core").Page} Page */

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Widths of screens, in pixels. */
export const WIDTHS = [360, 768, 1280, 1920, 2560];

export function launch() {
  return chromium.launch({
    executablePath: process.env.LBOLT_CHROMIUM ?? "/usr/bin/chromium",
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  });
}

/** Serious faults of access, each with where it is. */
export async function seriousFaults(/** @type {Page} */ page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document));
  /** @type {import("axe-core").Result[]} */
  const serious = violations.filter((/** @type {import("axe-core").Result} */ fault) =>
    ["serious", "critical"].includes(fault.impact ?? ""),
  );
  return serious.map(({ id, nodes }) => [id, nodes[0]?.html, nodes[0]?.failureSummary]);
}

/** Notes in `seen` how far the page moves by itself, and when it was painted. */
export function watch(/** @type {Page} */ page) {
  return page.addInitScript(() => {
    const seen = { moved: 0, paint: 0 };
    Object.assign(globalThis, { seen });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const shift = /** @type {{value: number, hadRecentInput: boolean}} */ (
          /** @type {unknown} */ (entry)
        );
        if (!shift.hadRecentInput) seen.moved += shift.value;
      }
    }).observe({ type: "layout-shift", buffered: true });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) seen.paint = entry.startTime;
    }).observe({ type: "paint", buffered: true });
  });
}

/** How wide the page is, and its window. */
export function widths(/** @type {Page} */ page) {
  return page.evaluate(() => {
    const { scrollWidth: scroll, clientWidth: client } = document.documentElement;
    return { scroll, client };
  });
}
