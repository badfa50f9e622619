//! Requests of a trace that have no rows because they were quick (`record --slower-than`, an
//! incident of a watch), in figures of the whole trace.
//!
//! Non-goals: their times by device and operation, which stand with the rows' (`summary`).

use super::found;
use model::record::requests::Provenance;
use model::record::{Finding, Subject, Summed};

/// The threshold and the requests below it; nothing of a trace whose requests all have rows.
pub fn summed_findings(provenance: &Provenance, summed: &[Summed]) -> Vec<Finding> {
    let count: u64 = summed.iter().map(|of| of.count).sum();
    let bytes: u64 = summed.iter().map(|of| of.bytes).sum();
    let run = Subject::this_run();
    let summed = |quantity, value: u64| {
        let method = "summed in the kernel, or as they came";
        found(&run, quantity, Some(value as f64), count, method)
    };
    let Some(slower_than_ns) = provenance.slower_than_ns() else {
        let quantities = [("summed_count", count), ("summed_bytes", bytes)].into_iter();
        return quantities.filter(|_| count > 0).map(|(of, value)| summed(of, value)).collect();
    };
    let threshold = Some(slower_than_ns as f64);
    vec![
        found(&run, "slower_than_ns", threshold, 1, "--slower-than"),
        summed("summed_count", count),
        summed("summed_bytes", bytes),
    ]
}
