// Counts over time and something else, as an image below the axes; response times with the median
// and the 99th percentile of each column as lines.
import type uPlot from "uplot";
import { ranged, within } from "../scale";
import { show } from "../unit";
import type { Heat, View } from "./answer";
import type { Drawn } from "./figure";
import { shaded } from "./shade";

/** A colour of the page as numbers. */
function colour(name: string): [number, number, number] {
  const text = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const part = (at: number) => Number.parseInt(text.slice(at, at + 2), 16) || 0;
  return [part(1), part(3), part(5)];
}

function painted(view: View, heat: Heat, plot: uPlot): void {
  const { left, top, width, height } = plot.bbox;
  const x = (ns: number) => plot.valToPos(ns, "x", true) - left;
  const y = (value: number) => top + height - plot.valToPos(value, "y", true);
  const cells = { columns: view.times_ns.map(x), lines: heat.edges.map(y), counts: heat.counts };
  const image = shaded(cells, Math.round(width), Math.round(height), colour("--series-0"));
  if (image === null) return;
  // An image replaces what is below it; a canvas of its own lets the paper through.
  const canvas = new OffscreenCanvas(image.width, image.height);
  canvas.getContext("2d")?.putImageData(image, 0, 0);
  plot.ctx.drawImage(canvas, Math.round(left), Math.round(top));
}

/** Of each column the value below which so great a part of it lies; null where it is empty. */
export function percentile(heat: Heat, columns: number, share: number): (number | null)[] {
  const lines = heat.edges.length - 1;
  return Array.from({ length: columns }, (_, column) => {
    const of = heat.counts.slice(column * lines, (column + 1) * lines);
    const total = of.reduce((sum, count) => sum + count, 0);
    let seen = 0;
    const line = of.findIndex((count) => (seen += count) >= total * share && count > 0);
    if (total === 0 || line < 0) return null;
    return Math.sqrt((heat.edges[line] ?? 1) * (heat.edges[line + 1] ?? 1));
  });
}

function middles(times: number[]): number[] {
  return times.slice(1).map((until, at) => (until + (times[at] ?? until)) / 2);
}

export function responses(view: View): Drawn {
  const heat = view.responses;
  const [low, high] = [heat.edges[0] ?? 1e3, heat.edges.at(-1) ?? 1e6];
  const times = middles(view.times_ns);
  const colours = getComputedStyle(document.documentElement);
  const line = (label: string, name: string): uPlot.Series => ({
    label,
    stroke: colours.getPropertyValue(name).trim(),
    width: 1.5,
    spanGaps: false,
  });
  return {
    data: [times, percentile(heat, times.length, 0.5), percentile(heat, times.length, 0.99)],
    series: [line("p50", "--ink"), line("p99", "--series-1")],
    from_ns: view.times_ns[0] ?? 0,
    until_ns: view.times_ns.at(-1) ?? 1,
    upright: {
      scale: { distr: 3, log: 10, range: [low, high] },
      axis: {
        splits: (plot) => {
          const axis = { label: "", unit: "ns", scale: "log" as const };
          return ranged(axis, [low, high], plot.bbox.height / devicePixelRatio, 36).ticks;
        },
        // uPlot leaves out what is no power of ten.
        filter: (_, splits) => splits,
        values: (_, values) => values.map((value) => show(value, "ns")),
      },
      brushed: true,
    },
    below: (plot) => painted(view, heat, plot),
    says: `Response times over time, from ${show(low, "ns")} to ${show(high, "ns")}`,
  };
}

export function places(view: View, device: string): Drawn {
  const heat = view.places;
  const [low, high] = [heat.edges[0] ?? 0, heat.edges.at(-1) ?? 1];
  return {
    data: [middles(view.times_ns)],
    series: [],
    from_ns: view.times_ns[0] ?? 0,
    until_ns: view.times_ns.at(-1) ?? 1,
    upright: {
      scale: { range: [low, Math.max(high, low + 1)] },
      axis: {
        splits: (plot) => {
          const axis = { label: "", unit: "B", scale: "linear" as const };
          const domain: [number, number] = [low, high];
          return within({ ...axis, domain }, plot.bbox.height / devicePixelRatio, 36).ticks;
        },
        values: (_, values) => values.map((value) => (value === 0 ? "0" : show(value, "B"))),
      },
      brushed: true,
    },
    below: (plot) => painted(view, heat, plot),
    says: `Places on ${device} over time, from ${show(low, "B")} to ${show(high, "B")}`,
  };
}
