//! The tables: which columns each has, as data.

use super::classes::{Class, Classes};
use super::plot::{self, BoxPlot};
use crate::grid::{Figures, Grid};
use crate::listing::Listing;
use crate::number::{show_bytes, significant};
use crate::requests::{DONE_COUNT, KNOWN, PARTS_LEGEND, REST, is_news, show_count};
use crate::rows::{Column, plain};
use crate::sheet::lines;
use model::units::show_time_ns;

/// Storms that are printed: those behind which reads waited longest.
const MOST_STORMS: usize = 10;

const COLUMNS: &[Column] = &[
    ("", "requests", "requested_count", show_count),
    ("", "% of time", "time_percent", show_percent),
    KNOWN,
    ("response", "mean", "response_mean_ns", show_time_ns),
    ("response", "q1", "response_p25_ns", show_time_ns),
    ("response", "median", "response_p50_ns", show_time_ns),
    ("response", "q3", "response_p75_ns", show_time_ns),
    ("response", "whisker", "response_whisker_high_ns", show_time_ns),
    ("response", "beyond", "response_outliers_count", show_count),
    ("response", "p90", "response_p90_ns", show_time_ns),
    ("response", "p99", "response_p99_ns", show_time_ns),
    ("response", "p99.9", "response_p999_ns", show_time_ns),
    ("response", "p99.99", "response_p9999_ns", show_time_ns),
    ("response", "max", "response_max_ns", show_time_ns),
    ("mean time in", "admission", "admission_mean_ns", show_time_ns),
    ("mean time in", "scheduler", "scheduler_mean_ns", show_time_ns),
    ("mean time in", "queue", "wait_mean_ns", show_time_ns),
    ("mean time in", "device", "device_mean_ns", show_time_ns),
    REST,
    DONE_COUNT,
    ("at the device", "mean", "done_mean_ns", show_time_ns),
    ("at the device", "q1", "done_p25_ns", show_time_ns),
    ("at the device", "median", "done_p50_ns", show_time_ns),
    ("at the device", "q3", "done_p75_ns", show_time_ns),
    ("at the device", "whisker", "done_whisker_high_ns", show_time_ns),
    ("at the device", "beyond", "done_outliers_count", show_count),
    ("at the device", "p90", "done_p90_ns", show_time_ns),
    ("at the device", "p99", "done_p99_ns", show_time_ns),
    ("at the device", "p99.9", "done_p999_ns", show_time_ns),
    ("at the device", "p99.99", "done_p9999_ns", show_time_ns),
    ("at the device", "max", "done_max_ns", show_time_ns),
];

const DEVICES: &[Column] = &[
    ("", "% busy", "busy_percent", show_percent),
    ("outstanding", "mean", "depth_mean", show_ratio),
    ("outstanding", "at arrivals", "depth_at_arrival_mean", show_ratio),
    ("outstanding", "max", "depth_max", show_count),
    ("arrivals", "a second", "requested_per_s", show_ratio),
    ("arrivals", "variation", "arrival_variation_ratio", show_ratio),
    ("places", "% sequential", "sequential_percent", show_percent),
    ("places", "median seek", "seek_p50_bytes", show_bytes),
    ("places", "mean seek", "seek_mean_bytes", show_bytes),
];

const SLOPES: &[Column] = &[
    ("each KiB adds to", "response", "slope_response_ns_per_kib", show_time_ns),
    ("each KiB adds to", "queue", "slope_wait_ns_per_kib", show_time_ns),
    ("each KiB adds to", "device", "slope_device_ns_per_kib", show_time_ns),
];

const STORMS: &[Column] = &[
    ("bursts", "number", "storms_count", show_count),
    ("bursts", "period", "storm_period_ns", show_time_ns),
    ("bursts", "% of time", "storm_time_percent", show_percent),
    ("bursts", "requests", "storm_requests_count", show_count),
    ("bursts", "flushes", "storm_flushes_count", show_count),
    ("bursts", "bytes", "storm_bytes", show_bytes),
    ("reads behind them", "number", "reads_behind_count", show_count),
    ("reads behind them", "median", "reads_behind_p50_ns", show_time_ns),
    ("reads behind them", "p99", "reads_behind_p99_ns", show_time_ns),
    ("reads behind them", "% queue", "reads_behind_wait_percent", show_percent),
    ("other reads", "median", "reads_apart_p50_ns", show_time_ns),
    ("other reads", "p99", "reads_apart_p99_ns", show_time_ns),
];

