// Numbers of bins of time: a level line in each bin. Where a bin has no number nothing is drawn.
import { plot, ruleY } from "@observablehq/plot";
import type { Scale } from "@observablehq/plot";
import { bands, marginTop, marked, span } from "./bands";
import { axes } from "./lines";
import type { Drawing, Stop } from "../drawing";
import { bare, colour, common } from "../drawing";
import { rows, type Chart, type Row } from "../chart";
import { ranged, within } from "../scale";
import { show } from "../unit";

const LEFT = 62;
const RIGHT = 24;
const BOTTOM = 42;

export function over(chart: Chart, width: number): Drawing {
  const [from, until] = chart.x.domain ?? [0, 1];
  const each = (until - from) / (chart.x.bins ?? 1);
  const data = rows(chart).filter((row) => Number.isFinite(row.x) && Number.isFinite(row.y));
  const plane = {
    wide: width - LEFT - RIGHT,
    high: chart.height - marginTop(chart) - BOTTOM,
  };
  const x = within(chart.x, plane.wide);
  const y = ranged(chart.y, data.map((row) => row.y), plane.high, 36);
  const ends = { x1: "x", x2: (row: Row) => row.x + each };
  const drawn = plot({
    ...common(width, chart.height, chart.title),
    marginLeft: LEFT,
    marginRight: RIGHT,
    marginTop: marginTop(chart),
    marginBottom: BOTTOM,
    x: x.scale,
    y: y.scale,
    marks: [
      ...axes(chart, x, y),
      ruleY(data, { ...ends, y: "y", stroke: (row: Row) => colour(chart, row.series),
        strokeWidth: 2 }),
      ...bands(chart, plane),
    ],
  });
  const [across, up] = [drawn.scale("x") as Scale, drawn.scale("y") as Scale];
  const stop = (row: Row): Stop => ({
    x: across.apply(row.x + each / 2),
    y: up.apply(row.y),
    text: () => sentence(chart, row, each),
  });
  const of = (series: string) => data.filter((row) => row.series === series);
  return { element: bare(drawn), stops: chart.series.map((series) => of(series).map(stop)) };
}

function sentence(chart: Chart, row: Row, each: number): string {
  const { unit } = chart.y;
  const name = `${chart.y.label}, ${row.series}`;
  const at = span(chart, row.x, row.x + each);
  return `${at}: ${name} ${show(row.y, unit)}${marked(chart, row.x, row.x + each)}`;
}
