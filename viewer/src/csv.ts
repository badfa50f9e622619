// A chart's data as CSV, as RFC 4180 has it; a spreadsheet computes nothing of it.
import type { Column, Chart } from "./chart";

/** What a spreadsheet takes for the beginning of a formula. */
const FORMULA = /^[=+\-@\uff1d\uff0b\uff0d\uff20\t]/;

export function csv(chart: Chart): string {
  const count = Math.max(0, ...chart.columns.map((column) => column.values.length));
  const head = chart.columns.map((column) => cell(name(column)));
  const line = (place: number) => chart.columns.map(({ values }) => cell(values[place] ?? null));
  const body = Array.from({ length: count }, (_, place) => line(place));
  return [head, ...body].map((cells) => `${cells.join(",")}\n`).join("");
}

function name({ name, unit }: Column): string {
  return unit === "" || unit === "1" ? name : `${name} (${unit})`;
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
