//! The verdict's charts: who lost how much time because of whom, of what waits consist, and which
//! files the traffic was of.
//!
//! Non-goals: drawing.

use crate::chart::{Axis, Chart, Entry as Found, Kind, Scale};
use crate::experiments::Named;
use crate::figure::Figure;
use model::circumstance::Circumstance;
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

/// All charts of these runs.
pub(crate) fn all(runs: &[Named<'_>]) -> Vec<Chart> {
    [lost(runs), calls(runs), files(runs)].into_iter().flatten().collect()
}

/// Causes with colours of their own; all others are one.
const MOST_CAUSES: usize = 7;
const OTHERS: &str = "all others";
/// A row with less than this share of the greatest cannot be seen.
const LEAST_SHARE: f64 = 0.005;

/// Numbers of these runs.
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
    all.collect()
}

/// Weights by name.
type Weights = BTreeMap<String, f64>;

fn weights(all: &[Found], name: impl Fn(&Found) -> String) -> Weights {
    let mut weights = Weights::new();
    for found in all {
        *weights.entry(name(found)).or_default() += found.2.value.unwrap_or(0.0);
    }
    weights
}

/// The names with most weight, the heaviest first.
fn heaviest(weights: &Weights, most: usize) -> Vec<String> {
    let mut heaviest: Vec<(&String, f64)> = weights.iter().map(|(name, w)| (name, *w)).collect();
    heaviest.sort_by(|a, b| b.1.total_cmp(&a.1));
    let greatest = heaviest.first().map_or(0.0, |(_, weight)| *weight);
    heaviest.retain(|(_, weight)| *weight >= greatest * LEAST_SHARE);
    heaviest.into_iter().take(most).map(|(name, _)| name.clone()).collect()
}

/// Those of the heaviest rows, in the order of their weights.
fn ranked(all: &[Found], weights: &Weights) -> Vec<Found> {
    let rows = heaviest(weights, MOST);
    let place = |(category, ..): &Found| rows.iter().position(|row| row == category);
    let mut kept: Vec<(usize, &Found)> =
        all.iter().filter_map(|found| Some((place(found)?, found))).collect();
    kept.sort_by_key(|(place, _)| *place);
    kept.into_iter().map(|(_, found)| found.clone()).collect()
}

/// What stands in one row under one name as one number, with what is doubted of the first.
fn together(all: impl IntoIterator<Item = Found>) -> Vec<Found> {
    let mut sums: Vec<Found> = Vec::new();
    for (category, series, figure) in all {
        match sums.iter_mut().find(|(c, s, _)| *c == category && *s == series) {
            Some((.., sum)) => {
                let value = sum.value.zip(figure.value).map(|(a, b)| a + b);
                *sum = sum.clone().without_interval();
                sum.value = value;
            }
            None => sums.push((category, series, figure)),
        }
    }
    sums
}

fn cause(blame: &Blame) -> String {
    let nobody = Circumstance::of_name(&blame.cause).filter(|_| !blame.is_role);
    nobody.map_or_else(|| blame.cause.clone(), |circumstance| circumstance.short().to_owned())
}

