// Small multiples: the same bars over time for each category, on one scale, in as many columns as
// there is room for.
import { axisX, axisY, gridY, plot, rect, ruleY, text } from "@observablehq/plot";
import type { Scale } from "@observablehq/plot";
import type { Drawing, Stop } from "../drawing";
import { bare, common, cut } from "../drawing";
import { distinct, rows, type Chart, type Row } from "../chart";
import { ranged, within } from "../scale";
import { show, tick } from "../unit";

const LEFT = 56;
const RIGHT = 10;
const TOP = 22;
const BOTTOM = 34;
/** The least width of one of them, and the most beside each other. */
const EACH = 170;
const MOST = 6;
/** The share of their distances that is free between two: room for the name. */
const APART = { across: 0.08, down: 0.34 };

export function multiples(chart: Chart, width: number): Drawing {
  const all = rows(chart);
  const names = distinct(all.map((row) => row.category));
  const data = all.filter((row) => Number.isFinite(row.x) && Number.isFinite(row.y));
  const room = Math.floor((width - LEFT - RIGHT) / EACH);
  const columns = Math.max(1, Math.min(MOST, room, names.length));
  const lines = Math.max(1, Math.ceil(names.length / columns));
  const column = (name: string) => names.indexOf(name) % columns;
  const line = (name: string) => Math.floor(names.indexOf(name) / columns);
  const facet = { fx: (row: Row) => column(row.category), fy: (row: Row) => line(row.category) };
  const wide = ((width - LEFT - RIGHT) / columns) * (1 - APART.across);
  const high = ((chart.height - TOP - BOTTOM) / lines) * (1 - APART.down);
  const each = binWidth(chart);
  const x = within(chart.x, wide, 46);
  const most = Math.max(...data.map((row) => row.y), 0) || 1;
  // Up to the highest bar: little room is left for more.
  const y = ranged(chart.y, [most], high, 16);
  y.scale.domain = [0, most];
  y.ticks = y.ticks.filter((tick) => tick <= most);
  const order = (count: number) => Array.from({ length: count }, (_, place) => place);
  const drawn = plot({
    ...common(width, chart.height, chart.title),
    marginLeft: LEFT,
    marginRight: RIGHT,
    marginTop: TOP,
    marginBottom: BOTTOM,
    x: x.scale,
    y: y.scale,
    fx: { domain: order(columns), axis: null, padding: APART.across },
    fy: { domain: order(lines), axis: null, padding: APART.down },
    marks: [
      gridY({ ticks: y.ticks, stroke: "var(--grid)", strokeOpacity: 1 }),
      axisX({ text: tick(chart.x.unit, x), ticks: x.ticks, label: null, tickSize: 3 }),
      axisY({ text: tick(chart.y.unit, y), ticks: y.ticks, label: null, tickSize: 3 }),
      rect(data, { ...facet, x1: "x", x2: (row: Row) => row.x + each, y1: () => 0, y2: "y",
        fill: "var(--series-0)", insetLeft: 0.5, insetRight: 0.5 }),
      ruleY([0], { stroke: "var(--line)" }),
      text(names, { fx: column, fy: line, text: (name: string) => cut(name, wide),
        frameAnchor: "top-left", dy: -13, fontWeight: 600 }),
    ],
  });
  const scale = (name: "x" | "y" | "fx" | "fy") => drawn.scale(name) as Scale;
  const [px, py, fx, fy] = [scale("x"), scale("y"), scale("fx"), scale("fy")];
  const stop = (row: Row): Stop => ({
    x: fx.apply(column(row.category)) + px.apply(row.x + each / 2) - LEFT,
    y: fy.apply(line(row.category)) + py.apply(row.y) - TOP,
    text: () => sentence(chart, row, each),
  });
  const of = (name: string) => data.filter((row) => row.category === name);
  return { element: bare(drawn), stops: names.map((name) => of(name).map(stop)) };
}

function binWidth({ x }: Chart): number {
  const [from, until] = x.domain ?? [0, 1];
  return (until - from) / (x.bins ?? 1);
}

function sentence({ x, y }: Chart, row: Row, each: number): string {
  return `${row.category}, ${show(row.x, x.unit, each)}: ${y.label} ${show(row.y, y.unit)}`;
}
