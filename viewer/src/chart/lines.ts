// Lines with bands of their intervals, points that are marked, and rules such as a ceiling.
import {
  areaY, axisX, axisY, dot, gridX, gridY, line, plot, ruleX, ruleY, text,
} from "@observablehq/plot";
import type { Scale } from "@observablehq/plot";
import type { Drawing, Stop } from "../drawing";
import { bare, colour, common, doubt, interval } from "../drawing";
import { rows, type Chart, type Row } from "../chart";
import { ranged, type Ranged } from "../scale";
import { symbol } from "../symbol";
import { label, show, tick } from "../unit";

/** So many lines have bands. */
const BANDS = 3;

export function lines(chart: Chart, width: number): Drawing {
  const isDrawable = (row: Row) =>
    (chart.x.scale === "linear" || row.x > 0) &&
    (chart.y.scale === "linear" || row.y > 0) &&
    Number.isFinite(row.x) &&
    Number.isFinite(row.y);
  const data = rows(chart).filter(isDrawable);
  // In the order of the data: a line may turn back, as that of a latency against a rate does.
  const of = (series: string) => data.filter((row) => row.series === series);
  const all = chart.series.map((series) => ({ series, own: of(series) }));
  const { x, y } = planes(chart, data, width);
  const drawn = plot({
    ...common(width, chart.height, chart.title),
    marginLeft: 62,
    marginRight: 24,
    marginTop: 26,
    marginBottom: 42,
    x: x.scale,
    y: y.scale,
    marks: [
      ...axes(chart, x, y),
      ...intervals(chart, data, all),
      ...all.map(({ series, own }) =>
        line(own, { x: "x", y: "y", stroke: colour(chart, series), strokeWidth: 1.8 }),
      ),
      dot(data, {
        x: "x",
        y: "y",
        r: 3.5,
        symbol: (row: Row) => symbol(chart, row.series),
        stroke: (row: Row) => colour(chart, row.series),
        fill: (row: Row) => (row.note === "" ? colour(chart, row.series) : "var(--paper)"),
      }),
      ...marked(chart, data),
      ...chart.rules.filter((rule) => rule.axis === "y").map((rule) =>
        ruleY([rule.at], { stroke: "var(--accent)", strokeDasharray: "4 3" }),
      ),
      text(chart.rules.filter((rule) => rule.axis === "y"), {
        y: "at",
        text: "label",
        frameAnchor: "left",
        dx: 6,
        dy: -8,
        fill: "var(--accent)",
      }),
    ],
  });
  const across = drawn.scale("x") as Scale;
  const up = drawn.scale("y") as Scale;
  const stop = (row: Row): Stop => ({
    x: across.apply(row.x),
    y: up.apply(row.y),
    text: () => sentence(chart, row),
  });
  return { element: bare(drawn), stops: all.map(({ own }) => own.map(stop)) };
}

/** Bands where there are few lines; of many a stroke at each point hides less. */
function intervals(chart: Chart, data: Row[], all: { series: string; own: Row[] }[]) {
  const has = (row: Row) => row.high > row.low && (row.low > 0 || chart.y.scale !== "log");
  const ends = { x: "x", y1: "low", y2: "high", clip: true };
  if (all.length <= BANDS) {
    return all.map(({ series, own }) =>
      areaY(own.filter(has), { ...ends, fill: colour(chart, series), fillOpacity: 0.16 }),
    );
  }
  const stroke = (row: Row) => colour(chart, row.series);
  return [ruleX(data.filter(has), { ...ends, stroke, strokeOpacity: 0.35, strokeWidth: 2 })];
}

/** Points with a name of their own, ringed. */
function marked(chart: Chart, data: Row[]) {
  const known = data.filter((row) => row.mark !== "");
  const own = (row: Row) => colour(chart, row.series);
  // Names of neighbouring series stand on either side of their points.
  const sides = [0, 1].map((side) => {
    const here = known.filter((row) => chart.series.indexOf(row.series) % 2 === side);
    const way = side === 0 ? -1 : 1;
    const textAnchor = side === 0 ? ("end" as const) : ("start" as const);
    return text(here, { x: "x", y: "y", text: "mark", dx: 12 * way, dy: 10 * way, textAnchor,
      fill: own, fontWeight: 600 });
  });
  return [dot(known, { x: "x", y: "y", r: 8, stroke: own, strokeWidth: 1.5 }), ...sides];
}

/** The scales of both axes. */
export function planes(chart: Chart, data: Row[], width: number): { x: Ranged; y: Ranged } {
  const rules = chart.rules.filter((rule) => rule.axis === "y").map((rule) => rule.at);
  const fitted = chart.fits.flatMap((fit) => fit.points.map(([, y]) => y));
  const up = [...data.map((row) => row.y), ...rules, ...fitted];
  return {
    x: ranged(chart.x, data.map((row) => row.x), width - 90),
    y: ranged(chart.y, up, chart.height - 70, 40),
  };
}

/** Axes and grid of a plane of two numbers. */
export function axes(chart: Chart, across: Ranged, up: Ranged) {
  const { x, y } = chart;
  const grid = { stroke: "var(--grid)", strokeOpacity: 1 };
  return [
    gridX({ ...grid, ticks: across.ticks }),
    gridY({ ...grid, ticks: up.ticks }),
    axisX({
      text: tick(x.unit, across),
      label: label(x.label, x.unit),
      labelAnchor: "right" as const,
      ticks: across.ticks,
    }),
    axisY({ text: tick(y.unit, up), label: label(y.label, y.unit), ticks: up.ticks }),
  ];
}

export function sentence(chart: Chart, row: Row): string {
  const { x, y } = chart;
  const which = [chart.series.length > 1 ? row.series : "", row.category];
  const name = which.filter((text) => text !== "").map((text) => `${text}, `).join("");
  const mark = row.mark === "" ? "" : `, ${row.mark}`;
  const at = `${x.label} ${show(row.x, x.unit)}${mark}`;
  return `${name}${at}: ${y.label} ${show(row.y, y.unit)}${interval(row, y.unit)}${doubt(row)}`;
}
