// Numbers with their units, as short as an axis and a reader need them. Rates in bytes come in the
// unit of the tables beside them (crates/report/src/number.rs).
import type { Ranged } from "./scale";

type Step = [least: number, name: string];

/** Steps of a unit, the greatest first. */
export const STEPS: Record<string, Step[]> = {
  ns: [[2 * 86400e9, "d"], [2 * 3600e9, "h"], [120e9, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
  B: [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]],
  "1/s": [[1e6, "M/s"], [1e3, "k/s"], [1, "/s"]],
};

/** What one is, where the step begins at more than one. */
const WHOLE: Record<string, number> = { d: 86400e9, h: 3600e9, min: 60e9 };

/** Three digits, without zeros that say nothing on an axis. */
export function digits(value: number, count = 3): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e9 || size < 1e-4) return value.toExponential(2);
  const decimals = Math.max(0, count - 1 - Math.floor(Math.log10(size)));
  const text = value.toFixed(Math.min(decimals, 8));
  const plain = text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  const [whole, rest] = plain.split(".") as [string, string?];
  const grouped = whole.replace(/(\d)(?=(\d{3})+$)/g, "$1\u202f");
  return rest === undefined ? grouped : `${grouped}.${rest}`;
}

/** The step of a unit in which a number is told whose neighbours are so far away; 0 of one alone.
 * Minutes are told of in seconds where less than a quarter of one matters. */
function stepOf(steps: Step[], size: number, apart: number): Step {
  const isFine = (name: string) => apart > 0 && apart < (WHOLE[name] ?? 0) / 4;
  const least: Step = steps.at(-1) ?? [1, ""];
  return steps.find(([from, name]) => size >= from && !isFine(name)) ?? least;
}

/** Digits that tell a number from its neighbours. */
function digitsFor(size: number, apart: number): number {
  if (!(apart > 0) || !(size > 0)) return 3;
  const decimals = [0, 1, 2, 3, 4, 5].find((count) => {
    const whole = apart * 10 ** count;
    return Math.abs(whole - Math.round(whole)) < 1e-6 * Math.max(1, whole) && whole >= 0.5;
  });
  return Math.min(12, Math.max(3, Math.floor(Math.log10(size)) + 1 + (decimals ?? 6)));
}

/** `1.5 ms`, `4 KiB`, `12 %`; with as many digits as tell it from neighbours so far away. */
export function show(value: number, unit: string, apart = 0): string {
  if (!Number.isFinite(value)) return "not measured";
  if (unit === "date") return moment(value, apart);
  const steps = STEPS[unit];
  if (steps === undefined) return [digits(value), unit === "1" ? "" : unit].join(" ").trim();
  return told(value, stepOf(steps, Math.abs(value), apart), apart);
}

/** A moment in seconds since 1970, UTC; the date alone where neighbours are whole days apart. */
function moment(value: number, apart: number): string {
  const isKnown = Math.abs(value) < LAST_SECOND;
  const text = new Date(isKnown ? value * 1000 : 0).toISOString();
  const isDay = apart > 0 && apart % DAY === 0 && value % DAY === 0;
  return isDay ? text.slice(0, 10) : `${text.slice(0, 10)} ${text.slice(11, 16)}Z`;
}

const DAY = 86400;
/** The end of what a `Date` holds. */
const LAST_SECOND = 8e12;

function told(value: number, [from, name]: Step, apart: number): string {
  const each = WHOLE[name] ?? from;
  return `${digits(value / each, digitsFor(Math.abs(value) / each, apart / each))} ${name}`;
}

/** The unit that is not on each number of an axis stands in its label. */
export function label(text: string, unit: string): string {
  return unit in STEPS || ["1", "", "date"].includes(unit) ? text : `${text} (${unit})`;
}

/** A number at a tick of an axis. Of evenly divided long times all ticks have one unit. */
export function tick(unit: string, { scale, ticks }: Ranged): (value: number) => string {
  const even = scale.type === "linear";
  const apart = even ? Math.abs((ticks[1] ?? 0) - (ticks[0] ?? 0)) : 0;
  const greatest = Math.max(0, ...ticks.map(Math.abs));
  const step = stepOf(STEPS[unit] ?? [], greatest, apart);
  const isLong = even && step[1] in WHOLE;
  return (value) => {
    // The year is the same for most, and stands in the chart's sentences.
    if (unit === "date") return moment(value, apart).slice(5);
    if (value === 0) return "0";
    if (isLong) return told(value, step, apart);
    if (unit in STEPS) return show(value, unit, apart);
    return digits(value, digitsFor(Math.abs(value), apart));
  };
}
