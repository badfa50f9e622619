// The page of `lbolt explore`: what is selected is asked of the server, and every figure follows.
import { themeSwitch } from "../theme";
import { show } from "../unit";
import type { Found, Request, Trace, View } from "./answer";
import { Questions, answered } from "./ask";
import { WHOLE, address, ofAddress, toggled, type Brush } from "./brush";
import { chips } from "./chips";
import { button, element, own } from "./dom";
import { Figure, type Part } from "./figure";
import { flow, kinds } from "./flow";
import { places, responses } from "./heat";
import { lists, nameOf } from "./lists";
import { request, requestRows } from "./requests";
import { count, seconds } from "./time";
import "../style/colours.css";
import "../style/page.css";
import "../style/figure.css";
import "./explore.css";

const ORDERS = { slowest: "Slowest first", first: "First first" } as const;
type Order = keyof typeof ORDERS;

/** Requests that are listed. */
const LISTED = 50;

class Explorer {
  private brush: Brush;
  private order: Order = "slowest";
  private view: View | null = null;
  private readonly figures: Record<"flow" | "responses" | "places", Figure>;
  private readonly views: Questions<View>;
  private readonly singles: Questions<Found[]>;
  private readonly rows: Questions<Request>;
  private row = 0;
  private answers = 0;

  constructor(private readonly trace: Trace) {
    this.brush = ofAddress(location.hash);
    const back = () => history.back();
    const figure = (id: string, title: string, method: string, height: number,
      take: (part: Part) => void) => new Figure(id, title, method, height, take, back);
    this.figures = {
      flow: figure("flow", "Requests per second", "Drag to select a time.", 170,
        (part) => this.choose(this.inTime(part))),
      responses: figure("responses", "Response times",
        "Darker: more requests (log scale). Lines: p50 and p99 of each column.", 260, (part) => this.chooseResponses(part)),
      places: figure("places", "Places", "Where requests begin on the device, over time.", 260,
        (part) => this.choosePlaces(part)),
    };
    const failed = (sentence: string) => own("answer").replaceChildren(sentence);
    this.views = new Questions<View>("view", (view, tookMs) => this.show(view, tookMs), failed);
    this.singles = new Questions<Found[]>("requests", (found) => this.list(found), failed);
    this.rows = new Questions<Request>("request", (one) => this.open(one), failed);
    this.begin();
  }

  private begin(): void {
    const { trace } = this;
    own("title").textContent = trace.title;
    document.title = `${trace.title} – lbolt explore`;
    const [from, until] = [trace.from_ns, trace.until_ns].map((ns) => show(ns, "ns"));
    const zero = trace.started_unix_ns === null ? []
      : [`times count from ${new Date(trace.started_unix_ns / 1e6).toISOString().replace("T", " ")}`];
    const about = [`${count(trace.requests)} requests`, `from ${from} to ${until}`, ...zero,
      ...trace.remarks];
    own("about").textContent = about.join(" · ");
    own("figures").replaceChildren(...Object.values(this.figures).map((one) => one.element));
    own("out").addEventListener("click", () => this.zoomOut());
    own("back").addEventListener("click", () => history.back());
    own("all").addEventListener("click", () => this.choose(WHOLE));
    own("span").addEventListener("submit", (event) => this.typed(event));
    addEventListener("popstate", () => this.ask(ofAddress(location.hash)));
    themeSwitch(() => Object.values(this.figures).forEach((one) => one.again()));
    this.showOrders();
    this.ask(this.brush);
  }

  /** Selects, and keeps that in the address. */
  private choose(brush: Brush): void {
    history.pushState(null, "", address(brush));
    this.ask(brush);
  }

  private ask(brush: Brush): void {
    this.brush = brush;
    this.views.ask(brush);
    this.singles.ask({ brush, order: this.order, most: LISTED });
  }

  private inTime(part: Part): Brush {
    const { from_ns, until_ns } = this.trace;
    const from = Math.max(from_ns, part.from_ns);
    const until = Math.min(until_ns, Math.max(from + 1, part.until_ns));
    const isWhole = from <= from_ns && until >= until_ns;
    return { ...this.brush, from_ns: isWhole ? null : from, until_ns: isWhole ? null : until };
  }

  private chooseResponses(part: Part): void {
    const brush = this.inTime(part);
    if (part.low === null || part.high === null) return this.choose(brush);
    this.choose({ ...brush, response_from_ns: part.low, response_until_ns: part.high });
  }

  private choosePlaces(part: Part): void {
    const brush = this.inTime(part);
    if (part.low === null || part.high === null) return this.choose(brush);
    this.choose({
      ...brush,
      shown_device: this.view?.brush.shown_device ?? null,
      place_from_bytes: Math.max(0, Math.floor(part.low)),
      place_until_bytes: Math.ceil(part.high),
    });
  }

  private zoomOut(): void {
    const shown = this.view?.times_ns ?? [];
    const [from, until] = [shown[0] ?? 0, shown.at(-1) ?? 1];
    const width = until - from;
    const part = { from_ns: from - width / 2, until_ns: until + width / 2, low: null, high: null };
    const brush = this.inTime({ ...part, from_ns: Math.floor(part.from_ns),
      until_ns: Math.ceil(part.until_ns) });
    this.choose({ ...brush, response_from_ns: null, response_until_ns: null,
      place_from_bytes: null, place_until_bytes: null });
  }

