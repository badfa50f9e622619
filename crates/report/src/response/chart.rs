//! A trace's charts of classes: box plots, as the 1986 paper's figures show them, and what reads
//! take behind bursts.
//!
//! Non-goals: drawing; density over time (the page has it of its own).

use super::classes::{Class, Classes};
use super::tables::times_of;
use crate::chart::{Axis, Chart, Entry, Kind, Role, Scale, entries};
use crate::experiments::Named;

/// What requests are classed by: the chart's name, its title, the kind of class, how many rows it
/// has at the most, and which figure of the 1986 paper it is.
type Boxes = (&'static str, &'static str, &'static str, usize, Option<u8>);

const BOXES: [Boxes; 8] = [
    ("by-device", "Responses by device", "device", MOST, Some(2)),
    ("by-region", "Responses by block region", "region", 32, Some(3)),
    ("by-origin", "Responses by origin", "origin", MOST, Some(4)),
    ("by-size", "Responses by transfer size", "size", MOST, Some(5)),
    ("by-direction", "Responses by direction", "direction", MOST, Some(6)),
    ("by-process", "Responses by process", "process", MOST, None),
    ("by-structure", "Responses by what the file system keeps there", "structure", MOST, None),
    (
        "by-found",
        "Reads by the writes that they found outstanding",
        "writes outstanding",
        MOST,
        None,
    ),
];
/// Rows of a chart.
const MOST: usize = 12;
/// Pixels of a box's row, and of what is not rows.
const ROW: usize = 30;
const AROUND: usize = 52;

/// The whiskers, the box and the greatest value.
const PARTS: [(Role, &str, &str); 6] = [
    (Role::Low, "whisker", "whisker_low_ns"),
    (Role::Q1, "quartile", "p25_ns"),
    (Role::Median, "median", "p50_ns"),
    (Role::Q3, "quartile 3", "p75_ns"),
    (Role::High, "whisker 2", "whisker_high_ns"),
    (Role::Max, "greatest", "max_ns"),
];

/// All charts of these runs.
pub(crate) fn all(runs: &[Named<'_>]) -> Vec<Chart> {
    let classes: Vec<(&Named<'_>, Classes)> =
        runs.iter().map(|named| (named, Classes::of(named.run.findings))).collect();
    let boxes = BOXES.iter().filter_map(|kind| boxes(&classes, kind));
    counts(&classes).into_iter().chain(boxes).chain(behind(&classes)).collect()
}

/// How many requests took how long: the paper's first figure.
fn counts(runs: &[(&Named<'_>, Classes)]) -> Option<Chart> {
    let found = runs.iter().flat_map(|(named, classes)| {
        let known = classes.by("response time").into_iter().filter_map(|class| {
            let figure = class.figure("completed_count")?.clone();
            Some((class.key.1.clone(), named.within(""), figure))
        });
        known.collect::<Vec<_>>()
    });
    let found: Vec<Entry> = found.collect();
    let axis = Axis::new("requests", "1", Scale::Log);
    let chart = Chart::rows(
        "counts",
        "How many requests, of all devices, took how long",
        Kind::Dots,
        axis,
        &found,
    )?;
    let method = "Requests by the time from queueing (else issue) to completion. Figure 1 of the \
        1986 paper.";
    Some(chart.by(method))
}

fn boxes(runs: &[(&Named<'_>, Classes)], (id, title, by, most, paper): &Boxes) -> Option<Chart> {
    let all: Vec<&Class> = runs.iter().flat_map(|(_, classes)| classes.by(by)).collect();
    let times = times_of(&all);
    let rows = runs.iter().flat_map(|(named, classes)| {
        let known = classes.by(by).into_iter().filter_map(|class| {
            let part =
                |(_, _, quantity): &(Role, &str, &str)| class.value(&format!("{times}_{quantity}"));
            let parts: Option<Vec<f64>> = PARTS.iter().map(part).collect();
            Some((named.within(&class.key.1), parts?, class.value("requested_count")))
        });
        known.take(*most).collect::<Vec<_>>()
    });
    let rows: Vec<(String, Vec<f64>, Option<f64>)> = rows.collect();
    if rows.is_empty() {
        return None;
    }
    let (label, from, title) = match times {
        "done" => ("device time", "the issue", title.replace("Responses", "Device times")),
        _ => ("response", "queueing", (*title).to_owned()),
    };
    let axes = (Axis::new(label, "ns", Scale::Log), Axis::default());
    let chart = Chart::plane(id, &title, Kind::Boxes, axes).texts(
        Role::Category,
        "class",
        rows.iter().map(|(name, ..)| crate::words::name(name)),
    );
    let chart = PARTS.iter().enumerate().fold(chart, |chart, (place, (role, name, _))| {
        let values = rows.iter().map(|(_, parts, _)| parts.get(place).copied());
        chart.numbers(*role, name, "ns", values)
    });
    let counts = rows.iter().map(|(.., count)| *count);
    let chart = chart.numbers(Role::Extra, "requests", "", counts);
    let paper = paper.map(|figure| format!(" Figure {figure} of the 1986 paper."));
    let method = format!(
        "Times from {from} to completion: median, quartiles, whiskers to the last within 1.5 times \
         their distance; the dot is the greatest.{}",
        paper.unwrap_or_default()
    );
    let chart = chart.by(&method).high(AROUND + ROW * rows.len());
    // What is higher than its neighbour would leave a gap.
    Some(if rows.len() > MOST { chart } else { chart.half() })
}

/// Reads behind bursts of writes and flushes, and the others.
fn behind(runs: &[(&Named<'_>, Classes)]) -> Option<Chart> {
    const READS: [(&str, &str); 4] = [
        ("behind a burst, median", "reads_behind_p50_ns"),
        ("behind a burst, p99", "reads_behind_p99_ns"),
        ("other reads, median", "reads_apart_p50_ns"),
        ("other reads, p99", "reads_apart_p99_ns"),
    ];
    let found = runs.iter().flat_map(|(named, classes)| {
        let of = |class: &&Class| {
            entries(&named.within(&class.key.1), &READS, |quantity| class.figure(quantity))
        };
        classes.by("storms").iter().flat_map(of).collect::<Vec<_>>()
    });
    let found: Vec<Entry> = found.collect();
    let axis = Axis::new("response of reads", "ns", Scale::Log);
    let chart = Chart::rows("storms", "Reads behind bursts of writes", Kind::Dots, axis, &found)?;
    let method = "Bursts of writes and flushes stand out of their time; reads \
        that found one outstanding, and the others.";
    Some(chart.by(method))
}
