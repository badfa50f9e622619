// What the tests put into the page.
import type axe from "axe-core";

declare global {
  var axe: typeof axe;
  var seen: { moved: number; paint: number };
}

export {};
