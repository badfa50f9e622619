// What is restricted, as a list of buttons: each takes its restriction away.
import { show } from "../unit";
import type { Trace } from "./answer";
import { DIMENSIONS, type Brush } from "./brush";
import { button, element, named } from "./dom";
import { nameOf } from "./lists";
import { seconds } from "./time";

interface Chip {
  says: string;
  without: Brush;
}

function range(low: string | null, high: string | null): string {
  if (low === null) return `below ${high}`;
  return high === null ? `from ${low}` : `${low} to ${high}`;
}

function shown(value: number | null, unit: string): string | null {
  return value === null ? null : show(value, unit);
}

/** The restrictions of a selection. */
export function restrictions(trace: Trace, brush: Brush): Chip[] {
  const chips: Chip[] = [];
  if (brush.from_ns !== null || brush.until_ns !== null) {
    const [from, until] = [brush.from_ns ?? trace.from_ns, brush.until_ns ?? trace.until_ns];
    const says = `time ${seconds(from)} s to ${seconds(until)} s`;
    chips.push({ says, without: { ...brush, from_ns: null, until_ns: null } });
  }
  const { response_from_ns: slow, response_until_ns: quick } = brush;
  if (slow !== null || quick !== null) {
    const says = `response ${range(shown(slow, "ns"), shown(quick, "ns"))}`;
    chips.push({ says, without: { ...brush, response_from_ns: null, response_until_ns: null } });
  }
  const { place_from_bytes: low, place_until_bytes: high } = brush;
  if (low !== null || high !== null) {
    const of = nameOf(trace, "devices", brush.shown_device ?? 0);
    const says = `place on ${of} ${range(shown(low, "B"), shown(high, "B"))}`;
    chips.push({ says, without: { ...brush, place_from_bytes: null, place_until_bytes: null } });
  }
  for (const of of DIMENSIONS) {
    if (brush[of].length === 0) continue;
    const names = brush[of].map((number) => nameOf(trace, of, number)).join(", ");
    chips.push({ says: `${of}: ${names}`, without: { ...brush, [of]: [] } });
  }
  return chips;
}

export function chips(trace: Trace, brush: Brush, choose: (brush: Brush) => void): HTMLElement[] {
  return restrictions(trace, brush).map(({ says, without }) => {
    const remove = button("×", () => choose(without), `× ${says}`);
    return element("li", {}, named(says), remove);
  });
}
