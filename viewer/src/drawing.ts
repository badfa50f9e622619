// What a drawer gives back, and what all drawers share.
import type { Chart, Row } from "./chart";
import { show } from "./unit";

/** A place that the cursor can stop at, in pixels of the drawing. */
export interface Stop {
  x: number;
  y: number;
  text: () => string;
}

export interface Drawing {
  element: Element;
  /** Rows of stops: arrows go along a row and from row to row. */
  stops: Stop[][];
}

export type Draw = (chart: Chart, width: number) => Drawing;

/** The colours of series, as the style sheet has them in either theme. */
export const SERIES = 8;

export function colour(chart: Chart, series: string): string {
  const place = Math.max(0, chart.series.indexOf(series));
  return `var(--series-${place % SERIES})`;
}

/** Fonts and colours that all plots share. The sheet that Plot brings along is refused by the
 * page's policy; ours has the same rules. */
export function common(width: number, height: number, title: string) {
  return { width, height, className: "drawing", ariaLabel: title };
}

/** Without the style element that Plot puts into its drawings. The drawing is one image with one
 * name: what its marks are stays for tests alone. */
export function bare(element: Element): SVGSVGElement {
  element.querySelectorAll("style").forEach((style) => style.remove());
  for (const mark of element.querySelectorAll<SVGElement>("[aria-label]")) {
    mark.dataset.mark = mark.getAttribute("aria-label") ?? "";
    mark.removeAttribute("aria-label");
  }
  element.setAttribute("role", "img");
  return element as SVGSVGElement;
}

/** ` (86 MB/s to 88 MB/s)`, nothing where there is no interval. */
export function interval(row: Row, unit: string): string {
  if (!Number.isFinite(row.low) || !Number.isFinite(row.high)) return "";
  return ` (${show(row.low, unit)} to ${show(row.high, unit)})`;
}

/** What is doubted of a row. */
export function doubt(row: Row): string {
  return row.note === "" ? "" : `; ${row.note}`;
}

/** Columns of the left margin for labels, at most two fifths of the width. */
export function labelMargin(texts: string[], width: number): number {
  const longest = Math.max(0, ...texts.map((text) => [...text].length));
  return Math.round(Math.min(longest * 6.9 + 14, width * 0.38));
}

/** A label cut to what a margin holds: its begin and its end say more than its middle. */
export function cut(text: string, margin: number): string {
  const most = Math.max(4, Math.floor((margin - 12) / 6.6));
  const characters = [...text];
  if (characters.length <= most) return text;
  const begin = characters.slice(0, Math.ceil((most - 1) / 2)).join("");
  return `${begin}…${characters.slice(-Math.floor((most - 1) / 2)).join("")}`;
}
