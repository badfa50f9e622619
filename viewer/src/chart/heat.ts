// A heat map: how many fell into each bin of two axes, as one image whose shades are logarithms.
// Never an element for each bin: there can be many thousands.
import { axisX, axisY, plot, raster } from "@observablehq/plot";
import type { Scale } from "@observablehq/plot";
import type { Drawing, Stop } from "../drawing";
import { bare, common } from "../drawing";
import { rows, type Axis, type Chart } from "../chart";
import { isDark } from "../theme";
import { digits, label, show, tick } from "../unit";

/** Shades from few to many, for light paper and for dark: one hue, even steps of lightness. */
const LIGHT = ["#d6e6f2", "#9cc4e0", "#5f9dca", "#2c75ab", "#124a78", "#06233f"];
const DARK = ["#12304a", "#1d5077", "#2f78ab", "#5ba3d0", "#9ccdea", "#e4f4ff"];

export function heat(chart: Chart, width: number): Drawing {
  const { x, y } = chart;
  const [across, up] = [x.bins ?? 1, y.bins ?? 1];
  const counts = new Float64Array(across * up).fill(NaN);
  for (const row of rows(chart)) {
    counts[bin(y, row.y) * across + bin(x, row.x)] = row.value;
  }
  const most = counts.reduce((most, count) => (count > most ? count : most), 1);
  const drawn = plot({
    ...common(width, chart.height, chart.title),
    marginLeft: 62,
    marginRight: 24,
    marginTop: 26,
    marginBottom: 42,
    x: { type: x.scale, domain: x.domain ?? [0, 1], label: null },
    y: { type: y.scale, domain: y.domain ?? [0, 1], label: null },
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
      axisX({ tickFormat: tick(x.unit), label: label(x.label, x.unit), ticks: width / 120 }),
      axisY({ tickFormat: tick(y.unit), label: label(y.label, y.unit), ticks: 6 }),
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
function edge(axis: Axis, place: number): number {
  const [from, until] = axis.domain ?? [0, 1];
  const share = place / (axis.bins ?? 1);
  return axis.scale === "log" ? from * (until / from) ** share : from + (until - from) * share;
}

/** The bin that begins there. */
function bin(axis: Axis, begins: number): number {
  const [from, until] = axis.domain ?? [0, 1];
  const share =
    axis.scale === "log"
      ? Math.log(begins / from) / Math.log(until / from)
      : (begins - from) / (until - from);
  const bins = axis.bins ?? 1;
  return Math.min(bins - 1, Math.max(0, Math.round(share * bins)));
}

function sentence({ x, y }: Chart, column: number, line: number, count: number): string {
  const span = (axis: Axis, place: number) =>
    `${show(edge(axis, place), axis.unit)} to ${show(edge(axis, place + 1), axis.unit)}`;
  const number = Number.isFinite(count) ? digits(count) : "none";
  return `${x.label} ${span(x, column)}, ${y.label} ${span(y, line)}: ${number}`;
}
