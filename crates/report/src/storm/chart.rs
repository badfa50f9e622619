//! The storm experiment's charts: what remedies leave, at what cost to the writer, and what reads
//! and commits take under each.
//!
//! Non-goals: drawing.

use super::{GAIN, PREDICTED, Row, rows};
use crate::chart::{Axis, Chart, Entry, Kind, Scale, entries};
use crate::experiments::Named;
use crate::number::ratio_says_nothing;
use model::record::subject::NO_REMEDY;

/// A series of a chart: its name, and the quantity.
type Series = (&'static str, &'static str);

const GAINS: &[Series] = &[("measured", GAIN), ("predicted by the model", PREDICTED)];
const COSTS: &[Series] = &[("writer", "write rate_ratio")];
const SUFFERED: &[Series] = &[
    ("reads, median", "read latency_p50_ns"),
    ("reads, p99", "read latency_p99_ns"),
    ("commits, median", "commit latency_p50_ns"),
    ("commits, p99", "commit latency_p99_ns"),
];
const APART: &[Series] = &[
    ("during a sync, p99", "read_in_sync latency_p99_ns"),
    ("otherwise, p99", "read_between latency_p99_ns"),
];

/// All charts of these runs.
pub(super) fn all(runs: &[Named<'_>]) -> Vec<Chart> {
    let rows = runs
        .iter()
        .flat_map(|named| rows(named.run.findings).into_iter().map(move |row| (named, row)));
    let rows: Vec<(&Named<'_>, Row)> = rows.collect();
    [gains(&rows), costs(&rows), suffered(&rows), apart(&rows)].into_iter().flatten().collect()
}

fn shown(rows: &[(&Named<'_>, Row)], series: &[Series], has_none: bool) -> Vec<Entry> {
    let wanted = rows.iter().filter(|(_, row)| has_none || row.key.name.as_str() != NO_REMEDY);
    let of = |(named, row): &(&Named<'_>, Row)| {
        let category = named.within(match row.key.name.as_str() {
            NO_REMEDY => "no remedy",
            remedy => remedy,
        });
        entries(&category, series, |quantity| row.figure(quantity))
    };
    wanted.flat_map(of).collect()
}

fn gains(rows: &[(&Named<'_>, Row)]) -> Option<Chart> {
    let axis = Axis::new("mean of the slowest 5 %, relative", "1", Scale::Log);
    let mut entries = shown(rows, GAINS, false);
    // What the table cannot tell is not drawn.
    for (_, _, figure) in entries.iter_mut().filter(|(_, series, _)| series == GAINS[0].0) {
        let ends = figure.low.zip(figure.high);
        figure.is_open = ends.is_some_and(|(low, high)| ratio_says_nothing(low, high).is_some());
    }
    let chart = Chart::rows("remedies", "What each remedy leaves", Kind::Dots, axis, &entries)?;
    let method = "Mean of the slowest 5 % of reads and commits, relative to no remedy, round by \
        round. The 95 % intervals hold for all remedies together.";
    Some(chart.by(method).ruled("x", 1.0, "no help"))
}

fn costs(rows: &[(&Named<'_>, Row)]) -> Option<Chart> {
    let axis = Axis::new("the writer's rate, relative", "1", Scale::Linear);
    let entries = shown(rows, COSTS, false);
    let chart = Chart::rows("writer", "What it costs the writer", Kind::Dots, axis, &entries)?;
    let method = "The syncing writer's rate relative to its rate without a remedy.";
    Some(chart.by(method).ruled("x", 1.0, "as before"))
}

fn suffered(rows: &[(&Named<'_>, Row)]) -> Option<Chart> {
    let axis = Axis::new("latency", "ns", Scale::Log);
    let entries = shown(rows, SUFFERED, true);
    let chart = Chart::rows("suffered", "Before and after", Kind::Dots, axis, &entries)?;
    Some(chart.by("Latency of reads and commits next to the writer, all rounds together."))
}

fn apart(rows: &[(&Named<'_>, Row)]) -> Option<Chart> {
    let axis = Axis::new("response of reads", "ns", Scale::Log);
    let entries = shown(rows, APART, true);
    let title = "Reads during a sync, and other reads";
    let chart = Chart::rows("apart", title, Kind::Dots, axis, &entries)?;
    Some(chart.by("p99 latency of reads."))
}
