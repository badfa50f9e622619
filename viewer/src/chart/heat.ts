// A heat map: how many fell into each bin of two axes, as one image whose shades are logarithms.
// Never an element for each bin: there can be many thousands. Its only column has the counts, line
// by line from below.
import { axisX, axisY, plot, raster } from "@observablehq/plot";
import type { Scale } from "@observablehq/plot";
import type { Drawing, Stop } from "../drawing";
import { bare, common } from "../drawing";
import { rows, type Axis, type Chart } from "../chart";
import { within } from "../scale";
import { isDark } from "../theme";
import { digits, label, show, tick } from "../unit";

/** Shades from few to many, for light paper and for dark: one hue, even steps of lightness. */
const LIGHT = ["#d6e6f2", "#9cc4e0", "#5f9dca", "#2c75ab", "#124a78", "#06233f"];
const DARK = ["#12304a", "#1d5077", "#2f78ab", "#5ba3d0", "#9ccdea", "#e4f4ff"];

export function heat(chart: Chart, width: number): Drawing {
  const { x, y } = chart;
  const [across, up] = [x.bins ?? 1, y.bins ?? 1];
  const counts = new Float64Array(across * up).fill(NaN);
  rows(chart).forEach((row, place) => {
    if (row.value > 0) counts[place] = row.value;
  });
  const most = counts.reduce((most, count) => (count > most ? count : most), 1);
  const wide = within(x, width - 90);
  const high = within(y, chart.height - 70, 36);
  const drawn = plot({
    ...common(width, chart.height, chart.title),
    marginLeft: 62,
    marginRight: 24,
    marginTop: 26,
    marginBottom: 42,
    x: wide.scale,
    y: high.scale,
    color: { type: "log", domain: [1, Math.max(most, 2)], range: isDark() ? DARK : LIGHT,
      interpolate: "rgb" },
    marks: [
      raster(counts, {
        width: across,
        height: up,
        x1: x.domain?.[0] ?? 0,
        x2: x.domain?.[1] ?? 1,
        y1: y.domain?.[0] ?? 0,
        y2: y.domain?.[1] ?? 1,
        imageRendering: "pixelated",
      }),
      axisX({ text: tick(x.unit), label: label(x.label, x.unit), ticks: wide.ticks }),
      axisY({ text: tick(y.unit), label: label(y.label, y.unit), ticks: high.ticks }),
    ],
  });
  const [px, py] = [drawn.scale("x") as Scale, drawn.scale("y") as Scale];
  const stop = (column: number, line: number): Stop => ({
    x: px.apply(edge(x, column + 0.5)),
    y: py.apply(edge(y, line + 0.5)),
    text: () => sentence(chart, column, line, counts[line * across + column] ?? NaN),
  });
  const stops: Stop[][] = [];
  for (let line = up - 1; line >= 0; line--) {
    stops.push(Array.from({ length: across }, (_, column) => stop(column, line)));
  }
  return { element: bare(drawn), stops };
}

/** Where a bin begins; halves are its middle. */
export function edge(axis: Axis, place: number): number {
  const [from, until] = axis.domain ?? [0, 1];
  const share = place / (axis.bins ?? 1);
  return axis.scale === "log" ? from * (until / from) ** share : from + (until - from) * share;
}

function sentence({ x, y }: Chart, column: number, line: number, count: number): string {
  const span = (axis: Axis, place: number) =>
    `${show(edge(axis, place), axis.unit)} to ${show(edge(axis, place + 1), axis.unit)}`;
  const number = Number.isFinite(count) ? digits(count) : "none";
  return `${x.label} ${span(x, column)}, ${y.label} ${span(y, line)}: ${number}`;
}
