//! Series: a finding's value in each pass, in the order of time, from the records of a run.
//!
//! Findings that are reckoned from many passes at once (a T_call, a line) have one value and its
//! interval instead; those of a trace have a value of each stretch of it.
//!
//! Non-goals: reading files.

use crate::throughput::per_pass;
use model::doubt::{Doubt, Verdict};
use model::engine::EngineKind;
use model::record::{Cold, Experiment, Finding, Role, Sample, Subject};
use model::workload::Account;
use std::collections::{BTreeMap, BTreeSet};

/// A finding's values on one side, of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// What it is about.
    pub subject: Subject,
    /// The quantity's name.
    pub quantity: String,
    /// A value of each pass; none where it was not measured.
    pub values: Vec<f64>,
    /// The 95 % interval of an only value.
    pub interval: Option<(f64, f64)>,
    /// What must be the same on both sides: a name and its value.
    pub shape: BTreeMap<&'static str, String>,
    /// What is to be doubted of it.
    pub doubts: Vec<Doubt>,
}

/// The series of a run, from its samples, and from the findings that no sample tells by itself.
pub fn of_run(samples: &[Sample], findings: &[Finding]) -> Vec<Series> {
    let mut found: Vec<Series> = Vec::new();
    let harness = Harness::of(samples);
    for sample in samples.iter().filter(|s| s.role == Role::Kept) {
        for (quantity, value) in values_of(sample, &harness) {
            let place = found
                .iter()
                .position(|known| known.quantity == quantity && known.subject == sample.subject);
            let place = place.unwrap_or_else(|| {
                found.push(Series {
                    subject: sample.subject.clone(),
                    quantity: quantity.to_owned(),
                    shape: shape(sample),
                    ..Series::default()
                });
                found.len() - 1
            });
            found[place].values.push(value);
            add_doubts(&mut found[place], sample);
        }
    }
    let known: BTreeSet<(Subject, String)> =
        found.iter().map(|s| (s.subject.clone(), s.quantity.clone())).collect();
    let is_new = |f: &&Finding| !known.contains(&(f.subject.clone(), f.quantity.clone()));
    found.extend(findings.iter().filter(is_new).map(of_finding));
    found
}

fn add_doubts(series: &mut Series, sample: &Sample) {
    for doubt in &sample.doubts {
        if !series.doubts.contains(doubt) {
            series.doubts.push(doubt.clone());
        }
    }
}

fn of_finding(finding: &Finding) -> Series {
    let is_measured = finding.verdict != Verdict::NotMeasured;
    let value = finding.value.filter(|value| is_measured && value.is_finite());
    Series {
        subject: finding.subject.clone(),
        quantity: finding.quantity.clone(),
        values: value.into_iter().collect(),
        interval: finding.low.zip(finding.high),
        doubts: finding.doubts.clone(),
        ..Series::default()
    }
}

/// The quantities of a pass with their values.
fn values_of(sample: &Sample, harness: &Harness) -> Vec<(&'static str, f64)> {
    if sample.verdict == Verdict::NotMeasured {
        return vec![];
    }
    match sample.experiment {
        Experiment::Overhead => of_operation(sample, harness),
        _ => per_pass(sample),
    }
}

/// What the harness itself costs a request in the passes of the overhead experiment, by the path,
/// the channels and computing: the mean of the null engine's own CPU time.
struct Harness(BTreeMap<(u64, u64, Option<u64>), (f64, f64)>);

impl Harness {
    fn of(samples: &[Sample]) -> Self {
        let mut sums: BTreeMap<_, (f64, f64)> = BTreeMap::new();
        let null = samples.iter().filter(|s| s.engine == EngineKind::Null && s.role == Role::Kept);
        for sample in null {
            if let Some(ns) = raw_own_ns(sample) {
                let sum = sums.entry(Self::key(sample)).or_default();
                *sum = (sum.0 + ns, sum.1 + 1.0);
            }
        }
        Self(sums)
    }

    fn key(sample: &Sample) -> (u64, u64, Option<u64>) {
        (sample.direct, sample.depth, sample.overhead().test_interval_ns)
    }

    fn ns(&self, sample: &Sample) -> f64 {
        let known = self.0.get(&Self::key(sample)).filter(|_| sample.engine != EngineKind::Null);
        known.map_or(0.0, |(sum, count)| sum / count)
    }
}

fn raw_own_ns(sample: &Sample) -> Option<f64> {
    let is_plain = sample.overhead().account == Account::Difference
        && sample.overhead().test_interval_ns.is_none();
    let own = sample.overhead().cpu_timed_ns.filter(|_| is_plain && sample.operations > 0)?;
    Some(own as f64 / sample.operations as f64)
}

/// A pass of the overhead experiment: its rates and times come from passes without any load.
fn of_operation(sample: &Sample, harness: &Harness) -> Vec<(&'static str, f64)> {
    if sample.overhead().account != Account::Difference
        || sample.wall_ns == 0
        || sample.operations == 0
    {
        return vec![];
    }
    let per_second = |count: u64| Some(count as f64 / sample.wall_ns as f64 * 1e9);
    let latency = sample.latency();
    let quantile = |q: f64| Some(latency.as_ref()?.quantile_ns(q)? as f64);
    let values = [
        ("routine_bytes_per_s", per_second(sample.bytes)),
        ("routine_operations_per_s", per_second(sample.operations)),
        ("operation_latency_p50_ns", quantile(0.5)),
        ("operation_latency_p99_ns", quantile(0.99)),
        ("operation_wall_ns", Some(sample.wall_ns as f64 / sample.operations as f64)),
        ("operation_cpu_thread_ns", raw_own_ns(sample).map(|ns| ns - harness.ns(sample))),
    ];
    values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// What a cell is beside its name.
fn shape(sample: &Sample) -> BTreeMap<&'static str, String> {
    let mut shape = BTreeMap::from([
        ("access", sample.access.name().to_owned()),
        ("block_bytes", sample.block_bytes.to_string()),
        ("file_bytes", sample.file_bytes.to_string()),
        ("jobs", sample.jobs.to_string()),
        ("depth", sample.depth.to_string()),
        ("direct", sample.direct.to_string()),
    ]);
    if let Some(rate) = sample.rate_requested_iops {
        shape.insert("rate_requested_iops", rate.to_string());
    }
    shape.insert("caches emptied", (sample.cold != Cold::No).to_string());
    shape
}
