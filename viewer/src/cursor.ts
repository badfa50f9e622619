// The data cursor: arrow keys and the pointer go from stop to stop, a tip and a live region tell
// what is there. Escape leaves.
import type { Drawing, Stop } from "./drawing";

type Place = { line: number; column: number };

const STEPS: Record<string, Place> = {
  ArrowLeft: { line: 0, column: -1 },
  ArrowRight: { line: 0, column: 1 },
  ArrowUp: { line: -1, column: 0 },
  ArrowDown: { line: 1, column: 0 },
};

/** A pointer farther away than this points at nothing. */
const REACH = 60;

export class Cursor {
  private stops: Stop[][] = [];
  private place: Place | null = null;
  private readonly ring = part("ring");
  private readonly tip = part("tip");

  constructor(
    private readonly box: HTMLElement,
    private readonly live: HTMLElement,
  ) {
    box.append(this.ring, this.tip);
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("blur", () => this.leave());
    box.addEventListener("pointermove", (event) => this.point(event));
    box.addEventListener("pointerleave", () => this.leave());
  }

  /** There is another drawing: the old places mean nothing. */
  follow(drawing: Drawing): void {
    this.stops = drawing.stops.filter((line) => line.length > 0);
    this.leave();
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      this.leave();
      this.box.blur();
      return;
    }
    const step = STEPS[event.key];
    const isEnd = event.key === "Home" || event.key === "End";
    if ((step === undefined && !isEnd) || this.stops.length === 0) return;
    event.preventDefault();
    if (this.place === null) this.go({ line: 0, column: 0 });
    else if (step !== undefined) this.go(this.moved(this.place, step));
    else this.go({ ...this.place, column: event.key === "Home" ? 0 : Infinity });
  }

  /** The next stop; from the end of a short row on along the next one. */
  private moved(from: Place, step: Place): Place {
    const next = { line: from.line + step.line, column: from.column + step.column };
    const length = this.stops[from.line]?.length ?? 0;
    if (step.column !== 0 && next.column < 0 && from.line > 0) {
      return { line: from.line - 1, column: Infinity };
    }
    if (step.column !== 0 && next.column >= length && from.line + 1 < this.stops.length) {
      return { line: from.line + 1, column: 0 };
    }
    return next;
  }

  private go(wanted: Place): void {
    const line = clamp(wanted.line, this.stops.length);
    const column = clamp(wanted.column, this.stops[line]?.length ?? 0);
    const stop = this.stops[line]?.[column];
    if (stop === undefined) return;
    this.place = { line, column };
    this.show(stop);
    this.live.textContent = stop.text();
  }

  private point(event: PointerEvent): void {
    const frame = this.box.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    let nearest: Stop | null = null;
    let least = REACH;
    for (const stop of this.stops.flat()) {
      const distance = Math.hypot(stop.x - x, stop.y - y);
      if (distance < least) [nearest, least] = [stop, distance];
    }
    if (nearest === null) this.leave();
    else this.show(nearest);
  }

  private show(stop: Stop): void {
    this.tip.textContent = stop.text();
    this.tip.hidden = this.ring.hidden = false;
    at(this.ring, stop.x, stop.y);
    const room = this.box.clientWidth - this.tip.offsetWidth;
    const below = stop.y < this.tip.offsetHeight + 16;
    const left = Math.max(0, Math.min(room, stop.x - this.tip.offsetWidth / 2));
    at(this.tip, left, below ? stop.y + 14 : stop.y - this.tip.offsetHeight - 12);
  }

  private leave(): void {
    this.place = null;
    this.tip.hidden = this.ring.hidden = true;
  }
}

function part(name: string): HTMLElement {
  const element = document.createElement("div");
  element.className = name;
  element.hidden = true;
  element.setAttribute("aria-hidden", "true");
  return element;
}

function at(element: HTMLElement, x: number, y: number): void {
  element.style.left = `${x}px`;
  element.style.top = `${y}px`;
}

function clamp(place: number, length: number): number {
  return Math.max(0, Math.min(length - 1, place));
}
