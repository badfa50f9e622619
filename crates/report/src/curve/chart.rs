//! The curve's charts: latency against rate as more requests are outstanding, with the knee; and
//! the ceilings.
//!
//! Non-goals: drawing.

use super::{KNEE, PEAK_BYTES, RATE, Row, kind, rows};
use crate::chart::{Axis, Chart, Entry, Kind, Role, Scale};
use crate::experiments::Named;
use crate::figure::Figure;
use crate::number::RateUnit;
use model::record::subject::Curve;

/// A latency: the chart's name, its title, the quantity.
const LATENCIES: [(&str, &str, &str); 2] = [
    ("latency-mean", "Mean latency against IOPS", "latency_mean_ns"),
    ("latency-p99", "p99 latency against IOPS", "latency_p99_ns"),
];

/// A point of a curve.
struct Point {
    series: String,
    rate: Figure,
    latency: Figure,
    depth: Option<f64>,
    is_knee: bool,
}

/// All charts of these runs.
pub(super) fn all(runs: &[Named<'_>]) -> Vec<Chart> {
    let curves = LATENCIES.iter().filter_map(|latency| curves(runs, latency));
    curves.chain(ceilings(runs)).collect()
}

fn series(named: &Named<'_>, curve: &Curve) -> String {
    named.within(&kind(curve))
}

fn points(named: &Named<'_>, quantity: &str) -> Vec<Point> {
    let (points, wholes) = rows(named.run.findings);
    let knee = |curve: &Curve| {
        let is_whole = |whole: &&Row| whole.key == Curve { depth: None, ..curve.clone() };
        let whole = wholes.iter().find(is_whole)?;
        whole.value(KNEE)?;
        whole.value("knee_depth")
    };
    let point = |row: &Row| {
        let depth = row.key.depth.map(|depth| depth as f64);
        Some(Point {
            series: series(named, &row.key),
            rate: row.figure(RATE)?.clone(),
            latency: row.figure(quantity)?.clone(),
            depth,
            is_knee: depth.is_some() && knee(&row.key) == depth,
        })
    };
    points.iter().filter(|row| row.key.access.is_random()).filter_map(point).collect()
}

fn curves(runs: &[Named<'_>], (id, title, quantity): &(&str, &str, &str)) -> Option<Chart> {
    let points: Vec<Point> = runs.iter().flat_map(|named| points(named, quantity)).collect();
    points.iter().find(|point| point.rate.value.is_some() && point.latency.value.is_some())?;
    let axes = (Axis::new("IOPS", "1/s", Scale::Linear), Axis::new("latency", "ns", Scale::Log));
    let number = |of: fn(&Point) -> Option<f64>| points.iter().map(of);
    let mark = |point: &Point| if point.is_knee { "knee" } else { "" }.to_owned();
    let chart = Chart::plane(id, title, Kind::Lines, axes)
        .texts(Role::Series, "requests", points.iter().map(|point| point.series.clone()))
        .numbers(Role::Extra, "queue depth", "", number(|point| point.depth))
        .numbers(Role::X, "rate", "1/s", number(|point| point.rate.value))
        .numbers(Role::Y, "latency", "ns", number(|point| point.latency.value))
        .numbers(Role::Low, "from", "ns", number(|point| point.latency.low))
        .numbers(Role::High, "to", "ns", number(|point| point.latency.high))
        .texts(Role::Mark, "knee", points.iter().map(mark))
        .texts(Role::Note, "doubts", points.iter().map(|point| point.rate.reason()));
    let method = "Each point has a greater queue depth than the one before it; the knee is where \
        IOPS over mean latency is greatest (Kleinrock 1979).";
    Some(chart.by(method).half())
}

/// The greatest rate in bytes of each kind.
fn ceilings(runs: &[Named<'_>]) -> Option<Chart> {
    let curves: Vec<(&Named<'_>, Vec<Row>)> =
        runs.iter().map(|named| (named, rows(named.run.findings).1)).collect();
    let rates =
        curves.iter().flat_map(|(_, wholes)| wholes).filter_map(|row| row.value(PEAK_BYTES));
    let unit = RateUnit::for_rates(rates);
    let found = curves.iter().flat_map(|(named, wholes)| {
        let of =
            |row: &Row| Some((kind(&row.key), named.within(""), row.figure(PEAK_BYTES)?.clone()));
        wholes.iter().filter_map(of).collect::<Vec<_>>()
    });
    let found: Vec<(String, String, Figure)> = found.collect();
    let entries: Vec<Entry<'_>> = found.iter().map(Entry::of).collect();
    let axis = Axis::new("rate", "B/s", Scale::Linear);
    let chart = Chart::rows("device-ceilings", "Peak bandwidth", Kind::Bars, axis, &entries)?;
    let method = "The highest rate of any queue depth.";
    Some(chart.by(method).in_rates_of(unit))
}
