// What the server answers (crate lbolt, run/explore; crate analyze, explore/view).
import type { Brush } from "./brush";

export interface Trace {
  title: string;
  requests: number;
  left_out: number;
  from_ns: number;
  until_ns: number;
  started_unix_ns: number | null;
  devices: string[];
  operations: string[];
  roles: string[];
  files: string[];
  within_percent: number;
  remarks: string[];
}

export interface Times {
  p50_ns: number | null;
  p99_ns: number | null;
  max_ns: number | null;
}

export interface Heat {
  edges: number[];
  /** Column by column. */
  counts: number[];
}

export interface Line {
  number: number;
  requests: number;
  bytes: number;
  times: Times;
}

export interface List {
  lines: Line[];
  more: number;
}

export interface View {
  requests: number;
  bytes: number;
  unanswered: number;
  brush: Brush;
  one_by_one: boolean;
  times_ns: number[];
  flow: { operation: string; requests: number[]; bytes: number[] }[];
  responses: Heat;
  places: Heat;
  times: Times;
  lists: { devices: List; operations: List; roles: List; files: List };
}

export interface Found {
  row: number;
  arrived_ns: number;
  response_ns: number | null;
  place_bytes: number | null;
  length_bytes: number;
  device: number;
  operation: string;
  role: number;
  file: number;
}

export interface Step {
  name: string;
  from_ns: number;
  until_ns: number;
}

export interface Request {
  facts: [string, string][];
  arrived_ns: number | null;
  steps: Step[];
  parts: { what: string; steps: Step[] }[];
}
