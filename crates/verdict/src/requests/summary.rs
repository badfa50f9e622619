//! What a trace holds, in the figures that are printed when it was captured or imported: how many
//! requests, what is missing from them, and each device's times by operation.
//!
//! One pass in bounded memory. Rows that lbolt itself made are counted and left out of every other
//! figure.
//!
//! Non-goals: percentiles by anything else, storms, who waited for whom (the response experiment).

use super::by_class::ByClass;
use super::counts::{count_findings, zero_finding};
use super::sequences::Sequences;
use super::traffic::{Share, found};
use model::record::requests::Provenance;
use model::record::{Finding, Flags, Op, Request, Subject, Summed};
use std::collections::BTreeSet;

/// What the rows so far amount to.
#[derive(Debug, Clone, Default)]
pub struct TraceSummary {
    operations: ByClass<(u32, Op)>,
    sequences: Sequences,
    /// From the first arrival to the last step.
    reach_ns: Option<(i64, i64)>,
    cgroups: BTreeSet<u64>,
    /// The cgroup of the last row: rows come in runs of the same.
    last_cgroup: Option<u64>,
}

impl TraceSummary {
    /// Adds a row.
    pub fn add(&mut self, row: &Request) {
        if row.flags.contains(Flags::OWN) {
            return;
        }
        if row.cgroup != self.last_cgroup {
            self.cgroups.extend(row.cgroup);
            self.last_cgroup = row.cgroup;
        }
        // One that was completed has arrived.
        if let Some(arrival_ns) = row.arrival_ns() {
            self.reach(arrival_ns);
            self.reach(row.completed_ns.unwrap_or(arrival_ns));
        }
        self.operations.of((row.device, row.op)).add(&Share::of(row));
        if let Some((sequence, share)) = self.sequences.see(row) {
            self.operations.of((sequence.device, sequence.op)).add(&share);
        }
    }

    /// Adds quick requests that have no rows.
    pub fn add_summed(&mut self, summed: &[Summed]) {
        for of in summed {
            let Ok(device) = u32::try_from(of.device) else { continue };
            if self.operations.of((device, of.op)).add_summed(of).is_some() {
                self.reach(of.from_ns);
                self.reach(of.until_ns);
            }
        }
    }

    fn reach(&mut self, time_ns: i64) {
        let (first_ns, last_ns) = self.reach_ns.unwrap_or((time_ns, time_ns));
        self.reach_ns = Some((first_ns.min(time_ns), last_ns.max(time_ns)));
    }

    /// The cgroups that requested anything.
    pub fn cgroups(&self) -> &BTreeSet<u64> {
        &self.cgroups
    }

