//! Requests of a trace that have no rows because they were quick (`record --slower-than`), in
//! figures of the whole trace.
//!
//! Non-goals: their times by device and operation, which stand with the rows' (`summary`).

use super::found;
use model::record::requests::Provenance;
use model::record::{Finding, Subject, Summed};

/// The threshold and the requests below it; nothing of a trace whose requests all have rows.
pub fn summed_findings(provenance: &Provenance, summed: &[Summed]) -> Vec<Finding> {
    let Some(slower_than_ns) = provenance.slower_than_ns() else { return Vec::new() };
    let count: u64 = summed.iter().map(|of| of.count).sum();
    let bytes: u64 = summed.iter().map(|of| of.bytes).sum();
    let run = Subject::this_run();
    let threshold = Some(slower_than_ns as f64);
    let summed = |quantity, value: u64| {
        let method = "summed by device and operation, most of them in the kernel";
        found(&run, quantity, Some(value as f64), count, method)
    };
    vec![
        found(&run, "slower_than_ns", threshold, 1, "--slower-than"),
        summed("summed_count", count),
        summed("summed_bytes", bytes),
    ]
}
