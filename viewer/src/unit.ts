// Numbers with their units, as short as an axis and a reader need them.

type Step = [least: number, name: string];

/** Steps of a unit, the greatest first. */
const STEPS: Record<string, Step[]> = {
  ns: [[2 * 86400e9, "d"], [2 * 3600e9, "h"], [120e9, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
  "B/s": [[1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"], [1, "B/s"]],
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

/** `1.5 ms`, `87.2 MB/s`, `12 %`. */
export function show(value: number, unit: string): string {
  if (!Number.isFinite(value)) return "not measured";
  const steps = STEPS[unit];
  if (steps === undefined) return [digits(value), unit === "1" ? "" : unit].join(" ").trim();
  const size = Math.abs(value);
  const least: Step = steps.at(-1) ?? [1, unit];
  const [from, name] = steps.find(([from]) => size >= from) ?? least;
  return `${digits(value / (WHOLE[name] ?? from))} ${name}`;
}

/** The unit that is not on each number of an axis stands in its label. */
export function label(text: string, unit: string): string {
  return unit in STEPS || unit === "1" || unit === "" ? text : `${text} (${unit})`;
}

/** A number at a tick of an axis. One of long times up to `greatest` has one unit. */
export function tick(unit: string, greatest = 0): (value: number) => string {
  const long = unit === "ns" && greatest >= 120e9;
  const [from, name] = (long ? STEPS.ns?.find(([from]) => greatest >= from) : undefined) ?? [0, ""];
  return (value) => {
    if (value === 0) return "0";
    if (long) return `${digits(value / (WHOLE[name] ?? from))} ${name}`;
    return unit in STEPS ? show(value, unit) : digits(value);
  };
}
