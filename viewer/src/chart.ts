// What a chart is, as lbolt writes it (crates/report/src/page/chart.rs).

export type Scale = "linear" | "log";

export interface Axis {
  label: string;
  unit: string;
  scale: Scale;
  /** Where its bins begin and end, and how many there are. */
  domain?: [number, number];
  bins?: number;
  /** What each bin is, where bins have names. */
  names?: string[];
}

/** What a column is to the drawing; a note is a doubt of its row. */
export type Role =
  | "category"
  | "series"
  | "value"
  | "low"
  | "high"
  | "x"
  | "y"
  | "residual"
  | "q1"
  | "median"
  | "q3"
  | "max"
  | "mark"
  | "note"
  | "extra";

export interface Column {
  name: string;
  unit: string;
  role: Role;
  values: (number | string | null)[];
}

export interface Rule {
  axis: "x" | "y";
  at: number;
  label: string;
}

/** A stretch of the lower axis in which something happened; its name may be empty. */
export interface Band {
  from: number;
  until: number;
  label: string;
}

/** A line that was fitted: of a series, from point to point. */
export interface Fit {
  series: string;
  points: [number, number][];
}

export type Kind = "bars" | "stack" | "dots" | "boxes" | "lines" | "points" | "heat" | "over"
  | "multiples";

export interface Chart {
  id: string;
  title: string;
  kind: Kind;
  height: number;
  x: Axis;
  y: Axis;
  series: string[];
  columns: Column[];
  rules: Rule[];
  fits: Fit[];
  /** Stretches of the lower axis that are marked. */
  bands?: Band[];
}

/** A row of the data, by what its columns are. */
export interface Row {
  category: string;
  series: string;
  value: number;
  low: number;
  high: number;
  x: number;
  y: number;
  residual: number;
  q1: number;
  median: number;
  q3: number;
  max: number;
  mark: string;
  note: string;
}

const TEXTS: Role[] = ["category", "series", "mark", "note"];

/** The rows; a number that is not there is NaN, a text that is not there is empty. */
export function rows(chart: Chart): Row[] {
  const count = Math.max(0, ...chart.columns.map((column) => column.values.length));
  return Array.from({ length: count }, (_, place) => {
    const row: Record<string, number | string> = {};
    for (const role of ROLES) row[role] = TEXTS.includes(role) ? "" : NaN;
    for (const { role, values } of chart.columns) {
      const value = values[place];
      if (value !== null && value !== undefined) row[role] = value;
    }
    return row as unknown as Row;
  });
}

const ROLES: Role[] = [
  ...TEXTS,
  "value",
  "low",
  "high",
  "x",
  "y",
  "residual",
  "q1",
  "median",
  "q3",
  "max",
];

/** Texts in the order in which they are first seen. */
export function distinct(texts: string[]): string[] {
  return [...new Set(texts)];
}
