// Points with the lines that were fitted to them, and what the lines leave over below.
import { axisY, dot, gridY, line, plot, ruleY } from "@observablehq/plot";
import type { Scale } from "@observablehq/plot";
import type { Drawing, Stop } from "../drawing";
import { bare, colour, common } from "../drawing";
import { rows, type Figure, type Row } from "../figure";
import { symbol } from "../symbol";
import { digits } from "../unit";
import { axes, sentence } from "./lines";

const RESIDUALS = 110;
const MARGINS = { marginLeft: 62, marginRight: 24 };

export function points(figure: Figure, width: number): Drawing {
  const data = rows(figure).filter((row) => Number.isFinite(row.x) && Number.isFinite(row.y));
  const left = data.filter((row) => Number.isFinite(row.residual));
  const height = left.length > 0 ? figure.height - RESIDUALS : figure.height;
  const shape = {
    x: "x",
    r: 3.5,
    symbol: (row: Row) => symbol(figure, row.series),
    stroke: (row: Row) => colour(figure, row.series),
    fill: (row: Row) => (row.note === "" ? colour(figure, row.series) : "var(--paper)"),
  };
  const drawn = plot({
    ...common(width, height, figure.title),
    ...MARGINS,
    marginTop: 26,
    marginBottom: 42,
    x: { type: figure.x.scale, label: null, zero: figure.x.scale === "linear" },
    y: { type: figure.y.scale, label: null, nice: true, zero: figure.y.scale === "linear" },
    marks: [
      ...axes(figure, width),
      ...figure.fits.map((fit) =>
        line(fit.points, { stroke: colour(figure, fit.series), strokeWidth: 1.5 }),
      ),
      dot(data, { ...shape, y: "y" }),
    ],
  });
  const x = drawn.scale("x") as Scale;
  const y = drawn.scale("y") as Scale;
  const stop = (row: Row): Stop => ({
    x: x.apply(row.x),
    y: y.apply(row.y),
    text: () => sentence(figure, row) + over(row, figure.y.unit),
  });
  const of = (series: string) =>
    data.filter((row) => row.series === series).sort((a, b) => a.x - b.x);
  const stops = figure.series.map((series) => of(series).map(stop));
  if (left.length === 0) return { element: bare(drawn), stops };
  const below = plot({
    ...common(width, RESIDUALS, `${figure.title}: residuals`),
    ...MARGINS,
    marginTop: 22,
    marginBottom: 12,
    x: { ...(x as object), axis: null } as never,
    y: { label: null, nice: true },
    marks: [
      gridY({ stroke: "var(--grid)", strokeOpacity: 1, ticks: 3 }),
      axisY({ ticks: 3, tickFormat: (value: number) => digits(value), label: "residual" }),
      ruleY([0], { stroke: "var(--line)" }),
      dot(left, { ...shape, y: "residual" }),
    ],
  });
  const both = document.createElement("div");
  both.append(bare(drawn), bare(below));
  return { element: both, stops };
}

function over(row: Row, unit: string): string {
  if (!Number.isFinite(row.residual)) return "";
  return `; residual ${digits(row.residual)} ${unit}`;
}
