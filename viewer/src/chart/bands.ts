// Marks over a chart of time: a strip where something happened, and the numbers of what the page
// opens below, with a line down through the chart.
import { rect, ruleX, text } from "@observablehq/plot";
import type { Band, Chart } from "../chart";
import { show } from "../unit";

/** The strip's upper and lower edge, pixels above the plane. */
const ABOVE = 9;
const BELOW = 4;
/** Numbers that are nearer than so many pixels to one that is worse are left out. */
const APART = 13;
const COLOUR = "var(--warn)";

/** Space above the plane, with what stands there. */
export function marginTop(chart: Chart): number {
  return (chart.bands ?? []).length > 0 ? 44 : 26;
}

/** The marks of a chart's bands, whose plane has these pixels. */
export function bands(chart: Chart, { wide, high }: { wide: number; high: number }) {
  const all = chart.bands ?? [];
  const [from, until] = chart.x.domain ?? [0, 1];
  const strip = all.filter(({ label }) => label === "");
  const numbered = all.filter(({ label }) => label !== "");
  const places = { x: "from", fill: COLOUR };
  return [
    rect(strip, { x1: "from", x2: "until", fill: COLOUR, insetTop: -ABOVE,
      insetBottom: high + BELOW, insetLeft: -0.5, insetRight: -0.5 }),
    ruleX(numbered, { x: "from", stroke: COLOUR, strokeOpacity: 0.75, strokeDasharray: "2 3",
      insetTop: -ABOVE }),
    text(apart(numbered, ((until - from) / wide) * APART), { ...places, text: "label",
      frameAnchor: "top", dy: -ABOVE - 10, fontWeight: 600 }),
  ];
}

/** Those that are not too near to one before them. */
function apart(all: Band[], least: number): Band[] {
  const kept: Band[] = [];
  for (const band of all) {
    if (kept.every(({ from }) => Math.abs(from - band.from) >= least)) kept.push(band);
  }
  return kept;
}

/** What is marked between two places of the lower axis, for the tip. */
export function marked(chart: Chart, from: number, until: number): string {
  const here = (chart.bands ?? []).filter((band) => band.from < until && band.until > from);
  if (here.length === 0) return "";
  const numbers = here.map(({ label }) => label).filter((label) => label !== "");
  return numbers.length > 0 ? `; storm ${numbers.join(", ")}` : "; a storm";
}

/** The span of a bin of the lower axis in words. */
export function span(chart: Chart, from: number, until: number): string {
  const { label, unit } = chart.x;
  return `${label} ${show(from, unit, until - from)} to ${show(until, unit, until - from)}`;
}