const STORM: &[Column] = &[
    ("", "length", "storm_length_ns", show_time_ns),
    ("", "requests", "storm_requests_count", show_count),
    ("", "flushes", "storm_flushes_count", show_count),
    ("", "bytes", "storm_bytes", show_bytes),
    ("", "depth", "storm_depth_max", show_count),
    ("reads behind it", "number", "reads_behind_count", show_count),
    ("reads behind it", "mean", "reads_behind_mean_ns", show_time_ns),
    ("reads behind it", "max", "reads_behind_max_ns", show_time_ns),
];

/// Columns that are drawings: a group, and a heading.
pub(super) const PLOT: &str = "plot";
pub(super) const COUNTS: &str = "as logarithms";

const BLAME: &[Column] = &[("", "% of the bursts' requests", "blame_percent", show_percent)];

/// What each kind of class is called in a heading, and its columns.
const HEADINGS: &[(&str, &str, &[Column])] = &[
    ("whole", "all requests", COLUMNS),
    ("direction", "by direction", COLUMNS),
    ("direction", "what size adds, by direction", SLOPES),
    ("device", "by device", COLUMNS),
    ("device and direction", "by device and direction", COLUMNS),
    ("device", "each device's use and arrivals", DEVICES),
    ("origin", "by origin", COLUMNS),
    ("size", "by transfer size", COLUMNS),
    ("process", "by process", COLUMNS),
    ("cgroup", "by cgroup", COLUMNS),
    ("partition", "by partition", COLUMNS),
    ("structure", "by what the file system keeps there", COLUMNS),
    ("region", "by block region", COLUMNS),
    ("start", "by start time", COLUMNS),
    ("writes outstanding", "reads by the writes that they found outstanding", COLUMNS),
    (
        "background writes outstanding",
        "reads by the background writes that they found outstanding",
        COLUMNS,
    ),
    ("storms", "bursts of writes and flushes, by device", STORMS),
    ("storms by process", "which processes requested them", BLAME),
    ("storm", "the bursts behind which reads waited longest", STORM),
];

const LEGEND: &[(&str, &str)] = &[
    ("response", "from queueing (else the start) to the completion, of what was requested"),
    (
        "% of time",
        "the class's share of all responses (else device times); of bursts: of the trace",
    ),
    ("q1, q3", "quartiles; whisker: the last within 1.5 times their distance, beyond it: so many"),
    ("plot", "─ whiskers ▒ quartiles █ median · max"),
    ("variation", "of the times between arrivals: 0 a clock, 1 chance, more bursts"),
];

/// The same, with that of columns that are shown only where they tell something.
pub(super) fn legend(is_shown: impl Fn(&str) -> bool) -> Vec<(&'static str, String)> {
    let parts = PARTS_LEGEND.iter().filter(|(name, _)| is_shown(name));
    lines(LEGEND.iter().chain(parts))
}

#[cfg(test)]
pub(super) fn quantities() -> impl Iterator<Item = &'static Column> {
    HEADINGS.iter().flat_map(|(_, _, columns)| columns.iter())
}

fn show_percent(percent: f64) -> String {
    if percent > 0.0 && percent < 0.01 { "< 0.01".into() } else { format!("{percent:.2}") }
}

fn show_ratio(ratio: f64) -> String {
    significant(ratio)
}

pub(super) fn all(classes: &Classes) -> Vec<(&'static str, Grid)> {
    some(classes, |_| true, usize::MAX)
}

