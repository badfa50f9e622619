// Series are told apart by shape too: colour alone is not seen by everybody.
import type { Chart } from "./chart";

const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "cross", "wye", "asterisk"];

export function symbol(chart: Chart, series: string): string {
  const place = Math.max(0, chart.series.indexOf(series));
  return SYMBOLS[place % SYMBOLS.length] ?? "circle";
}
