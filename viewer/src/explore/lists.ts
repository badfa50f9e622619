// What a selection is made of: a table for each dimension, whose lines are chosen by a click.
import { show } from "../unit";
import type { List, Trace, View } from "./answer";
import { DIMENSIONS, type Brush, type Dimension } from "./brush";
import { button, element, named } from "./dom";
import { count } from "./time";

const TITLES: Record<Dimension, string> = {
  devices: "Devices",
  operations: "Operations",
  roles: "Roles",
  files: "Files",
};

/** What a number of a dimension is called. */
export function nameOf(trace: Trace, of: Dimension, number: number): string {
  return trace[of][number] ?? String(number);
}

export function lists(
  trace: Trace,
  view: View,
  brush: Brush,
  toggle: (of: Dimension, number: number) => void,
): HTMLElement[] {
  const one = (of: Dimension) => table(trace, of, view.lists[of], brush[of], toggle);
  return DIMENSIONS.map(one);
}

function table(
  trace: Trace,
  of: Dimension,
  list: List,
  chosen: number[],
  toggle: (of: Dimension, number: number) => void,
): HTMLElement {
  const heads = ["", "requests", "bytes", "p50", "p99"].map((text, at) =>
    element("th", { scope: "col", class: at > 0 ? "number" : undefined }, text),
  );
  heads[0]?.append(TITLES[of]);
  const most = Math.max(1, ...list.lines.map((line) => line.requests));
  const rows = list.lines.map((line) => {
    const name = nameOf(trace, of, line.number);
    const pick = button(named(name), () => toggle(of, line.number));
    pick.setAttribute("aria-pressed", String(chosen.includes(line.number)));
    pick.style.setProperty("--share", `${(100 * line.requests) / most}%`);
    const time = (ns: number | null) => (ns === null ? "–" : show(ns, "ns"));
    const cells = [count(line.requests), show(line.bytes, "B"), time(line.times.p50_ns),
      time(line.times.p99_ns)];
    const number = (text: string) => element("td", { class: "number" }, text);
    return element("tr", {}, element("th", { scope: "row" }, pick), ...cells.map(number));
  });
  const more = list.more > 0 ? [element("p", { class: "muted" }, `and ${count(list.more)} more`)] : [];
  const head = element("thead", {}, element("tr", {}, ...heads));
  const body = element("table", {}, head, element("tbody", {}, ...rows));
  const scroll = element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": TITLES[of] },
    body,
  );
  return element("div", { class: "list", id: of }, scroll, ...more);
}
