// Box plots (Chambers, Cleveland, Kleiner & Tukey 1983), a row for each category: a box from
// quartile to quartile with the median in it, whiskers, and the greatest value beyond.
import { axisX, axisY, barX, dot, gridX, plot, ruleY, tickX } from "@observablehq/plot";
import type { Scale } from "@observablehq/plot";
import type { Drawing } from "../drawing";
import { bare, common, cut, doubt, labelMargin } from "../drawing";
import { rows, type Chart, type Row } from "../chart";
import { ranged } from "../scale";
import { label, show, tick } from "../unit";

export function boxes(chart: Chart, width: number): Drawing {
  const least = chart.x.scale === "log" ? 1 : -Infinity;
  const data = rows(chart).map((row) => ({
    ...row,
    low: Math.max(row.low, least),
    q1: Math.max(row.q1, least),
    median: Math.max(row.median, least),
  }));
  const categories = data.map((row) => row.category);
  const marginLeft = labelMargin(categories, width);
  const unit = chart.x.unit;
  const ends = data.flatMap((row) => [row.low, row.max]);
  const across = ranged(chart.x, ends, width - marginLeft);
  const { scale, ticks } = across;
  const drawn = plot({
    ...common(width, chart.height, chart.title),
    marginLeft,
    marginRight: 28,
    marginTop: 8,
    marginBottom: 40,
    x: scale,
    y: { type: "band", domain: categories, padding: 0.35, label: null },
    marks: [
      gridX({ stroke: "var(--grid)", strokeOpacity: 1, ticks }),
      axisX({ text: tick(unit, across), label: label(chart.x.label, unit), ticks }),
      axisY({ label: null, tickFormat: (name: string) => cut(name, marginLeft), tickSize: 0 }),
      ruleY(data, { y: "category", x1: "low", x2: "high", stroke: "var(--muted)" }),
      barX(data, {
        y: "category",
        x1: "q1",
        x2: "q3",
        fill: "var(--series-0)",
        fillOpacity: 0.45,
        stroke: "var(--series-0)",
      }),
      tickX(data, { y: "category", x: "median", stroke: "var(--ink)", strokeWidth: 2 }),
      dot(data, { y: "category", x: "max", r: 2.5, fill: "var(--series-1)" }),
    ],
  });
  const x = drawn.scale("x") as Scale;
  const y = drawn.scale("y") as Scale;
  const stops = data.map((row) => [
    {
      x: x.apply(row.median),
      y: y.apply(row.category) + (y.bandwidth ?? 0) / 2,
      text: () => sentence(row, unit),
    },
  ]);
  return { element: bare(drawn), stops };
}

function sentence(row: Row, unit: string): string {
  const at = (value: number) => show(value, unit);
  return (
    `${row.category}: median ${at(row.median)}, quartiles ${at(row.q1)} and ${at(row.q3)}, ` +
    `whiskers ${at(row.low)} and ${at(row.high)}, greatest ${at(row.max)}${doubt(row)}`
  );
}
