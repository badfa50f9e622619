// How far an axis goes, and where its ticks stand: of a logarithmic one at round numbers, and no
// more of them than can be read.
import type { Axis } from "./chart";

export interface Ranged {
  /** For the plot. */
  scale: { type: "linear" | "log"; domain: [number, number]; label: null };
  /** For axes and grids. */
  ticks: number[];
}

/** Pixels that a tick's label needs. */
const EACH = 78;
/** Space beyond the outermost values of a logarithmic axis. */
const BEYOND = 1.15;

/** The scale of an axis for these values on so many pixels. */
export function ranged(axis: Axis, values: number[], pixels: number, each = EACH): Ranged {
  const most = Math.max(2, Math.floor(pixels / each));
  const finite = values.filter(Number.isFinite);
  if (axis.scale === "linear") {
    // Amounts are seen from zero.
    const [least, greatest] = [Math.min(0, ...finite), Math.max(0, ...finite)];
    const step = roundStep(axis.unit, (greatest - least || 1) / most);
    const domain: [number, number] = [
      Math.floor(least / step) * step,
      Math.ceil((greatest || 1) / step) * step,
    ];
    return { scale: { type: "linear", domain, label: null }, ticks: multiples(step, domain) };
  }
  const known = finite.filter((value) => value > 0);
  const [least, greatest] = known.length > 0 ? [Math.min(...known), Math.max(...known)] : [1, 10];
  const domain: [number, number] = [least / BEYOND, greatest * BEYOND];
  return { scale: { type: "log", domain, label: null }, ticks: roundTicks(axis, domain, most) };
}

/** The same for an axis whose ends are given. */
export function within(axis: Axis, pixels: number, each = EACH): Ranged {
  const domain = axis.domain ?? [0, 1];
  const most = Math.max(2, Math.floor(pixels / each));
  const { scale: type } = axis;
  const step = roundStep(axis.unit, (domain[1] - domain[0]) / most);
  const ticks = type === "log" ? roundTicks(axis, domain, most) : multiples(step, domain);
  return { scale: { type, domain, label: null }, ticks };
}

/** Where a value is drawn: on an axis of powers nothing stands before its begin. */
export function drawnAt({ scale }: Ranged, value: number): number {
  return scale.type === "log" ? Math.max(value, scale.domain[0]) : value;
}

/** Places of a line between two points: on an axis of powers it is a curve. */
export function along(x: Ranged, y: Ranged, [from, until]: [Point, Point]): Point[] {
  if (x.scale.type === "linear" && y.scale.type === "linear") return [from, until];
  const [least, most] = [drawnAt(x, from[0]), drawnAt(x, until[0])];
  const slope = (until[1] - from[1]) / (until[0] - from[0]);
  return Array.from({ length: PIECES + 1 }, (_, place): Point => {
    const share = place / PIECES;
    const isEven = x.scale.type === "linear";
    const at = isEven ? least + (most - least) * share : least * (most / least) ** share;
    return [at, from[1] + (at - from[0]) * slope];
  });
}

export type Point = [number, number];

/** Straight pieces of a curve. */
const PIECES = 32;

const SECOND = 1e9;
const HOUR = 3600 * SECOND;

/** Steps that clocks have, beyond a second. */
const OF_TIME = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800]
  .map((seconds) => seconds * SECOND)
  .concat([1, 2, 3, 6, 12, 24, 48, 96, 168, 336, 720].map((hours) => hours * HOUR));

/** The least round step that is not below this one. */
function roundStep(unit: string, least: number): number {
  if (unit === "B") return 2 ** Math.ceil(Math.log2(Math.max(1, least)));
  const ten = 10 ** Math.floor(Math.log10(least));
  const plain = [1, 2, 5, 10].map((step) => step * ten).find((step) => step >= least * 0.999);
  if (unit === "date") {
    const hour = OF_TIME.filter((step) => step >= HOUR).map((step) => step / SECOND);
    const days = 86400 * 2 ** Math.ceil(Math.log2(Math.max(1, least / 86400)));
    return hour.find((step) => step >= least) ?? days;
  }
  const long = unit === "ns" && least > SECOND ? OF_TIME.find((step) => step >= least) : undefined;
  return long ?? plain ?? least;
}

function multiples(step: number, [from, until]: [number, number]): number[] {
  const first = Math.ceil(from / step - 1e-9);
  const count = Math.floor(until / step + 1e-9) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, place) => (first + place) * step);
}

/** Round numbers within a range: the finest steps of which there are not too many. */
function roundTicks({ unit }: Axis, domain: [number, number], most: number): number[] {
  const steps = unit === "B" ? [2, 4, 16, 64, 1024] : [0, 10, 100, 1000, 1e6];
  const all = steps.map((step) => (step === 0 ? halves(domain) : powers(step, domain)));
  return all.find((ticks) => ticks.length <= most) ?? all.at(-1) ?? [];
}

function powers(base: number, [from, until]: [number, number]): number[] {
  const first = Math.ceil(Math.log(from) / Math.log(base) - 1e-9);
  const ticks: number[] = [];
  for (let power = first; base ** power <= until; power++) ticks.push(base ** power);
  return ticks;
}

/** 1, 2, 5, 10, 20… */
function halves([from, until]: [number, number]): number[] {
  const decades = powers(10, [from / 10, until]);
  const ticks = decades.flatMap((ten) => [ten, 2 * ten, 5 * ten]);
  return ticks.filter((tick) => tick >= from && tick <= until);
}
