//! The verdict's charts: who lost how much time because of whom, of what waits consist, and which
//! files the traffic was of.
//!
//! Non-goals: drawing.

use crate::chart::{Axis, Chart, Entry, Kind, Scale};
use crate::experiments::Named;
use crate::figure::Figure;
use model::record::Finding;
use model::record::subject::{Blame, File, Subject, Wait};
use std::collections::BTreeMap;

/// Rows of a chart.
const MOST: usize = 12;

/// The parts of a call that makes a file durable, in their order.
const PARTS: [(&str, &str); 8] = [
    ("own data", "call_data_ns"),
    ("until the commit", "call_commit_wait_ns"),
    ("commit", "call_commit_ns"),
    ("flush before", "call_preflush_ns"),
    ("commit block", "call_commit_block_ns"),
    ("flush after", "call_postflush_ns"),
    ("own flush", "call_flush_ns"),
    ("rest", "call_rest_ns"),
];

/// A number with its row and its colour.
type Found = (String, String, Figure);

/// All charts of these runs.
pub(crate) fn all(runs: &[Named<'_>]) -> Vec<Chart> {
    [lost(runs), calls(runs), files(runs)].into_iter().flatten().collect()
}

/// Numbers of these runs, those of the weightiest rows.
fn found(
    runs: &[Named<'_>],
    of: impl Fn(&Named<'_>, &Finding) -> Option<(String, String)>,
) -> Vec<Found> {
    let all = runs.iter().flat_map(|named| {
        let figure = |finding: &Finding| {
            let (category, series) = of(named, finding)?;
            let figure = Figure::of(finding);
            figure.value.is_some_and(|value| value > 0.0).then_some((category, series, figure))
        };
        named.run.findings.iter().filter_map(figure).collect::<Vec<_>>()
    });
    let all: Vec<Found> = all.collect();
    let mut weights: BTreeMap<&str, f64> = BTreeMap::new();
    for (category, _, figure) in &all {
        *weights.entry(category).or_default() += figure.value.unwrap_or(0.0);
    }
    let mut heaviest: Vec<(&str, f64)> = weights.into_iter().collect();
    heaviest.sort_by(|a, b| b.1.total_cmp(&a.1));
    heaviest.truncate(MOST);
    let place = |name: &str| heaviest.iter().position(|(category, _)| *category == name);
    let mut kept: Vec<(usize, &Found)> =
        all.iter().filter_map(|found| Some((place(&found.0)?, found))).collect();
    kept.sort_by_key(|(place, _)| *place);
    kept.into_iter().map(|(_, found)| found.clone()).collect()
}

fn lost(runs: &[Named<'_>]) -> Option<Chart> {
    let found = found(runs, |named, finding| match &finding.subject {
        Subject::Blame(Blame { cause, victim, wait, storm: None, .. })
            if finding.quantity == "lost_ns" =>
        {
            Some((named.within(&format!("{victim}, {wait}")), cause.clone()))
        }
        _ => None,
    });
    let entries: Vec<Entry<'_>> = found.iter().map(Entry::of).collect();
    let axis = Axis::new("time lost, summed over waits", "ns", Scale::Linear);
    let chart = Chart::rows("lost", "Who lost time because of whom", Kind::Stack, axis, &entries)?;
    let method = "What waits took beyond comparable ones in calm, in the time that the cause had \
        in them; the rows are who waited and for what, the colours who was waited for.";
    Some(chart.by(method))
}

fn calls(runs: &[Named<'_>]) -> Option<Chart> {
    let found = found(runs, |named, finding| match &finding.subject {
        Subject::Wait(Wait { victim, wait, .. }) => {
            let part = PARTS.iter().find(|(_, quantity)| *quantity == finding.quantity)?;
            Some((named.within(&format!("{victim}, {wait}")), part.0.to_owned()))
        }
        _ => None,
    });
    let entries: Vec<Entry<'_>> = found.iter().map(Entry::of).collect();
    let axis = Axis::new("mean time of a call", "ns", Scale::Linear);
    let title = "Of what a call that makes durable consists";
    let chart = Chart::rows("calls", title, Kind::Stack, axis, &entries)?;
    let order = PARTS.iter().map(|(name, _)| (*name).to_owned());
    let series: Vec<String> = order.filter(|name| chart.series.contains(name)).collect();
    let method = "The parts sum to the mean of the calls; the journal's commits are joined to the \
        calls that waited for them.";
    Some(Chart { series, ..chart.by(method) })
}

fn files(runs: &[Named<'_>]) -> Option<Chart> {
    const SIDES: [(&str, &str); 2] = [("read", "file_read_bytes"), ("written", "file_write_bytes")];
    let found = found(runs, |named, finding| match &finding.subject {
        Subject::File(File { file, .. }) => {
            let side = SIDES.iter().find(|(_, quantity)| *quantity == finding.quantity)?;
            Some((named.within(file), side.0.to_owned()))
        }
        _ => None,
    });
    let entries: Vec<Entry<'_>> = found.iter().map(Entry::of).collect();
    let axis = Axis::new("requests' bytes", "B", Scale::Linear);
    let chart = Chart::rows("files", "Which files it was", Kind::Stack, axis, &entries)?;
    let series = SIDES.map(|(name, _)| name.to_owned()).to_vec();
    let chart = chart.by("Bytes of the requests of a file's data, or of what is like a file.");
    Some(Chart { series, ..chart })
}
