// A chart's data as CSV, as RFC 4180 has it; a spreadsheet computes nothing of it.
import type { Axis, Chart, Column } from "./chart";
import { edge } from "./chart/heat";
import { show } from "./unit";

/** What a spreadsheet takes for the beginning of a formula. */
const FORMULA = /^[=+\-@\uff1d\uff0b\uff0d\uff20\t]/;

export function csv(chart: Chart): string {
  return table(chart.kind === "heat" ? binned(chart) : chart);
}

/** A heat map's bins with where they begin; those that are empty are left out. */
function binned(chart: Chart): Chart {
  const own = chart.columns[0];
  const counts = own?.values ?? [];
  const places = [...counts.keys()].filter((place) => Number(counts[place]) > 0);
  const across = chart.x.bins ?? 1;
  const begins = (axis: Axis, line: (place: number) => number): Column => {
    const { label, names, unit } = axis;
    const value = (at: number) => (names === undefined ? edge(axis, at) : (names[at] ?? ""));
    const values = places.map((place) => value(line(place)));
    return { name: names === undefined ? `${label} from` : label, unit, role: "extra", values };
  };
  const columns = [
    begins(chart.x, (place) => place % across),
    begins(chart.y, (place) => Math.floor(place / across)),
    { name: own?.name ?? "", unit: own?.unit ?? "", role: "value" as const,
      values: places.map((place) => counts[place] ?? null) },
  ];
  return { ...chart, columns };
}

function table(chart: Chart): string {
  const count = Math.max(0, ...chart.columns.map((column) => column.values.length));
  const head = chart.columns.map((column) => cell(name(column)));
  const value = ({ unit, values }: Column, place: number) => {
    const value = values[place] ?? null;
    return unit === "date" && typeof value === "number" ? show(value, unit) : cell(value);
  };
  const line = (place: number) => chart.columns.map((column) => value(column, place));
  const body = Array.from({ length: count }, (_, place) => line(place));
  return [head, ...body].map((cells) => `${cells.join(",")}\n`).join("");
}

function name({ name, unit }: Column): string {
  return ["", "1", "date"].includes(unit) ? name : `${name} (${unit})`;
}

function cell(value: number | string | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Gives the reader a file; nothing leaves the machine. */
export function download(chart: Chart): void {
  const url = URL.createObjectURL(new Blob([csv(chart)], { type: "text/csv" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${chart.id}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
