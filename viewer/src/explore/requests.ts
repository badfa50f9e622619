// Single requests: a table of those of the selection, and one of them with its steps.
import { show } from "../unit";
import type { Found, Request, Step, Trace } from "./answer";
import { button, element, named } from "./dom";
import { nameOf } from "./lists";
import { seconds } from "./time";

const HEADS: [name: string, isNumber: boolean][] = [
  ["arrived (s)", true],
  ["response", true],
  ["operation", false],
  ["length", true],
  ["place", true],
  ["device", false],
  ["role", false],
  ["file", false],
];

export function requestRows(
  trace: Trace,
  found: Found[],
  open: (row: number) => void,
): HTMLElement[] {
  const heads = HEADS.map(([name, isNumber]) =>
    element("th", { scope: "col", class: isNumber ? "number" : undefined }, name),
  );
  const rows = found.map((one) => {
    const cells: (string | Node)[] = [
      button(seconds(one.arrived_ns), () => open(one.row),
        `${seconds(one.arrived_ns)}: steps of row ${one.row}`),
      one.response_ns === null ? "never completed" : show(one.response_ns, "ns"),
      one.operation,
      show(one.length_bytes, "B"),
      one.place_bytes === null ? "–" : show(one.place_bytes, "B"),
      named(nameOf(trace, "devices", one.device)),
      named(nameOf(trace, "roles", one.role)),
      named(nameOf(trace, "files", one.file)),
    ];
    const cell = (content: string | Node, at: number) =>
      element("td", { class: HEADS[at]?.[1] ? "number" : undefined }, content);
    return element("tr", {}, ...cells.map(cell));
  });
  const head = element("thead", {}, element("tr", {}, ...heads));
  return [head, element("tbody", {}, ...rows)];
}

/** The steps of a request as a bar, each as long as it took, and in words. */
function steps(of: Step[]): HTMLElement[] {
  const [first, last] = [of[0]?.from_ns ?? 0, of.at(-1)?.until_ns ?? 1];
  const bar = element("div", { class: "steps", "aria-hidden": "true" });
  const words = element("ol", { class: "step-names" });
  of.forEach((step, at) => {
    const part = element("span", { class: `series-${at}` });
    const took = step.until_ns - step.from_ns;
    part.style.width = `${(100 * took) / Math.max(1, last - first)}%`;
    bar.append(part);
    words.append(element("li", { class: `series-${at}` }, `${step.name}: ${show(took, "ns")}`));
  });
  return [bar, words];
}

export function request(
  row: number,
  one: Request,
  meanwhile: (from: number, until: number) => void,
): HTMLElement[] {
  const facts = one.facts.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, named(value))),
  );
  const at = one.arrived_ns === null ? "" : `, arrived at ${seconds(one.arrived_ns)} s`;
  const made: HTMLElement[] = [element("h3", {}, `Row ${row}${at}`)];
  const last = one.steps.at(-1);
  const first = one.steps[0];
  if (first !== undefined && last !== undefined) {
    made.push(...steps(one.steps));
    made.push(button("What went on meanwhile", () => meanwhile(first.from_ns, last.until_ns)));
  } else {
    made.push(element("p", { class: "muted" }, "Its steps are not known."));
  }
  made.push(element("dl", { class: "facts" }, ...facts));
  for (const part of one.parts) {
    made.push(element("p", { class: "muted" }, `The device did for it: ${part.what}`));
    made.push(...steps(part.steps));
  }
  return made;
}