  /** The time that was typed, in seconds. */
  private typed(event: Event): void {
    event.preventDefault();
    const typed = (id: string) => {
      const field = own<HTMLInputElement>(id);
      const value = Number(field.value.replace(",", "."));
      field.setAttribute("aria-invalid", String(!Number.isFinite(value)));
      return Number.isFinite(value) ? Math.round(value * 1e9) : null;
    };
    const [from, until] = [typed("from"), typed("until")];
    if (from === null || until === null) {
      own("answer").textContent = "A time is a number of seconds, for example 12.5.";
    } else if (until <= from) {
      own("answer").textContent = "The time ends before it begins.";
    } else {
      this.choose(this.inTime({ from_ns: from, until_ns: until, low: null, high: null }));
    }
  }

  private show(view: View, tookMs: number): void {
    this.view = view;
    own("main").classList.add("ready");
    const { trace } = this;
    const time = (ns: number | null) => (ns === null ? "none" : show(ns, "ns"));
    const { p50_ns, p99_ns, max_ns } = view.times;
    const how = view.one_by_one ? "counted one by one" : "counted by cells of time";
    const known = view.unanswered === 0 ? ""
      : ` (times known of ${count(view.requests - view.unanswered)} of ${count(view.requests)})`;
    own("answer").textContent = `${count(view.requests)} requests, ${show(view.bytes, "B")}: p50 `
      + `${time(p50_ns)}, p99 ${time(p99_ns)} (±${trace.within_percent.toFixed(0)} %), max `
      + `${time(max_ns)}${known}; ${how} in ${tookMs.toFixed(0)} ms.`;
    own("answer").dataset.tookMs = tookMs.toFixed(1);
    this.answers += 1;
    const shown = { ...this.brush, ...(this.brush.from_ns === null && this.brush.until_ns === null
      ? {} : { from_ns: view.brush.from_ns, until_ns: view.brush.until_ns }),
      shown_device: view.brush.shown_device };
    own("chips").replaceChildren(...chips(trace, shown, (brush) => this.choose(brush)));
    own<HTMLInputElement>("from").value = seconds(view.brush.from_ns ?? 0);
    own<HTMLInputElement>("until").value = seconds(view.brush.until_ns ?? 0);
    own("lists").replaceChildren(...lists(trace, view, this.brush, (of, number) =>
      this.choose(toggled(this.brush, of, number))));
    const device = nameOf(trace, "devices", view.brush.shown_device ?? 0);
    this.figures.flow.show(flow(view));
    this.figures.responses.show(responses(view));
    this.figures.places.show(places(view, device));
    this.legends(view, device);
    // Who drives the page knows by this that an answer is drawn.
    own("answer").dataset.answers = String(this.answers);
  }

  /** What colours stand for, and of which device the places are. */
  private legends(view: View, device: string): void {
    const put = (figure: Figure, items: HTMLElement[]) => {
      figure.element.querySelector(".series")?.remove();
      const list = element("ul", { class: "series" }, ...items);
      figure.element.querySelector("figcaption")?.after(list);
    };
    const item = (name: string, series: string) => element("li", { class: series }, name);
    put(this.figures.flow, kinds(view).map(({ name, colour }) => item(name, colour.slice(2))));
    put(this.figures.responses, [item("p50", "ink"), item("p99", "series-1")]);
    const others = this.trace.devices.map((name, number) => {
      const pick = button(name, () => this.choose({ ...this.brush, shown_device: number,
        place_from_bytes: null, place_until_bytes: null }));
      pick.setAttribute("aria-pressed", String(name === device));
      return element("li", { class: "plain" }, pick);
    });
    put(this.figures.places, others.length > 1 ? others.slice(0, 12)
      : [element("li", { class: "plain" }, device)]);
  }

  private showOrders(): void {
    const of = (Object.keys(ORDERS) as Order[]).map((order) => {
      const pick = button(ORDERS[order], () => {
        this.order = order;
        this.showOrders();
        this.singles.ask({ brush: this.brush, order, most: LISTED });
      });
      pick.setAttribute("aria-pressed", String(order === this.order));
      return pick;
    });
    own("orders").replaceChildren(...of);
  }

  private list(found: Found[]): void {
    const open = (row: number) => {
      this.row = row;
      this.rows.ask({ row });
    };
    own("requests").replaceChildren(...requestRows(this.trace, found, open));
  }

  private open(one: Request): void {
    const meanwhile = (from: number, until: number) =>
      this.choose({ ...this.brush, from_ns: from, until_ns: Math.max(from + 1, until),
        response_from_ns: null, response_until_ns: null, roles: [], files: [], operations: [] });
    const place = own("request");
    place.replaceChildren(...request(this.row, one, meanwhile));
    place.focus();
  }
}

async function start(): Promise<void> {
  try {
    const { value } = await answered<Trace>("trace");
    new Explorer(value);
  } catch (error) {
    own("answer").textContent = error instanceof Error ? error.message : String(error);
  }
}

void start();
