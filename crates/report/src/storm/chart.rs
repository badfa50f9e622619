//! The storm experiment's charts: what remedies leave, at what cost to the writer, and what reads
//! and commits take under each.
//!
//! Non-goals: drawing.

use super::{GAIN, PREDICTED, Row, rows};
use crate::chart::{Axis, Chart, Entry, Kind, Scale};
use crate::experiments::Named;
use model::record::subject::{NO_REMEDY, StormStream};

/// A series of a chart: its name, the stream, the quantity.
type Series = (&'static str, StormStream, &'static str);

const GAINS: &[Series] = &[
    ("measured", StormStream::Victims, GAIN),
    ("predicted by the model", StormStream::Victims, PREDICTED),
];
const COSTS: &[Series] = &[("writer", StormStream::Write, "rate_ratio")];
const SUFFERED: &[Series] = &[
    ("reads, median", StormStream::Read, "latency_p50_ns"),
    ("reads, p99", StormStream::Read, "latency_p99_ns"),
    ("commits, median", StormStream::Commit, "latency_p50_ns"),
    ("commits, p99", StormStream::Commit, "latency_p99_ns"),
];
const APART: &[Series] = &[
    ("met a sync, p99", StormStream::ReadInSync, "latency_p99_ns"),
    ("met none, p99", StormStream::ReadBetween, "latency_p99_ns"),
];

/// All charts of these runs.
pub(super) fn all(runs: &[Named<'_>]) -> Vec<Chart> {
    let rows = runs
        .iter()
        .flat_map(|named| rows(named.run.findings).into_iter().map(move |row| (named, row)));
    let rows: Vec<(&Named<'_>, Row<'_>)> = rows.collect();
    [gains(&rows), costs(&rows), suffered(&rows), apart(&rows)].into_iter().flatten().collect()
}

fn entries<'a>(
    rows: &'a [(&Named<'_>, Row<'_>)],
    series: &[Series],
    has_none: bool,
) -> Vec<Entry<'a>> {
    let wanted = rows.iter().filter(|(_, row)| has_none || row.remedy != NO_REMEDY);
    let of = |(named, row): &'a (&Named<'_>, Row<'_>)| {
        let category = named.within(match row.remedy {
            NO_REMEDY => "no remedy",
            remedy => remedy,
        });
        let entry = move |(name, stream, quantity): &Series| {
            let figure = row.figure(*stream, quantity)?;
            Some(Entry { category: category.clone(), series: (*name).to_owned(), figure })
        };
        series.iter().filter_map(entry).collect::<Vec<_>>()
    };
    wanted.flat_map(of).collect()
}

fn gains(rows: &[(&Named<'_>, Row<'_>)]) -> Option<Chart> {
    let axis = Axis::new("of the slowest twentieth's mean is left", "1", Scale::Log);
    let entries = entries(rows, GAINS, false);
    let chart = Chart::rows("remedies", "What each remedy leaves", Kind::Dots, axis, &entries)?;
    let method = "The mean of the slowest twentieth of reads and commits over that without a \
        remedy, round by round; the interval, of 95 %, holds for all remedies together.";
    Some(chart.by(method).ruled("x", 1.0, "no help"))
}

fn costs(rows: &[(&Named<'_>, Row<'_>)]) -> Option<Chart> {
    let axis = Axis::new("of the writer's rate is left", "1", Scale::Linear);
    let entries = entries(rows, COSTS, false);
    let chart = Chart::rows("writer", "What it costs the writer", Kind::Dots, axis, &entries)?;
    let method = "The rate of the writer who syncs over its rate without a remedy.";
    Some(chart.by(method).ruled("x", 1.0, "as before"))
}

fn suffered(rows: &[(&Named<'_>, Row<'_>)]) -> Option<Chart> {
    let axis = Axis::new("latency", "ns", Scale::Log);
    let entries = entries(rows, SUFFERED, true);
    let chart = Chart::rows("suffered", "Before and after", Kind::Dots, axis, &entries)?;
    Some(chart.by("What reads and commits beside the writer take, all rounds together."))
}

fn apart(rows: &[(&Named<'_>, Row<'_>)]) -> Option<Chart> {
    let axis = Axis::new("response of reads", "ns", Scale::Log);
    let entries = entries(rows, APART, true);
    let title = "Reads that met a sync, and others";
    let chart = Chart::rows("apart", title, Kind::Dots, axis, &entries)?;
    Some(chart.by("One read of a hundred takes this or more."))
}
