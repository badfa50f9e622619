// Takes the picture of a page: node picture.mjs PAGE AT WIDTH HEIGHT INTO, where AT is the id of
// what it begins with, or empty; PAGE is a file or an address. LBOLT_CHROMIUM is the browser's path. For `cargo xtask gallery`.
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [page, at, width, height, into] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.LBOLT_CHROMIUM ?? "/usr/bin/chromium",
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});
const tab = await browser.newPage({
  viewport: { width: Number(width), height: Number(height) },
  reducedMotion: "reduce",
});
const address = page.startsWith("http:") ? page : pathToFileURL(page).href;
await tab.goto(address + (at ? `#${at}` : ""));
// What comes near the screen is drawn when the browser has nothing else to do.
await tab.waitForTimeout(1500);
await tab.screenshot({ path: into });
await browser.close();
