// Counts of cells as one image: each pixel has the shade of its cell, dark where there is much. A
// shade is of the density, by the logarithm, for cells may differ in size.

export interface Cells {
  /** Edges of columns and of lines, as pixels from left and from below. */
  columns: number[];
  lines: number[];
  /** Column by column. */
  counts: number[];
}

type Colour = [number, number, number];

/** The image; null where there is nothing. */
export function shaded(cells: Cells, width: number, height: number, colour: Colour): ImageData | null {
  const lines = cells.lines.length - 1;
  const columns = cells.columns.length - 1;
  if (lines < 1 || columns < 1 || width < 1 || height < 1) return null;
  const column = cellOf(cells.columns, width);
  const line = cellOf(cells.lines, height);
  const shades = shadesOf(cells, lines, columns);
  const image = new ImageData(width, height);
  for (let y = 0; y < height; y++) {
    const of = line[height - 1 - y] ?? -1;
    if (of < 0) continue;
    for (let x = 0; x < width; x++) {
      const at = column[x] ?? -1;
      const shade = at < 0 ? 0 : (shades[at * lines + of] ?? 0);
      if (shade === 0) continue;
      const place = 4 * (y * width + x);
      image.data.set(colour, place);
      image.data[place + 3] = shade;
    }
  }
  return image;
}

/** The cell of each pixel. A cell that is narrower than a pixel has that in which it begins. */
function cellOf(edges: number[], pixels: number): Int32Array {
  const cells = new Int32Array(pixels).fill(-1);
  for (let cell = 0; cell + 1 < edges.length; cell++) {
    const from = Math.max(0, Math.floor(edges[cell] ?? 0));
    const until = Math.max(from + 1, Math.floor(edges[cell + 1] ?? 0));
    cells.fill(cell, from, Math.min(pixels, until));
  }
  return cells;
}

/** From 40 for the least density that there is to 255. */
function shadesOf(cells: Cells, lines: number, columns: number): Uint8Array {
  const size = (edges: number[], of: number) =>
    Math.max(0.25, (edges[of + 1] ?? 0) - (edges[of] ?? 0));
  const density = new Float64Array(columns * lines);
  let [least, most] = [Infinity, 0];
  for (let at = 0; at < density.length; at++) {
    const counted = cells.counts[at] ?? 0;
    if (counted === 0) continue;
    const area = size(cells.columns, Math.floor(at / lines)) * size(cells.lines, at % lines);
    const value = counted / area;
    density[at] = value;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  const span = Math.log(most / least) || 1;
  return Uint8Array.from(density, (value) =>
    value === 0 ? 0 : most === least ? 200 : 40 + (215 * Math.log(value / least)) / span,
  );
}
