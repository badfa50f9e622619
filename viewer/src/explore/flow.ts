// Requests per second, by kind of operation: steps, one for each column of time.
import uPlot from "uplot";
import { digits } from "../unit";
import type { View } from "./answer";
import type { Drawn } from "./figure";

const COLOURS: Record<string, string> = {
  read: "--series-0",
  write: "--series-1",
  other: "--series-4",
};

/** The kinds of operations that there are, with their colours. */
export function kinds(view: View): { name: string; colour: string }[] {
  const used = view.flow.filter((flow) => flow.requests.some((count) => count > 0));
  return used.map(({ operation }) => ({
    name: operation,
    colour: COLOURS[operation] ?? "--series-4",
  }));
}

export function flow(view: View): Drawn {
  const times = view.times_ns;
  const used = view.flow.filter((of) => of.requests.some((count) => count > 0));
  const rate = (requests: number[]) => {
    const each = requests.map((count, at) => {
      const width = (times[at + 1] ?? 0) - (times[at] ?? 0);
      return (count * 1e9) / Math.max(1, width);
    });
    // A step goes on to the end of its column.
    return [...each, each.at(-1) ?? 0];
  };
  const rates = used.map((of) => rate(of.requests));
  const most = Math.max(1e-9, ...rates.flat());
  const colours = getComputedStyle(document.documentElement);
  const series = used.map(({ operation }): uPlot.Series => {
    const stroke = colours.getPropertyValue(COLOURS[operation] ?? "--series-4").trim();
    const paths = uPlot.paths.stepped?.({ align: 1 });
    return { label: operation, stroke, width: 1.5, ...(paths === undefined ? {} : { paths }) };
  });
  return {
    data: [times, ...rates],
    series,
    from_ns: times[0] ?? 0,
    until_ns: times.at(-1) ?? 1,
    upright: {
      scale: { range: [0, most * 1.05] },
      axis: { values: (_, values) => values.map((value) => digits(value)), space: 36 },
      brushed: false,
    },
    says: `Requests a second over time, at most ${digits(most)}`,
  };
}
