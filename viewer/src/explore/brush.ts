// What is selected, as the server knows it, and as the address of the page keeps it: so the
// browser's own "back" goes back, and an address shows what it showed.

export interface Brush {
  from_ns: number | null;
  until_ns: number | null;
  place_from_bytes: number | null;
  place_until_bytes: number | null;
  response_from_ns: number | null;
  response_until_ns: number | null;
  devices: number[];
  operations: number[];
  roles: number[];
  files: number[];
  shown_device: number | null;
}

export type Dimension = "devices" | "operations" | "roles" | "files";
export const DIMENSIONS: Dimension[] = ["devices", "operations", "roles", "files"];

export const WHOLE: Brush = {
  from_ns: null,
  until_ns: null,
  place_from_bytes: null,
  place_until_bytes: null,
  response_from_ns: null,
  response_until_ns: null,
  devices: [],
  operations: [],
  roles: [],
  files: [],
  shown_device: null,
};

/** The selection of the page's address; of one that is none, everything. */
export function ofAddress(hash: string): Brush {
  try {
    const known = JSON.parse(decodeURIComponent(hash.slice(1))) as Partial<Brush>;
    return { ...WHOLE, ...known };
  } catch {
    return WHOLE;
  }
}

/** Only what is restricted stands in the address. */
export function address(brush: Brush): string {
  const some = Object.entries(brush).filter(([, value]) =>
    Array.isArray(value) ? value.length > 0 : value !== null,
  );
  return `#${encodeURIComponent(JSON.stringify(Object.fromEntries(some)))}`;
}

/** With a number chosen that was not, or the other way round. */
export function toggled(brush: Brush, of: Dimension, number: number): Brush {
  const own = brush[of];
  const is = own.includes(number);
  return { ...brush, [of]: is ? own.filter((other) => other !== number) : [...own, number] };
}
