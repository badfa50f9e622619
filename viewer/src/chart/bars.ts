// Bars with intervals, grouped by category, one for each series. Values begin at zero.
import { axisFy, axisX, barX, plot, ruleX, ruleY, text } from "@observablehq/plot";
import type { Scale } from "@observablehq/plot";
import type { Drawing } from "../drawing";
import { bare, colour, common, cut, doubt, interval, labelMargin } from "../drawing";
import { distinct, rows, type Chart, type Row } from "../chart";
import { ranged } from "../scale";
import { label, show, tick } from "../unit";

export function bars(chart: Chart, width: number): Drawing {
  const data = rows(chart);
  const known = data.filter((row) => Number.isFinite(row.value));
  const categories = distinct(data.map((row) => row.category));
  const marginLeft = labelMargin(categories, width);
  const unit = chart.x.unit;
  const end = (row: Row) => Math.max(row.value, Number.isFinite(row.high) ? row.high : 0);
  const most = Math.max(...known.map(end), ...chart.rules.map((rule) => rule.at), 0) || 1;
  // The number stands behind its bar: room for it.
  const room = 1 + 78 / Math.max(120, width - marginLeft - 90);
  const all = ranged(chart.x, [most], width - marginLeft - 90, 90);
  const ticks = all.ticks.filter((tick) => tick <= most * room);
  const at = { y: "series", fy: "category" };
  const drawn = plot({
    ...common(width, chart.height, chart.title),
    marginLeft,
    marginRight: 12,
    marginTop: 8,
    marginBottom: 40,
    x: { domain: [0, most * room], label: null },
    y: { axis: null, domain: chart.series, padding: 0.12 },
    fy: { domain: categories, padding: 0.18, label: null, axis: null },
    marks: [
      axisX({ text: tick(unit, all), label: label(chart.x.label, unit), ticks }),
      ruleX([0], { stroke: "var(--line)" }),
      axisFy({
        anchor: "left",
        label: null,
        tickFormat: (name: string) => cut(name, marginLeft),
        tickSize: 0,
      }),
      barX(known, {
        ...at,
        x: "value",
        fill: (row: Row) => colour(chart, row.series),
        fillOpacity: (row: Row) => (row.note === "" ? 0.9 : 0.45),
      }),
      ruleY(known.filter((row) => row.high > row.low), {
        ...at,
        x1: "low",
        x2: "high",
        stroke: "var(--ink)",
        strokeWidth: 1.5,
      }),
      text(known, {
        ...at,
        x: end,
        text: (row: Row) => show(row.value, unit) + (row.note === "" ? "" : "*"),
        textAnchor: "start",
        dx: 5,
        fill: "var(--muted)",
      }),
      ...chart.rules.map((rule) =>
        ruleX([rule.at], { stroke: "var(--accent)", strokeDasharray: "4 3" }),
      ),
    ],
  });
  const x = drawn.scale("x") as Scale;
  const y = drawn.scale("y") as Scale;
  const fy = drawn.scale("fy") as Scale;
  const middle = (row: Row) =>
    fy.apply(row.category) + y.apply(row.series) - 8 + (y.bandwidth ?? 0) / 2;
  const stops = categories.map((category) =>
    data
      .filter((row) => row.category === category)
      .map((row) => ({
        x: Number.isFinite(row.value) ? x.apply(row.value) : marginLeft,
        y: middle(row),
        text: () => sentence(chart, row),
      })),
  );
  return { element: bare(drawn), stops };
}

function sentence(chart: Chart, row: Row): string {
  const unit = chart.x.unit;
  const name = chart.series.length > 1 ? `${row.category}, ${row.series}` : row.category;
  return `${name}: ${show(row.value, unit)}${interval(row, unit)}${doubt(row)}`;
}
