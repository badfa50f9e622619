// The kinds of charts and what draws each.
import type { Draw } from "../drawing";
import type { Kind } from "../chart";
import { bars } from "./bars";
import { boxes } from "./boxes";
import { dots } from "./dots";
import { heat } from "./heat";
import { lines } from "./lines";
import { multiples } from "./multiples";
import { over } from "./over";
import { points } from "./points";
import { stack } from "./stack";

export const DRAW: Record<Kind, Draw> = {
  bars, boxes, dots, heat, lines, multiples, over, points, stack,
};