fn lost(runs: &[Named<'_>]) -> Option<Chart> {
    let all = found(runs, |named, finding| match &finding.subject {
        Subject::Blame(blame) if blame.storm.is_none() && finding.quantity == "lost_ns" => {
            let category = named.within(&format!("{}, {}", blame.victim, blame.wait));
            Some((category, cause(blame)))
        }
        _ => None,
    });
    // A cause on several devices is one.
    let all = together(all);
    let rows = ranked(&all, &weights(&all, |(category, ..)| category.clone()));
    let causes = heaviest(&weights(&rows, |(_, cause, _)| cause.clone()), MOST_CAUSES);
    let (own, others): (Vec<Found>, Vec<Found>) =
        rows.into_iter().partition(|(_, cause, _)| causes.contains(cause));
    let others = others.into_iter().map(|(category, _, figure)| (category, OTHERS.into(), figure));
    let shown: Vec<Found> = own.into_iter().chain(together(others)).collect();
    let axis = Axis::new("time lost, summed over waits", "ns", Scale::Linear);
    let chart = Chart::rows("lost", "Who lost time because of whom", Kind::Stack, axis, &shown)?;
    let order = causes.into_iter().map(|cause| crate::words::name(&cause));
    let order = order.chain([OTHERS.to_owned()]);
    let series = order.filter(|cause| chart.series.contains(cause)).collect();
    let method = "A row is a victim and what it waited for; a colour is a cause. Lost is what the \
        waits took beyond comparable ones in calm, as far as the cause's requests were in flight \
        or stood before the victim's meanwhile.";
    Some(Chart { series, ..chart.by(method) })
}

fn calls(runs: &[Named<'_>]) -> Option<Chart> {
    let row = |named: &Named<'_>, of: &Wait| named.within(&format!("{}, {}", of.victim, of.wait));
    let all = found(runs, |named, finding| match &finding.subject {
        Subject::Wait(of) => {
            let part = PARTS.iter().find(|(_, quantity)| *quantity == finding.quantity)?;
            Some((row(named, of), part.0.to_owned()))
        }
        _ => None,
    });
    // Those come first that cost most in all, and not those of which one call was slow.
    let times = found(runs, |named, finding| match &finding.subject {
        Subject::Wait(of) if finding.quantity == "waited_ns" => {
            let category = row(named, of);
            all.iter().any(|(known, ..)| *known == category).then_some((category, String::new()))
        }
        _ => None,
    });
    let shown = ranked(&all, &weights(&times, |(category, ..)| category.clone()));
    let axis = Axis::new("mean time of a call", "ns", Scale::Linear);
    let title = "What the time of an fsync consists of";
    let chart = Chart::rows("calls", title, Kind::Stack, axis, &shown)?;
    let order = PARTS.iter().map(|(name, _)| (*name).to_owned());
    let series: Vec<String> = order.filter(|name| chart.series.contains(name)).collect();
    let method = "Calls that make a file durable, by who made them, those first that took most \
        time in all. The parts sum to the mean of the calls; the journal's commits are joined to \
        the calls that waited for them. Rest is none of these: a lock, the CPU, or another \
        call's requests.";
    Some(Chart { series, ..chart.by(method) })
}

fn files(runs: &[Named<'_>]) -> Option<Chart> {
    const SIDES: [(&str, &str); 2] = [("read", "file_read_bytes"), ("written", "file_write_bytes")];
    let all = found(runs, |named, finding| match &finding.subject {
        Subject::File(File { file, .. }) => {
            let side = SIDES.iter().find(|(_, quantity)| *quantity == finding.quantity)?;
            Some((named.within(file), side.0.to_owned()))
        }
        _ => None,
    });
    let shown = ranked(&all, &weights(&all, |(category, ..)| category.clone()));
    let axis = Axis::new("requests' bytes", "B", Scale::Linear);
    let chart = Chart::rows("files", "Which files it was", Kind::Stack, axis, &shown)?;
    let series = SIDES.map(|(name, _)| name.to_owned()).to_vec();
    let chart = chart.by("Bytes of the requests of a file's data, or of what is like a file.");
    Some(Chart { series, ..chart })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Values;
    use crate::experiments::Run;

    fn charts(findings: &[Finding]) -> Vec<Chart> {
        all(&[Named { name: "", run: Run { findings, rows: &[] } }])
    }

    fn texts(chart: &Chart, place: usize) -> Vec<String> {
        match &chart.columns[place].values {
            Values::Texts(texts) => texts.clone(),
            Values::Numbers(_) => vec![],
        }
    }

    #[test]
    fn causes_beyond_the_colours_are_one_and_nobody_has_words() {
        let of = |(place, cause): (usize, String)| {
            let subject = Subject::Blame(Blame {
                device: "vda".into(),
                victim: "db".into(),
                wait: "read".into(),
                is_role: place > 0,
                cause,
                file: None,
                storm: None,
            });
            Finding::new(&subject, "lost_ns", Some(1e9 / (place + 1) as f64), 1, "")
        };
        let causes = std::iter::once("held".to_owned()).chain((1..20).map(|n| format!("job{n}")));
        let findings: Vec<Finding> = causes.enumerate().map(of).collect();
        let charts = charts(&findings);
        let series = &charts[0].series;
        assert_eq!(series.len(), MOST_CAUSES + 1);
        assert_eq!(
            (series[0].as_str(), series[7].as_str()),
            ("a delay outside the device", OTHERS)
        );
        let Values::Numbers(values) = &charts[0].columns[2].values else { return };
        let sum: f64 = values.iter().flatten().sum();
        let whole: f64 = (1..=20).map(|n| 1e9 / f64::from(n)).sum();
        assert!((sum - whole).abs() < 1.0, "nothing is lost: {sum} {whole}");
    }

    #[test]
    fn calls_come_in_the_order_of_their_time_in_all() {
        let of = |victim: &str, quantity: &str, value: f64| {
            let (device, wait) = ("vda".into(), "fsync".into());
            let subject = Subject::Wait(Wait { device, victim: victim.into(), wait });
            Finding::new(&subject, quantity, Some(value), 1, "")
        };
        let findings = [
            of("rare", "waited_ns", 5e6),
            of("rare", "call_data_ns", 5e6),
            of("often", "waited_ns", 9e6),
            of("often", "call_data_ns", 1e3),
            of("reader", "waited_ns", 1e12),
        ];
        let charts = charts(&findings);
        assert_eq!(texts(&charts[0], 0), ["often, fsync", "rare, fsync"]);
    }
}
