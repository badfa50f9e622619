// Dots with intervals, a row for each category: percentiles of one thing beside each other, a
// ranking, what was predicted beside what was measured.
import { axisX, axisY, dot, gridX, plot, ruleX, ruleY, text } from "@observablehq/plot";
import type { Scale } from "@observablehq/plot";
import type { Drawing } from "../drawing";
import { bare, colour, common, cut, doubt, interval, labelMargin } from "../drawing";
import { distinct, rows, type Chart, type Row } from "../chart";
import { drawnAt, ranged } from "../scale";
import { symbol } from "../symbol";
import { label, show, tick } from "../unit";

interface Span {
  category: string;
  from: number;
  until: number;
}

export function dots(chart: Chart, width: number): Drawing {
  const data = rows(chart);
  const known = data.filter((row) => Number.isFinite(row.value));
  const withInterval = known.filter((row) => Number.isFinite(row.low) && Number.isFinite(row.high));
  const categories = distinct(data.map((row) => row.category));
  const marginLeft = labelMargin(categories, width);
  const unit = chart.x.unit;
  const ends = known.flatMap((row) => [row.value, row.low, row.high]);
  const at = chart.rules.map((rule) => rule.at);
  const across = ranged(chart.x, [...ends, ...at], width - marginLeft);
  const { scale, ticks } = across;
  const place = (value: number) => drawnAt(across, value);
  const drawn = plot({
    ...common(width, chart.height, chart.title),
    marginLeft,
    marginRight: 28,
    marginTop: chart.rules.length > 0 ? 20 : 8,
    marginBottom: 40,
    x: scale,
    y: { type: "band", domain: categories, padding: 0, label: null },
    marks: [
      gridX({ stroke: "var(--grid)", strokeOpacity: 1, ticks }),
      axisX({ text: tick(unit, across), label: label(chart.x.label, unit), ticks }),
      axisY({ label: null, tickFormat: (name: string) => cut(name, marginLeft), tickSize: 0 }),
      ...chart.rules.map((rule) =>
        ruleX([rule.at], { stroke: "var(--accent)", strokeDasharray: "4 3" }),
      ),
      text(chart.rules, {
        x: "at",
        text: "label",
        frameAnchor: "top",
        dy: -14,
        fill: "var(--accent)",
      }),
      ruleY(chart.series.length > 1 ? spans(known, categories) : [], {
        y: "category",
        x1: (span: Span) => place(span.from),
        x2: (span: Span) => place(span.until),
        stroke: "var(--line)",
        strokeWidth: 1.5,
      }),
      ruleY(withInterval, {
        y: "category",
        x1: (row: Row) => place(row.low),
        x2: (row: Row) => place(row.high),
        stroke: (row: Row) => colour(chart, row.series),
        strokeWidth: 2,
        strokeOpacity: 0.55,
      }),
      dot(known, {
        y: "category",
        x: (row: Row) => place(row.value),
        r: 4.5,
        symbol: (row: Row) => symbol(chart, row.series),
        fill: (row: Row) => (row.note === "" ? colour(chart, row.series) : "var(--paper)"),
        stroke: (row: Row) => colour(chart, row.series),
        strokeWidth: 1.5,
      }),
    ],
  });
  const x = drawn.scale("x") as Scale;
  const y = drawn.scale("y") as Scale;
  const stops = categories.map((category) =>
    known
      .filter((row) => row.category === category)
      .map((row) => ({
        x: x.apply(place(row.value)),
        y: y.apply(category) + (y.bandwidth ?? 0) / 2,
        text: () => sentence(chart, row),
      })),
  );
  return { element: bare(drawn), stops };
}

/** From the least dot of a row to the greatest. */
function spans(data: Row[], categories: string[]): Span[] {
  return categories.map((category) => {
    const values = data.filter((row) => row.category === category).map((row) => row.value);
    return { category, from: Math.min(...values), until: Math.max(...values) };
  }).filter((span) => span.until > span.from);
}

function sentence(chart: Chart, row: Row): string {
  const unit = chart.x.unit;
  const name = chart.series.length > 1 ? `${row.category}, ${row.series}` : row.category;
  return `${name}: ${show(row.value, unit)}${interval(row, unit)}${doubt(row)}`;
}
