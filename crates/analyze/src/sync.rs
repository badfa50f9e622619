//! What it costs to make a write durable: from the samples of all passes to one number a quantity
//! and cell, as the throughput experiment's are found.

use crate::statistics::estimate;
use crate::throughput::{findings as of_cells, verdict};
use model::record::{Finding, Sample, Verdict};

/// The quantities of a commit.
const QUANTITIES: [&str; 5] = [
    "rate_operations_per_s",
    "latency_p50_ns",
    "latency_p99_ns",
    "latency_max_ns",
    "cpu_operation_ns",
];

/// All findings, in the order in which the cells were first measured.
pub fn findings(samples: &[Sample]) -> Vec<Finding> {
    let mut found = of_cells(samples, &[]);
    // What was refused has one finding that says why.
    found.iter_mut().filter(|f| f.quantity == "rate_bytes_per_s").for_each(|finding| {
        if finding.verdict == Verdict::NotMeasured {
            *finding =
                Finding { quantity: QUANTITIES[0].into(), unit: "1/s".into(), ..finding.clone() };
        }
    });
    found.retain(|finding| QUANTITIES.contains(&finding.quantity.as_str()));
    found.extend(flushes(samples));
    found
}

/// Flushes at the device over the commits of each cell.
fn flushes(samples: &[Sample]) -> Vec<Finding> {
    let mut cells: Vec<(&Sample, Vec<&Sample>)> = Vec::new();
    for sample in samples.iter().filter(|sample| sample.operations > 0) {
        match cells.iter_mut().find(|(first, _)| first.subject == sample.subject) {
            Some((_, all)) => all.push(sample),
            None => cells.push((sample, vec![sample])),
        }
    }
    let of_cell = |(first, all): &(&Sample, Vec<&Sample>)| {
        let ratio = |s: &&Sample| Some(s.device_flushes? as f64 / s.operations as f64);
        let ratios: Option<Vec<f64>> = all.iter().map(ratio).collect();
        let method = "mean of the passes, 95 % interval by Student's t";
        let found = estimate(&ratios?)?.finding(&first.subject, "flushes_ratio", method);
        Some(found.judged(verdict(all)))
    };
    cells.iter().filter_map(of_cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::doubt::{Doubt, Judgement};
    use model::histogram::Histogram;
    use model::record::{Role, Subject};

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
        let found = findings(&samples);
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
    fn what_was_refused_has_one_finding_with_the_reason() {
        let mut refused = pass("RWF_DSYNC", None);
        refused.operations = 0;
        refused.judge(Judgement::not_measured(Doubt::refused("no such flag")));
        let found = findings(&[refused]);
        assert_eq!((found.len(), found[0].value), (1, None));
        assert_eq!(found[0].doubts, [Doubt::refused("no such flag")]);
    }
}
