//! The throughput experiment's charts: rates, the shares of their ceilings, the CPU beside them,
//! and latencies; programs down, systems and runs as series.
//!
//! Non-goals: drawing.

use super::matrix::{CPU, Cell, Matrix, RATE};
use super::table;
use crate::chart::{Axis, Chart, Entry, Kind, Scale, entries};
use crate::experiments::Named;

/// A cell with its names.
struct Place {
    program: String,
    /// The run and the system, as far as they tell cells apart.
    series: String,
    cell: Cell,
}

/// All charts of these runs.
pub(super) fn all(runs: &[Named<'_>]) -> Vec<Chart> {
    let matrices =
        runs.iter().map(|named| (named, Matrix::from_findings(named.run.findings, named.run.rows)));
    let matrices: Vec<(&Named<'_>, Matrix)> = matrices.collect();
    let places: Vec<Place> = matrices.iter().flat_map(|(named, m)| places(named, m)).collect();
    let spans = matrices.iter().any(|(_, matrix)| matrix.spans_parameters());
    let interval = match spans {
        true => "the line: the span over samples of the model's uncertain parameters",
        false => "the line: the 95 % interval of the mean over passes, by Student's t",
    };
    let unit = table::rate_unit(matrices.iter().map(|(_, matrix)| matrix));
    let rates = rates(&places, interval).map(|chart| chart.in_rates_of(unit));
    [rates, shares(&places), cpu(&places), latencies(&places)].into_iter().flatten().collect()
}

fn places(named: &Named<'_>, matrix: &Matrix) -> Vec<Place> {
    let of = |(row, column): (usize, usize)| {
        let system = match matrix.columns.len() {
            1 if !named.name.is_empty() => String::new(),
            _ => table::column_name(matrix, column),
        };
        Some(Place {
            program: matrix.rows[row].clone(),
            series: named.within(&system),
            cell: matrix.cell(row, column)?.clone(),
        })
    };
    matrix.places().filter_map(of).collect()
}

/// The figures of a quantity, in rows by program.
fn shown(places: &[Place], quantity: &str) -> Vec<Entry> {
    let of = |place: &Place| {
        let figure = place.cell.figure(quantity)?.clone();
        Some((place.program.clone(), place.series.clone(), figure))
    };
    places.iter().filter_map(of).collect()
}

fn rates(places: &[Place], interval: &str) -> Option<Chart> {
    let axis = Axis::new("rate", "B/s", Scale::Linear);
    let chart = Chart::rows("rates", "Rates", Kind::Bars, axis, &shown(places, RATE))?;
    let method = "Bytes that the program moved a second of wall time, the mean over passes";
    Some(chart.by(&format!("{method}; {interval}. Pale with *: suspect.")))
}

fn shares(places: &[Place]) -> Option<Chart> {
    let axis = Axis::new("of the ceiling", "%", Scale::Linear);
    let entries = shown(places, "ceiling_percent");
    let chart = Chart::rows("ceilings", "How near to the ceiling", Kind::Bars, axis, &entries)?;
    let method = "The rate as a share of the most that its path gave in the same run (dashed: \
        100 %): sequential direct requests, copies in memory where the page cache took the bytes, \
        or a program's own fastest pass where that was faster than these.";
    Some(chart.by(method).ruled("x", 100.0, "ceiling").half())
}

/// The program's CPU time, and all CPUs' where there is one series only.
fn cpu(places: &[Place]) -> Option<Chart> {
    let axis = Axis::new("share of one CPU", "%", Scale::Linear);
    let own = shown(places, CPU);
    let is_one = own.iter().all(|entry| own.first().is_some_and(|f| f.1 == entry.1));
    let of = |quantity, series: &str| -> Vec<Entry> {
        let named = |(category, _, figure)| (category, series.to_owned(), figure);
        shown(places, quantity).into_iter().map(named).collect()
    };
    let entries = match is_one {
        true => {
            let both = [of(CPU, "the program's threads"), of("cpu_total_percent", "all in all")];
            both.into_iter().flatten().collect()
        }
        false => own,
    };
    let chart = Chart::rows("cpu", "CPU beside the rates", Kind::Bars, axis, &entries)?;
    let method = "CPU time over wall time, as a share of one CPU: the submitting threads', and \
        that with kernel threads and interrupts.";
    Some(chart.by(method).half())
}

const LATENCIES: [(&str, &str); 4] = [
    ("median", "latency_p50_ns"),
    ("p99", "latency_p99_ns"),
    ("p99.9", "latency_p999_ns"),
    ("greatest", "latency_max_ns"),
];

/// Requests and syncs: what follows the test's name, and what their quantities begin with.
const LATENCIES_OF: [(&str, &str); 2] = [("", ""), (", syncs", "sync_")];

fn latencies(places: &[Place]) -> Option<Chart> {
    let series = crate::words::first_seen(places.iter().map(|place| &place.series));
    let category = |place: &Place| match series.len() {
        1 => place.program.clone(),
        _ => format!("{}, {}", place.program, place.series),
    };
    let of = |(place, (suffix, prefix)): (&Place, (&str, &str))| {
        let category = category(place) + suffix;
        entries(&category, &LATENCIES, |of| place.cell.figure(&format!("{prefix}{of}")))
    };
    let all = places.iter().flat_map(|place| LATENCIES_OF.map(|kind| (place, kind)));
    let axis = Axis::new("latency", "ns", Scale::Log);
    let entries: Vec<Entry> = all.flat_map(of).collect();
    let chart = Chart::rows("latencies", "Latencies", Kind::Dots, axis, &entries)?;
    let method = "From a request's intended start to its completion, and of a sync between writes \
        from its submission; all passes together.";
    Some(chart.by(method))
}