/// The tables of kinds of classes that are wanted, each with so many rows at the most.
pub(super) fn some(
    classes: &Classes,
    is_wanted: impl Fn(&str) -> bool,
    top: usize,
) -> Vec<(&'static str, Grid)> {
    let mut tables = Vec::new();
    for (by, heading, columns) in HEADINGS.iter().filter(|(by, _, _)| is_wanted(by)) {
        let mut rows = if *by == "storm" { worst(classes) } else { classes.by(by) };
        // A row of which there is no finding belongs to another table.
        rows.retain(|row| columns.iter().any(|column| row.figure(column.2).is_some()));
        rows.truncate(top);
        // A column of which no row has a figure says nothing.
        let is_known = |column: &&Column| {
            rows.iter().any(|row| row.figure(column.2).is_some())
                && (column.2 != "requested_per_s" || *by == "device")
                && is_news(column, &rows, |row, quantity| row.value(quantity))
        };
        let told: Vec<Column> = columns.iter().filter(is_known).copied().collect();
        if !rows.is_empty() && !told.is_empty() {
            let has_plot = std::ptr::eq(*columns, COLUMNS);
            tables.push((*heading, grid(&rows, &told, has_plot)));
        }
        if *by == "whole" {
            tables.extend(counts(classes));
        }
    }
    tables
}

/// The storms whose reads took longest in all.
fn worst(classes: &Classes) -> Vec<&Class> {
    let mut storms = classes.by("storm");
    let weight = |storm: &Class| {
        let reads = storm.value("reads_behind_count").unwrap_or(0.0);
        let mean_ns = storm.value("reads_behind_mean_ns").unwrap_or(0.0);
        let requests = storm.value("storm_requests_count").unwrap_or(0.0);
        (reads * mean_ns, requests)
    };
    storms.sort_by(|a, b| {
        let (a, b) = (weight(a), weight(b));
        b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    storms.truncate(MOST_STORMS);
    storms
}

fn grid(rows: &[&Class], columns: &[Column], has_plot: bool) -> Grid {
    let listing = Listing::of(rows).label("class", |row| row.key.1.clone());
    let listing = listing.columns(columns, |row, column| plain(row, column));
    plots(rows).filter(|_| has_plot).into_iter().fold(listing, Listing::with).grid()
}

fn plots(rows: &[&Class]) -> Option<Figures> {
    let times = times_of(rows);
    let plot = |row: &&Class| {
        let of = |quantity: &str| row.value(&format!("{times}_{quantity}"));
        Some(BoxPlot {
            whisker_low_ns: of("whisker_low_ns")?,
            q1_ns: of("p25_ns")?,
            median_ns: of("p50_ns")?,
            q3_ns: of("p75_ns")?,
            whisker_high_ns: of("whisker_high_ns")?,
            max_ns: of("max_ns")?,
        })
    };
    let (head, drawn) = plot::boxes(&rows.iter().map(plot).collect::<Vec<_>>())?;
    Some(drawing(PLOT, head, drawn))
}

/// How the quantities of the times begin that are known of more of these rows' requests: of
/// responses, else of device times.
pub(super) fn times_of(rows: &[&Class]) -> &'static str {
    let sum = |quantity| rows.iter().filter_map(|row| row.value(quantity)).sum::<f64>();
    let has_alone = sum("device_known_count") > sum("response_known_count");
    if has_alone { "done" } else { "response" }
}

/// A column of drawings, all as wide as the widest: they are read from the left.
fn drawing(group: &str, head: String, drawn: Vec<String>) -> Figures {
    let width = drawn.iter().map(|text| text.chars().count()).chain([head.chars().count()]).max();
    let padded = |text: String| format!("{text:<width$}", width = width.unwrap_or(0));
    Figures::plain(group, &head, drawn.into_iter().map(padded))
}

/// The paper's first figure.
fn counts(classes: &Classes) -> Option<(&'static str, Grid)> {
    let rows = classes.by("response time");
    let count = |row: &&Class| row.value("completed_count").unwrap_or(0.0);
    let bars = plot::bars(&rows.iter().map(count).collect::<Vec<_>>());
    let grid = Listing::of(&rows)
        .label("response", |row| row.key.1.clone())
        .figure("", "requests", |row| show_count(count(row)))
        .with(drawing("", COUNTS.into(), bars))
        .grid();
    (!rows.is_empty()).then_some(("how many took how long", grid))
}
