// Times of a trace as an axis and a reader need them: where the axis shows a short piece of a long
// trace, its numbers count from its left end.
import { digits, show } from "../unit";
import { within } from "../scale";

/** From where an axis counts. */
export function base(from: number, until: number): number {
  return until - from < Math.abs(from) / 20 ? from : 0;
}

export function axisTicks(from: number, until: number, pixels: number): number[] {
  const zero = base(from, until);
  const axis = { label: "", unit: "ns", scale: "linear" as const };
  const domain: [number, number] = [from - zero, until - zero];
  return within({ ...axis, domain }, pixels, 90).ticks.map((tick) => tick + zero);
}

export function axisText(value: number, from: number, until: number): string {
  const zero = base(from, until);
  if (zero === 0) return value === 0 ? "0" : show(value, "ns");
  const behind = Math.round(value - zero);
  return behind === 0 ? "0" : `+${show(behind, "ns")}`;
}

export function axisLabel(from: number, until: number): string {
  const zero = base(from, until);
  return zero === 0 ? "time" : `time behind ${seconds(zero)} s`;
}

/** Seconds to the nanosecond, without zeros that say nothing. */
export function seconds(ns: number): string {
  const text = (ns / 1e9).toFixed(9).replace(/\.?0+$/, "");
  return text === "" || text === "-0" ? "0" : text;
}

export function count(value: number): string {
  return value < 1e6 ? String(value).replace(/(\d)(?=(\d{3})+$)/g, "$1\u202f")
    : digits(value, 15).replace(/\..*/, "");
}
