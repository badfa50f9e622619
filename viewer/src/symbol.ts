// Series are told apart by shape too: colour alone is not seen by everybody.
import type { Figure } from "./figure";

const SYMBOLS = ["circle", "square", "triangle", "diamond", "star", "cross", "wye", "asterisk"];

export function symbol(figure: Figure, series: string): string {
  const place = Math.max(0, figure.series.indexOf(series));
  return SYMBOLS[place % SYMBOLS.length] ?? "circle";
}
