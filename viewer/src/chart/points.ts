// Points with the lines that were fitted to them, and what the lines leave over below.
import { axisY, dot, gridY, line, plot, ruleY, text } from "@observablehq/plot";
import type { Scale } from "@observablehq/plot";
import type { Drawing, Stop } from "../drawing";
import { bare, colour, common } from "../drawing";
import { rows, type Chart, type Row } from "../chart";
import { symbol } from "../symbol";
import { along, drawnAt, type Point, type Ranged } from "../scale";
import { STEPS, digits, label, show } from "../unit";
import { axes, planes, sentence } from "./lines";

const RESIDUALS = 110;
const MARGINS = { marginLeft: 62, marginRight: 24 };

export function points(chart: Chart, width: number): Drawing {
  const data = rows(chart).filter((row) => Number.isFinite(row.x) && Number.isFinite(row.y));
  const left = data.filter((row) => Number.isFinite(row.residual));
  const height = left.length > 0 ? chart.height - RESIDUALS : chart.height;
  const ranges = planes(chart, data, width);
  const up = (row: Row) => drawnAt(ranges.y, row.y);
  const stars = { x: "x", text: () => "*", dx: 8, dy: -2, fill: "var(--muted)" };
  const doubted = (all: Row[]) => all.filter((row) => row.note !== "");
  const shape = {
    x: "x",
    r: 3.5,
    symbol: (row: Row) => symbol(chart, row.series),
    stroke: (row: Row) => colour(chart, row.series),
    fill: (row: Row) => (row.note === "" ? colour(chart, row.series) : "var(--paper)"),
  };
  const drawn = plot({
    ...common(width, height, chart.title),
    ...MARGINS,
    marginTop: 26,
    marginBottom: 42,
    x: ranges.x.scale,
    y: ranges.y.scale,
    marks: [
      ...axes(chart, ranges.x, ranges.y),
      ...chart.fits.map((fit) =>
        line(bent(ranges, fit.points), {
          stroke: colour(chart, fit.series),
          strokeWidth: 1.5,
          clip: true,
        }),
      ),
      dot(data, { ...shape, y: up }),
      text(doubted(data), { ...stars, y: up }),
    ],
  });
  const x = drawn.scale("x") as Scale;
  const y = drawn.scale("y") as Scale;
  const stop = (row: Row): Stop => ({
    x: x.apply(row.x),
    y: y.apply(up(row)),
    text: () => sentence(chart, row) + over(chart, row),
  });
  const of = (series: string) =>
    data.filter((row) => row.series === series).sort((a, b) => a.x - b.x);
  const stops = chart.series.map((series) => of(series).map(stop));
  if (left.length === 0) return { element: bare(drawn), stops };
  const { name, unit } = residual(chart);
  const apart = (value: number) => (unit in STEPS && value !== 0 ? show(value, unit) : digits(value));
  const below = plot({
    ...common(width, RESIDUALS, `${chart.title}: residuals`),
    ...MARGINS,
    marginTop: 22,
    marginBottom: 12,
    x: { ...(x as object), axis: null } as never,
    y: { label: null, nice: true },
    marks: [
      gridY({ stroke: "var(--grid)", strokeOpacity: 1, ticks: 3 }),
      axisY({ ticks: 3, tickFormat: apart, label: label(name, unit) }),
      ruleY([0], { stroke: "var(--line)" }),
      dot(left, { ...shape, y: "residual" }),
      text(doubted(left), { ...stars, y: "residual" }),
    ],
  });
  const both = document.createElement("div");
  both.append(bare(drawn), bare(below));
  return { element: both, stops };
}

/** A line in pieces between its points. */
function bent({ x, y }: { x: Ranged; y: Ranged }, points: Point[]): Point[] {
  return points.slice(1).flatMap((until, place) => along(x, y, [points[place] ?? until, until]));
}

function residual(chart: Chart): { name: string; unit: string } {
  const column = chart.columns.find(({ role }) => role === "residual");
  return column ?? { name: "residual", unit: "" };
}

function over(chart: Chart, row: Row): string {
  if (!Number.isFinite(row.residual)) return "";
  const { name, unit } = residual(chart);
  return `; ${name} ${show(row.residual, unit)}`;
}