    /// All findings: what the footer counts, the clock at 0, and each device's times by operation.
    /// `name` is a device's.
    pub fn findings(&self, provenance: &Provenance, name: impl Fn(u32) -> String) -> Vec<Finding> {
        let span_ns = self.reach_ns;
        let span_ns = span_ns.map(|(first, last)| (i128::from(last) - i128::from(first)) as f64);
        let run = Subject::this_run();
        let span = found(&run, "trace_span_ns", span_ns, 1, "from the first arrival to the last");
        let operations = self.operations.by(|class| Some(*class)).into_iter();
        let operations = operations.flat_map(|((device, op), traffic)| {
            traffic.findings(&Subject::device_op(&name(device), op.name()), span_ns)
        });
        let zero = zero_finding(&run, provenance.started_unix_ns);
        let counts = count_findings(provenance).into_iter();
        counts.chain([span]).chain(zero).chain(operations).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::histogram::SparseHistogram;
    use model::record::quantity;

    fn row(op: Op, queued_ns: i64, response_ns: i64) -> Request {
        Request {
            op,
            length_bytes: 4096,
            queued_ns: Some(queued_ns),
            started_ns: Some(queued_ns + 10),
            issued_ns: Some(queued_ns + 30),
            completed_ns: Some(queued_ns + response_ns),
            ..Request::default()
        }
    }

    fn value(findings: &[Finding], op: &str, quantity: &str) -> Option<f64> {
        let is_it = |f: &&Finding| {
            f.quantity == quantity && f.subject.get("op").is_none_or(|found| found == op)
        };
        findings.iter().find(is_it).unwrap().value
    }

    /// A flush sequence is one request that was made, and two that the device did: its parts
    /// are its device time, and its means add up.
    #[test]
    fn requested_and_done_are_told_apart_and_own_rows_are_left_out() {
        let whole = Request {
            request_id: 1,
            flags: Flags::FUA,
            issued_ns: None,
            ..row(Op::Write, 0, 1000)
        };
        let part = |at| Request {
            parent_id: Some(1),
            queued_ns: None,
            started_ns: None,
            ..row(Op::Write, at, 400)
        };
        let data = part(100);
        let flush = Request { op: Op::Flush, length_bytes: 0, ..part(550) };
        let own = Request { flags: Flags::OWN, ..row(Op::Write, 0, 1_000_000) };
        let mut summary = TraceSummary::default();
        [whole, data, flush, own].iter().for_each(|row| summary.add(row));
        let findings = summary.findings(&Provenance::default(), |d| d.to_string());
        assert_eq!(value(&findings, "write", "requested_count"), Some(1.0));
        assert_eq!(value(&findings, "write", "requested_bytes"), Some(4096.0));
        assert_eq!(value(&findings, "write", "response_mean_ns"), Some(1000.0));
        assert_eq!(value(&findings, "write", "admission_mean_ns"), Some(10.0));
        assert_eq!(value(&findings, "write", "scheduler_mean_ns"), Some(250.0));
        assert_eq!(value(&findings, "write", "device_mean_ns"), Some(740.0));
        assert_eq!(value(&findings, "write", "rest_mean_ns"), Some(0.0));
        assert_eq!(value(&findings, "write", "done_mean_ns"), Some(370.0));
        assert_eq!(value(&findings, "flush", "requested_count"), Some(0.0));
        assert_eq!(value(&findings, "flush", "device_mean_ns"), None);
        assert_eq!(value(&findings, "flush", "done_mean_ns"), Some(370.0));
        assert_eq!(value(&findings, "flush", "trace_span_ns"), Some(1000.0));
    }

    /// Whether requests come as rows or as sums, their table is the same.
    #[test]
    fn quick_requests_without_rows_are_counted_with_the_others() {
        let rows: Vec<Request> = (0..300).map(|n| row(Op::Read, n * 50, 100 + n * n)).collect();
        let mut all = TraceSummary::default();
        rows.iter().for_each(|row| all.add(row));
        let mut parted = TraceSummary::default();
        let (mut quick, mut responses) = (Summed::default(), SparseHistogram::default());
        for (n, row) in rows.iter().enumerate() {
            if n % 3 == 0 {
                parted.add(row);
                continue;
            }
            let response_ns = row.completed_ns.unwrap() - row.queued_ns.unwrap();
            responses.record(response_ns as u64);
            quick.bytes += 4096;
            (quick.admission_ns, quick.queue_ns) = (quick.admission_ns + 10, quick.queue_ns + 30);
            quick.from_ns = quick.from_ns.min(row.completed_ns.unwrap());
            quick.until_ns = quick.until_ns.max(row.completed_ns.unwrap());
        }
        parted.add_summed(&[quick.with_responses(&responses)]);
        let findings = |summary: &TraceSummary| -> Vec<(String, Option<f64>)> {
            let found = summary.findings(&Provenance::default(), |d| d.to_string());
            // Of sums no more is known of device times than their mean.
            let is_of_sums = |f: &Finding| {
                !f.quantity.starts_with("done_p") && !f.quantity.starts_with("done_max")
            };
            found.into_iter().filter(is_of_sums).map(|f| (f.quantity, f.value)).collect()
        };
        assert_eq!(findings(&parted), findings(&all));
        // What is damaged is none.
        let damaged = Summed { buckets: vec![1], ..Summed::default() };
        parted.add_summed(&[damaged]);
        assert_eq!(findings(&parted), findings(&all));
    }

    #[test]
    fn every_quantity_is_known() {
        let mut whole = TraceSummary::default();
        (0..100).for_each(|n| whole.add(&row(Op::Read, n * 50, 100 + n * n)));
        for finding in whole.findings(&Provenance::default(), |d| d.to_string()) {
            let known =
                quantity(&finding.quantity).unwrap_or_else(|| panic!("{}", finding.quantity));
            assert_eq!(known.unit, finding.unit);
        }
    }
}
