// Parts of a whole: a bar for each category, its parts one behind the other.
import { axisX, axisY, barX, plot, ruleX } from "@observablehq/plot";
import type { Scale } from "@observablehq/plot";
import type { Drawing } from "../drawing";
import { bare, colour, common, cut, doubt, labelMargin } from "../drawing";
import { distinct, rows, type Chart, type Row } from "../chart";
import { ranged } from "../scale";
import { label, show, tick } from "../unit";

interface Part {
  row: Row;
  from: number;
  until: number;
}

export function stack(chart: Chart, width: number): Drawing {
  const data = rows(chart).filter((row) => Number.isFinite(row.value));
  const categories = distinct(data.map((row) => row.category));
  const parts = categories.map((category) => piled(chart, category, data));
  const marginLeft = labelMargin(categories, width);
  const unit = chart.x.unit;
  const ends = parts.flat().map((part) => part.until);
  const across = ranged(chart.x, ends, width - marginLeft);
  const { scale, ticks } = across;
  const drawn = plot({
    ...common(width, chart.height, chart.title),
    marginLeft,
    marginRight: 24,
    marginTop: 8,
    marginBottom: 40,
    x: scale,
    y: { domain: categories, padding: 0.25, label: null },
    marks: [
      axisX({ text: tick(unit, across), label: label(chart.x.label, unit), ticks }),
      axisY({ label: null, tickFormat: (name: string) => cut(name, marginLeft), tickSize: 0 }),
      barX(parts.flat(), {
        x1: "from",
        x2: "until",
        y: (part: Part) => part.row.category,
        fill: (part: Part) => colour(chart, part.row.series),
        stroke: "var(--paper)",
        strokeWidth: 0.5,
      }),
      ruleX([0], { stroke: "var(--line)" }),
    ],
  });
  const x = drawn.scale("x") as Scale;
  const y = drawn.scale("y") as Scale;
  const stops = parts.map((pile) =>
    pile.map((part) => ({
      x: x.apply((part.from + part.until) / 2),
      y: y.apply(part.row.category) + (y.bandwidth ?? 0) / 2,
      text: () => sentence(part, pile, unit),
    })),
  );
  return { element: bare(drawn), stops };
}

/** The parts of a category in the order of the series. */
function piled(chart: Chart, category: string, data: Row[]): Part[] {
  const order = (row: Row) => chart.series.indexOf(row.series);
  const own = data.filter((row) => row.category === category);
  own.sort((a, b) => order(a) - order(b));
  let from = 0;
  return own.map((row) => {
    const part = { row, from, until: from + row.value };
    from = part.until;
    return part;
  });
}

function sentence({ row }: Part, pile: Part[], unit: string): string {
  const whole = pile.at(-1)?.until ?? 0;
  const share = whole > 0 ? `, ${Math.round((row.value / whole) * 100)} % of ` : " of ";
  const of = `${share}${show(whole, unit)}`;
  return `${row.category}, ${row.series}: ${show(row.value, unit)}${of}${doubt(row)}`;
}
