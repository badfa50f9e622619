// A heat map: how many fell into each bin of two axes, as one image whose shades are logarithms.
// Never an element for each bin: there can be many thousands. Its only column has the counts, line
// by line from below. Times, in place of counts, come in a unit that keeps them short.
import { axisX, axisY, plot, raster } from "@observablehq/plot";
import type { Scale } from "@observablehq/plot";
import { bands, marginTop, marked, span } from "./bands";
import type { Drawing, Stop } from "../drawing";
import { bare, common, cut, labelMargin } from "../drawing";
import { rows, type Axis, type Chart } from "../chart";
import { within } from "../scale";
import { isDark } from "../theme";
import { digits, label, show, tick } from "../unit";

const LEFT = 62;
const RIGHT = 24;
const BOTTOM = 42;

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
  const [from, until] = y.domain ?? [0, 1];
  const left = y.names === undefined ? LEFT : labelMargin(y.names, width);
  const plane = {
    wide: width - left - RIGHT,
    high: chart.height - marginTop(chart) - BOTTOM,
  };
  const wide = within(x, plane.wide);
  const high = within(y, plane.high, 36);
  const drawn = plot({
    ...common(width, chart.height, chart.title),
    marginLeft: left,
    marginRight: RIGHT,
    marginTop: marginTop(chart),
    marginBottom: BOTTOM,
    x: wide.scale,
    // The image is even in the units of its scale: of a logarithmic one these are logarithms.
    y: { type: "linear", domain: [at(y, from), at(y, until)], label: null },
    color: { ...shades(chart, most), range: isDark() ? DARK : LIGHT, interpolate: "rgb" },
    marks: [
      raster(counts, {
        width: across,
        height: up,
        x1: x.domain?.[0] ?? 0,
        x2: x.domain?.[1] ?? 1,
        y1: at(y, from),
        y2: at(y, until),
        imageRendering: "pixelated",
      }),
      axisX({ text: tick(x.unit, wide), label: label(x.label, x.unit), ticks: wide.ticks }),
      y.names === undefined
        ? axisY(high.ticks.map((value) => at(y, value)), {
            text: (_: number, place: number) => tick(y.unit, high)(high.ticks[place] ?? 0),
            label: label(y.label, y.unit),
          })
        : names(y, y.names, plane.high, left),
      ...bands(chart, plane),
    ],
  });
  const [px, py] = [drawn.scale("x") as Scale, drawn.scale("y") as Scale];
  const stop = (column: number, line: number): Stop => ({
    x: px.apply(edge(x, column + 0.5)),
    y: py.apply(at(y, edge(y, line + 0.5))),
    text: () => sentence(chart, column, line, line * across + column),
  });
  const stops: Stop[][] = [];
  for (let line = up - 1; line >= 0; line--) {
    stops.push(Array.from({ length: across }, (_, column) => stop(column, line)));
  }
  return { element: bare(drawn), stops };
}

/** Counts differ by powers; of times, which mostly are of one size, roots are told apart better. */
function shades(chart: Chart, most: number) {
  const isTime = (chart.columns[0]?.unit ?? "") in TIMES;
  return isTime
    ? { type: "sqrt" as const, domain: [0, most] }
    : { type: "log" as const, domain: [1, Math.max(most, 2)] };
}

/** Where a value of an axis stands in the image. */
function at(axis: Axis, value: number): number {
  return axis.scale === "log" ? Math.log(value) : value;
}

/** Where a bin begins; halves are its middle. */
export function edge(axis: Axis, place: number): number {
  const [from, until] = axis.domain ?? [0, 1];
  const share = place / (axis.bins ?? 1);
  return axis.scale === "log" ? from * (until / from) ** share : from + (until - from) * share;
}

/** Names of lines: as many of them as can be read. */
function names(y: Axis, all: string[], high: number, left: number) {
  const every = Math.max(1, Math.ceil((all.length * EACH_NAME) / high));
  // From above, where the first name is.
  const shown = [...all.keys()].filter((place) => (all.length - 1 - place) % every === 0);
  return axisY(shown.map((place) => edge(y, place + 0.5)), {
    text: (_: number, place: number) => cut(all[shown[place] ?? 0] ?? "", left),
    label: null,
    tickSize: 0,
    fontSize: 10,
  });
}

/** Pixels that a name needs. */
const EACH_NAME = 11;

/** Units of times, in ns. */
const TIMES: Record<string, number> = { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9 };

function sentence(chart: Chart, column: number, line: number, place: number): string {
  const { x, y } = chart;
  const [from, until] = [edge(x, column), edge(x, column + 1)];
  const range = `${y.label} ${show(edge(y, line), y.unit)} to ${show(edge(y, line + 1), y.unit)}`;
  const storms = marked(chart, from, until);
  const value = chart.columns[0]?.values[place];
  const number = amount(chart.columns[0]?.unit ?? "", value);
  return `${span(chart, from, until)}, ${y.names?.[line] ?? range}: ${number}${storms}`;
}

function amount(unit: string, value: number | string | null | undefined): string {
  if (typeof value !== "number") return "not measured";
  if (!(value > 0)) return "none";
  const each = TIMES[unit];
  return each === undefined ? digits(value) : show(value * each, "ns");
}
