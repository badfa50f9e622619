// Finds the charts of a page and draws each when it comes near what is seen, anew when its width
// or the colours change. What the page says is there without this script.
import { Cursor } from "./cursor";
import { download } from "./csv";
import type { Chart } from "./chart";
import { DRAW } from "./chart/index";
import { themeSwitch } from "./theme";
import "./style/colours.css";
import "./style/page.css";
import "./style/figure.css";
import "./style/print.css";

/** The least width of a drawing. */
const LEAST = 220;

/** A chart of the page with the element that it is drawn into. */
class Drawn {
  private width = 0;
  private readonly cursor: Cursor;

  constructor(
    private readonly chart: Chart,
    private readonly box: HTMLElement,
    live: HTMLElement,
  ) {
    this.cursor = new Cursor(box, live);
  }

  /** Draws for the width that there is; not again for the same one unless `isForced`. */
  draw(isForced: boolean): void {
    // Narrower than this nothing can be read; the drawing is then scaled down.
    const width = Math.max(LEAST, Math.floor(this.box.clientWidth));
    if (this.box.clientWidth === 0 || (width === this.width && !isForced)) return;
    this.width = width;
    const drawing = DRAW[this.chart.kind](this.chart, width);
    this.box.querySelector(".reserve, .drawing-place")?.remove();
    const place = document.createElement("div");
    place.className = "drawing-place";
    place.append(drawing.element);
    this.box.prepend(place);
    this.box.dataset.drawn = "";
    this.cursor.follow(drawing);
  }

  get isDrawn(): boolean {
    return this.width > 0;
  }
}

function charts(): Chart[] {
  const text = document.querySelector("#charts")?.textContent ?? "[]";
  return JSON.parse(text) as Chart[];
}

function begin(): void {
  const live = document.createElement("div");
  live.className = "live";
  live.setAttribute("aria-live", "polite");
  document.body.append(live);

  const all = new Map<Element, Drawn>();
  const near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (isIntersecting) all.get(target)?.draw(false);
      }
    },
    { rootMargin: "400px 0px" },
  );
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const drawn = all.get(target);
      if (drawn?.isDrawn === true) drawn.draw(false);
    }
  });
  for (const chart of charts()) {
    const own = document.getElementById(chart.id);
    const box = own?.querySelector<HTMLElement>(".plot");
    if (own === null || box === null || box === undefined) continue;
    all.set(box, new Drawn(chart, box, live));
    near.observe(box);
    sizes.observe(box);
    own.querySelector(".csv")?.addEventListener("click", () => download(chart));
  }
  const again = () => all.forEach((drawn) => drawn.isDrawn && drawn.draw(true));
  themeSwitch(again);
  addEventListener("beforeprint", () => all.forEach((drawn) => drawn.draw(false)));
}

begin();
