//! Findings of experiments whose cells take turns: from the samples of all passes to one number a
//! quantity and cell, as the throughput experiment's are found.
//!
//! Non-goals: what is found of several cells together (`curve`).

use crate::curve;
use crate::throughput::of_cells;
use model::histogram::Histogram;
use model::record::{Experiment, Finding, Role, Sample, Subject, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// The quantities of a commit: a write made durable.
const COMMIT: [&str; 6] = [
    "rate_operations_per_s",
    "latency_p50_ns",
    "latency_p99_ns",
    "latency_max_ns",
    "cpu_operation_ns",
    "flushes_ratio",
];

/// Percentiles of latencies, as users of fio look for them.
const PERCENTILES: [(&str, f64); 6] = [
    ("p50", 0.5),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

/// The latencies of a cell's kept passes together.
#[derive(Debug, Serialize)]
pub struct CellTimes<'a> {
    subject: &'a Subject,
    /// Requests that they are of.
    count: u64,
    /// Mean, percentiles and the greatest.
    latency_ns: BTreeMap<&'static str, f64>,
    /// Of each pass, what each second had; none of passes of earlier versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passes: Vec<PassSeconds<'a>>,
}

/// What a pass completed in each second, or in each span of it where it has very many.
#[derive(Debug, Serialize)]
struct PassSeconds<'a> {
    pass: u64,
    /// Length of a span; the last one ends with the pass.
    span_s: f64,
    bytes: &'a [u64],
    operations: &'a [u64],
    rate_bytes_per_s: Vec<Option<f64>>,
}

impl<'a> PassSeconds<'a> {
    fn of(sample: &'a Sample) -> Option<Self> {
        let span_ns = Some(sample.span_ns).filter(|ns| *ns > 0)?;
        let rate = |(number, bytes): (u64, &u64)| {
            let rest_ns = sample.wall_ns.saturating_sub(number.saturating_mul(span_ns));
            let lasts_ns = rest_ns.min(span_ns);
            (lasts_ns > 0).then(|| *bytes as f64 * 1e9 / lasts_ns as f64)
        };
        Some(Self {
            pass: sample.pass,
            span_s: span_ns as f64 / 1e9,
            bytes: &sample.span_bytes,
            operations: &sample.span_operations,
            rate_bytes_per_s: (0..).zip(&sample.span_bytes).map(rate).collect(),
        })
    }
}

/// The times of the cells of a throughput experiment, in the order in which they were measured.
pub fn times(samples: &[Sample]) -> Vec<CellTimes<'_>> {
    let is_wanted = |sample: &&Sample| {
        sample.experiment == Experiment::Throughput
            && sample.role == Role::Kept
            && sample.verdict != Verdict::NotMeasured
    };
    let mut cells: Vec<(&Subject, Vec<&Sample>)> = Vec::new();
    for sample in samples.iter().filter(is_wanted) {
        match cells.iter_mut().find(|(subject, _)| **subject == sample.subject) {
            Some((_, passes)) => passes.push(sample),
            None => cells.push((&sample.subject, vec![sample])),
        }
    }
    cells.into_iter().map(|(subject, passes)| of_passes(subject, &passes)).collect()
}

fn of_passes<'a>(subject: &'a Subject, passes: &[&'a Sample]) -> CellTimes<'a> {
    let mut all = Histogram::default();
    passes.iter().filter_map(|pass| pass.latency()).for_each(|one| all.merge(&one));
    let percentile =
        |(name, share): (&'static str, f64)| Some((name, all.quantile_ns(share)? as f64));
    let ends = all.mean_ns().map(|mean| [("mean", mean), ("max", all.max_ns() as f64)]);
    let latency_ns = PERCENTILES.into_iter().filter_map(percentile);
    CellTimes {
        subject,
        count: all.count(),
        latency_ns: latency_ns.chain(ends.into_iter().flatten()).collect(),
        passes: passes.iter().filter_map(|pass| PassSeconds::of(pass)).collect(),
    }
}

/// All findings of an experiment, in the order in which the cells were first measured; none of an
/// experiment that finds them otherwise.
pub fn findings(experiment: Experiment, samples: &[Sample]) -> Vec<Finding> {
    match experiment {
        Experiment::Curve => curve::findings(samples),
        Experiment::Sync => of_cells(samples, &COMMIT),
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::{findings, times};
    use model::doubt::{Doubt, Judgement};
    use model::histogram::Histogram;
    use model::record::{Experiment, Finding, Role, Sample, Subject};

    fn pass(method: &str, flushes: Option<u64>) -> Sample {
        let mut latency = Histogram::default();
        (0..100).for_each(|_| latency.record(50_000));
        let text = format!(
            r#"{{"block_bytes":4096,"direct":0,"method":"{method}","pattern":"append",
                "target":"d","writers":1}}"#
        );
        let mut sample = Sample {
            subject: Subject::from_text(&text).unwrap(),
            role: Role::Kept,
            operations: 100,
            jobs: 1,
            wall_ns: 5_000_000,
            device_flushes: flushes,
            ..Sample::default()
        };
        sample.set_latency(&latency);
        sample
    }

    #[test]
    fn a_cell_has_its_rate_times_and_flushes() {
        let samples = [pass("fsync", Some(100)), pass("fsync", Some(200)), pass("O_SYNC", None)];
        let found = findings(Experiment::Sync, &samples);
        let of = |method: &str, quantity: &str| {
            let is_it = |f: &&Finding| {
                f.quantity == quantity && f.subject.get("method").as_deref() == Some(method)
            };
            found.iter().find(is_it).and_then(|finding| finding.value)
        };
        assert_eq!(of("fsync", "rate_operations_per_s"), Some(20_000.0));
        assert_eq!(of("fsync", "flushes_ratio"), Some(1.5));
        assert_eq!(of("fsync", "latency_max_ns"), Some(50_000.0));
        assert_eq!(of("O_SYNC", "flushes_ratio"), None);
        assert!(found.iter().all(|f| f.quantity != "rate_bytes_per_s"));
    }

    #[test]
    fn times_have_what_users_of_fio_look_for() {
        let mut sample = pass("fsync", None);
        sample.experiment = Experiment::Throughput;
        let other = Sample { experiment: Experiment::Sync, ..sample.clone() };
        let samples = [sample.clone(), Sample { pass: 1, ..sample }];
        let text = serde_json::to_value(times(&samples)).unwrap();
        assert_eq!(text.as_array().map(Vec::len), Some(1));
        for name in ["p50", "p90", "p95", "p99", "p99.9", "p99.99", "max", "mean"] {
            assert!(text[0]["latency_ns"][name].is_number(), "{name}: {text}");
        }
        assert_eq!(text[0]["count"], 200, "of both passes");
        assert!(times(&[other]).is_empty(), "of another experiment");
    }

    #[test]
    fn what_was_refused_has_one_finding_with_the_reason() {
        let mut refused = pass("RWF_DSYNC", None);
        refused.operations = 0;
        refused.judge(Judgement::not_measured(Doubt::refused("no such flag")));
        let found = findings(Experiment::Sync, &[refused]);
        assert_eq!((found.len(), found[0].value), (1, None));
        assert_eq!(found[0].doubts, [Doubt::refused("no such flag")]);
    }
}
