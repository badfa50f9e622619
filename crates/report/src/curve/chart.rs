//! The curve's charts: latency against rate as more requests are outstanding, with the knee; and
//! the ceilings.
//!
//! Non-goals: drawing.

use super::{KNEE, MOST_BYTES, RATE, Row, kind, rate_unit, rows};
use crate::chart::{Axis, Chart, Entry, Kind, Role, Scale};
use crate::experiments::Named;
use crate::figure::Figure;
use model::record::subject::Curve;
use model::units::show_size;

/// A latency: the chart's name, its title, the quantity.
const LATENCIES: [(&str, &str, &str); 2] = [
    ("latency-mean", "Mean latency against rate", "latency_mean_ns"),
    ("latency-p99", "p99 latency against rate", "latency_p99_ns"),
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
    named.within(&format!("{} of {}", kind(curve.access), show_size(curve.block_bytes)))
}

fn points(named: &Named<'_>, quantity: &str) -> Vec<Point> {
    let (points, wholes) = rows(named.run.findings);
    let knee = |curve: &Curve| {
        let is_whole = |(whole, _): &&Row<'_>| **whole == Curve { depth: None, ..curve.clone() };
        let (_, figures) = wholes.iter().find(is_whole)?;
        figures.get(KNEE)?.value?;
        figures.get("knee_depth")?.value
    };
    let point = |(curve, figures): &Row<'_>| {
        let depth = curve.depth.map(|depth| depth as f64);
        Some(Point {
            series: series(named, curve),
            rate: figures.get(RATE)?.clone(),
            latency: figures.get(quantity)?.clone(),
            depth,
            is_knee: depth.is_some() && knee(curve) == depth,
        })
    };
    points.iter().filter(|(curve, _)| curve.access.is_random()).filter_map(point).collect()
}

fn curves(runs: &[Named<'_>], (id, title, quantity): &(&str, &str, &str)) -> Option<Chart> {
    let points: Vec<Point> = runs.iter().flat_map(|named| points(named, quantity)).collect();
    points.iter().find(|point| point.rate.value.is_some() && point.latency.value.is_some())?;
    let axes = (Axis::new("rate", "1/s", Scale::Linear), Axis::new("latency", "ns", Scale::Log));
    let number = |of: fn(&Point) -> Option<f64>| points.iter().map(of);
    let mark = |point: &Point| if point.is_knee { "knee" } else { "" }.to_owned();
    let chart = Chart::plane(id, title, Kind::Lines, axes)
        .texts(Role::Series, "requests", points.iter().map(|point| point.series.clone()))
        .numbers(Role::Extra, "outstanding", "", number(|point| point.depth))
        .numbers(Role::X, "rate", "1/s", number(|point| point.rate.value))
        .numbers(Role::Y, "latency", "ns", number(|point| point.latency.value))
        .numbers(Role::Low, "from", "ns", number(|point| point.latency.low))
        .numbers(Role::High, "to", "ns", number(|point| point.latency.high))
        .texts(Role::Mark, "knee", points.iter().map(mark))
        .texts(Role::Note, "doubts", points.iter().map(|point| point.rate.reason()));
    let method = "Each point has more requests outstanding than the one before it; the knee is \
        where rate over mean latency is greatest (Kleinrock 1979).";
    Some(chart.by(method).half())
}

/// The greatest rate in bytes of each kind.
fn ceilings(runs: &[Named<'_>]) -> Option<Chart> {
    let curves: Vec<(&Named<'_>, Vec<Row<'_>>)> =
        runs.iter().map(|named| (named, rows(named.run.findings).1)).collect();
    let unit = rate_unit(curves.iter().flat_map(|(_, wholes)| wholes));
    let found = curves.iter().flat_map(|(named, wholes)| {
        let of = |(curve, figures): &Row<'_>| {
            let run = named.within("");
            let name = format!("{} of {}", kind(curve.access), show_size(curve.block_bytes));
            Some((name, run, figures.get(MOST_BYTES)?.clone()))
        };
        wholes.iter().filter_map(of).collect::<Vec<_>>()
    });
    let found: Vec<(String, String, Figure)> = found.collect();
    let entries: Vec<Entry<'_>> = found.iter().map(Entry::of).collect();
    let axis = Axis::new("rate", "B/s", Scale::Linear);
    let chart = Chart::rows("device-ceilings", "Ceilings", Kind::Bars, axis, &entries)?;
    let method = "The greatest rate of any number of requests outstanding.";
    Some(chart.by(method).in_rates_of(unit))
}
