// A figure over time that is brushed: a rectangle of it is selected, by the mouse or a finger, and
// keys move and zoom it. uPlot draws it; what is in it is a figure's own.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { element } from "./dom";
import { axisLabel, axisText, axisTicks } from "./time";

/** What is selected of a figure. */
export interface Part {
  from_ns: number;
  until_ns: number;
  /** Of the upright axis, where that is brushed too. */
  low: number | null;
  high: number | null;
}

export interface Drawn {
  /** The first column are times. */
  data: uPlot.AlignedData;
  series: uPlot.Series[];
  from_ns: number;
  until_ns: number;
  upright: { scale: uPlot.Scale; axis: uPlot.Axis; brushed: boolean };
  /** Draws below the axes' own lines. */
  below?: (plot: uPlot) => void;
  /** What the figure shows, for who does not see it. */
  says: string;
}

/** Moves and zooms by keys: how far the ends go, in widths. */
const KEYS: Record<string, [number, number]> = {
  ArrowLeft: [-0.25, -0.25],
  ArrowRight: [0.25, 0.25],
  "+": [0.25, -0.25],
  "=": [0.25, -0.25],
  "-": [-0.5, 0.5],
};

/** Pixels that a drag has at the least. */
const LEAST = 5;

export class Figure {
  readonly element: HTMLElement;
  private readonly box: HTMLElement;
  private plot: uPlot | null = null;
  private drawn: Drawn | null = null;

  constructor(
    id: string,
    title: string,
    method: string,
    private readonly height: number,
    private readonly selected: (part: Part) => void,
    private readonly back: () => void,
  ) {
    this.box = element("div", { class: "brushed", id, tabindex: "0", role: "group" });
    this.box.style.minHeight = `${height}px`;
    const caption = element("figcaption", {}, element("h3", {}, title));
    this.element = element("figure", {}, caption, this.box, element("p", { class: "method" }, method));
    this.box.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.fit()).observe(this.box);
  }

  show(drawn: Drawn): void {
    this.drawn = drawn;
    this.plot?.destroy();
    this.box.setAttribute("aria-label", drawn.says);
    this.plot = new uPlot(this.options(drawn), drawn.data, this.box);
  }

  /** Draws it anew, for other colours. */
  again(): void {
    if (this.drawn !== null) this.show(this.drawn);
  }

  private fit(): void {
    const width = this.box.clientWidth;
    if (this.plot !== null && width > 0 && width !== this.plot.width) {
      this.plot.setSize({ width, height: this.height });
    }
  }

  private options(drawn: Drawn): uPlot.Options {
    const colours = getComputedStyle(document.documentElement);
    const colour = (name: string) => colours.getPropertyValue(name).trim();
    const lines = { stroke: colour("--grid"), width: 1 };
    const axis = {
      stroke: colour("--muted"),
      grid: lines,
      ticks: { ...lines, size: 4 },
      font: "12px system-ui, sans-serif",
      labelFont: "12px system-ui, sans-serif",
    };
    const { from_ns, until_ns, upright } = drawn;
    return {
      width: Math.max(220, this.box.clientWidth),
      height: this.height,
      legend: { show: false },
      cursor: {
        drag: { x: true, y: upright.brushed, uni: upright.brushed ? 20 : Infinity, setScale: false, dist: LEAST },
        points: { show: false },
      },
      scales: {
        x: { time: false, range: [from_ns, until_ns] },
        y: upright.scale,
      },
      axes: [
        {
          ...axis,
          label: axisLabel(from_ns, until_ns),
          labelSize: 20,
          size: 34,
          splits: (plot) => axisTicks(from_ns, until_ns, plot.bbox.width / devicePixelRatio),
          values: (_, values) => values.map((value) => axisText(value, from_ns, until_ns)),
        },
        { ...axis, size: 74, ...upright.axis },
      ],
      series: [{}, ...drawn.series],
      hooks: {
        drawAxes: [(plot) => drawn.below?.(plot)],
        setSelect: [(plot) => this.take(plot)],
      },
    };
  }

  private take(plot: uPlot): void {
    const { left, top, width, height } = plot.select;
    const over = plot.over;
    const wide = width >= LEAST;
    const tall = height >= LEAST && height < over.clientHeight - 1;
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    const drawn = this.drawn;
    if (drawn === null || (!wide && !tall)) return;
    const whole = width >= over.clientWidth - 1;
    this.selected({
      from_ns: wide && !whole ? Math.floor(plot.posToVal(left, "x")) : drawn.from_ns,
      until_ns: wide && !whole ? Math.ceil(plot.posToVal(left + width, "x")) : drawn.until_ns,
      low: tall ? plot.posToVal(top + height, "y") : null,
      high: tall ? plot.posToVal(top, "y") : null,
    });
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Escape") return this.back();
    const moves = KEYS[event.key];
    const drawn = this.drawn;
    if (moves === undefined || drawn === null || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const width = drawn.until_ns - drawn.from_ns;
    this.selected({
      from_ns: Math.floor(drawn.from_ns + moves[0] * width),
      until_ns: Math.ceil(drawn.until_ns + moves[1] * width),
      low: null,
      high: null,
    });
  }
}
