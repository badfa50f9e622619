// Lines with bands of their intervals, points that are marked, and rules such as a ceiling.
import {
  areaY, axisX, axisY, dot, gridX, gridY, line, plot, ruleY, text,
} from "@observablehq/plot";
import type { Scale } from "@observablehq/plot";
import type { Drawing, Stop } from "../drawing";
import { bare, colour, common, doubt, interval } from "../drawing";
import { rows, type Chart, type Row } from "../chart";
import { symbol } from "../symbol";
import { label, show, tick } from "../unit";

export function lines(chart: Chart, width: number): Drawing {
  const isDrawable = (row: Row) =>
    (chart.x.scale === "linear" || row.x > 0) &&
    (chart.y.scale === "linear" || row.y > 0) &&
    Number.isFinite(row.x) &&
    Number.isFinite(row.y);
  const data = rows(chart).filter(isDrawable);
  const of = (series: string) =>
    data.filter((row) => row.series === series).sort((a, b) => a.x - b.x);
  const all = chart.series.map((series) => ({ series, own: of(series) }));
  const drawn = plot({
    ...common(width, chart.height, chart.title),
    marginLeft: 62,
    marginRight: 24,
    marginTop: 26,
    marginBottom: 42,
    x: { type: chart.x.scale, label: null, nice: chart.x.scale === "linear" },
    y: { type: chart.y.scale, label: null, nice: true, zero: chart.y.scale === "linear" },
    marks: [
      ...axes(chart, width),
      ...all.map(({ series, own }) =>
        areaY(own.filter((row) => row.high > row.low && (row.low > 0 || chart.y.scale !== "log")), {
          x: "x",
          y1: "low",
          y2: "high",
          fill: colour(chart, series),
          fillOpacity: 0.16,
        }),
      ),
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
      ...marked(data),
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
  const x = drawn.scale("x") as Scale;
  const y = drawn.scale("y") as Scale;
  const stop = (row: Row): Stop => ({
    x: x.apply(row.x),
    y: y.apply(row.y),
    text: () => sentence(chart, row),
  });
  return { element: bare(drawn), stops: all.map(({ own }) => own.map(stop)) };
}

/** Points with a name of their own, ringed. */
function marked(data: Row[]) {
  const known = data.filter((row) => row.mark !== "");
  return [
    dot(known, { x: "x", y: "y", r: 8, stroke: "var(--ink)", strokeWidth: 1.5 }),
    text(known, { x: "x", y: "y", text: "mark", dy: -16, fill: "var(--ink)", fontWeight: 600 }),
  ];
}

/** Axes and grid of a plane of two numbers. */
export function axes(chart: Chart, width: number) {
  const { x, y } = chart;
  return [
    gridX({ stroke: "var(--grid)", strokeOpacity: 1, ticks: width / 120 }),
    gridY({ stroke: "var(--grid)", strokeOpacity: 1, ticks: 5 }),
    axisX({
      tickFormat: tick(x.unit),
      label: label(x.label, x.unit),
      labelAnchor: "right" as const,
      ticks: width / 120,
    }),
    axisY({ tickFormat: tick(y.unit), label: label(y.label, y.unit), ticks: 5 }),
  ];
}

export function sentence(chart: Chart, row: Row): string {
  const { x, y } = chart;
  const name = chart.series.length > 1 ? `${row.series}, ` : "";
  const mark = row.mark === "" ? "" : `, ${row.mark}`;
  const at = `${x.label} ${show(row.x, x.unit)}${mark}`;
  return `${name}${at}: ${y.label} ${show(row.y, y.unit)}${interval(row, y.unit)}${doubt(row)}`;
}
