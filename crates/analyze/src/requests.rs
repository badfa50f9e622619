//! What a trace holds, in the figures that are printed when it was captured or imported: how many
//! requests, what is missing from them, and each device's times by operation.
//!
//! One pass in bounded memory. Rows that lbolt itself made are counted and left out of every other
//! figure.
//!
//! Non-goals: percentiles by anything else, storms, who waited for whom (the response room).

use crate::sequences::{Sequences, is_sequence};
use crate::traffic::{Share, Traffic, found};
use hashbrown::HashMap;
use model::doubt::{Code, Doubt, Judgement};
use model::record::requests::{Counts, Provenance};
use model::record::{Finding, Flags, Op, Request, Subject};
use std::collections::{BTreeMap, BTreeSet};

/// What the rows so far amount to.
#[derive(Debug, Clone, Default)]
pub struct TraceSummary {
    groups: HashMap<(u32, Op), Traffic>,
    sequences: Sequences,
    /// Answers to lbolt itself, by device.
    own: BTreeMap<u32, u64>,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    cgroups: BTreeSet<u64>,
    /// The cgroup of the last row: rows come in runs of the same.
    last_cgroup: Option<u64>,
}

impl TraceSummary {
    /// Adds a row.
    pub fn add(&mut self, row: &Request) {
        if row.flags.contains(Flags::OWN) {
            let is_answer = row.parent_id.is_none() && row.completed_ns.is_some();
            *self.own.entry(row.device).or_default() += u64::from(is_answer);
            return;
        }
        if row.cgroup != self.last_cgroup {
            self.cgroups.extend(row.cgroup);
            self.last_cgroup = row.cgroup;
        }
        for time_ns in [row.arrival_ns(), row.completed_ns].into_iter().flatten() {
            self.first_ns = Some(self.first_ns.map_or(time_ns, |first| first.min(time_ns)));
            self.last_ns = Some(self.last_ns.map_or(time_ns, |last| last.max(time_ns)));
        }
        self.group(row).add(&Share::of(row));
        if is_sequence(row) {
            self.sequences.begin(row);
        } else if row.parent_id.is_some()
            && let Some((sequence, share)) = self.sequences.part(row)
        {
            self.group(&sequence).add(&share);
        }
    }

    fn group(&mut self, row: &Request) -> &mut Traffic {
        self.groups.entry((row.device, row.op)).or_default()
    }

    /// Answers to what a device was asked for, lbolt's own too.
    pub fn answered(&self, device: u32) -> u64 {
        let of_device = Op::ALL.iter().filter_map(|op| self.groups.get(&(device, *op)));
        of_device.map(|group| group.answered()).sum::<u64>() + self.own.get(&device).unwrap_or(&0)
    }

    /// The cgroups that asked for anything.
    pub fn cgroups(&self) -> &BTreeSet<u64> {
        &self.cgroups
    }

    /// All findings: what the footer counts, and each device's times by operation. `name` is a
    /// device's.
    pub fn findings(&self, provenance: &Provenance, name: impl Fn(u32) -> String) -> Vec<Finding> {
        let span_ns = self
            .first_ns
            .zip(self.last_ns)
            .map(|(first, last)| (i128::from(last) - i128::from(first)) as f64);
        let run = Subject::this_run();
        let span = found(&run, "trace_span_ns", span_ns, 1, "from the first arrival to the last");
        let mut groups: Vec<_> = self.groups.iter().collect();
        groups.sort_by_key(|(key, _)| **key);
        let groups = groups.into_iter().flat_map(|((device, op), group)| {
            let op = op.name().to_owned();
            group.findings(&Subject::device_op(&name(*device), &op), span_ns)
        });
        count_findings(provenance).into_iter().chain([span]).chain(groups).collect()
    }
}

/// What the footer counts, as findings.
pub fn count_findings(provenance: &Provenance) -> Vec<Finding> {
    let run = Subject::this_run();
    let counts = Counts::ALL.iter().map(|(count, _, get, _)| {
        let method = "counted while the rows were made";
        let told = provenance.knows(count).then(|| get(&provenance.counts) as f64);
        let finding = found(&run, &format!("{count}_count"), told, 1, method);
        match told {
            Some(_) => finding,
            None => finding.judged(Judgement::not_measured(Doubt::new(Code::CountUnknown, []))),
        }
    });
    counts.collect()
}

/// What of a footer's counts the rows themselves tell, for a file whose footer does not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCounts {
    rows: u64,
    unanswered: u64,
    orphaned: u64,
    own: u64,
}

impl RowCounts {
    /// Adds a row.
    pub fn add(&mut self, row: &Request) {
        self.rows += 1;
        self.unanswered += u64::from(row.completed_ns.is_none());
        self.orphaned += u64::from(row.is_orphan());
        self.own += u64::from(row.flags.contains(Flags::OWN));
    }

    /// Adds those of other rows.
    pub fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.unanswered += other.unanswered;
        self.orphaned += other.orphaned;
        self.own += other.own;
    }

    /// Tells what was counted of what is not told. Where nothing has an answer, the trace may be of
    /// a format that has none.
    pub fn tell(&self, provenance: &mut Provenance) {
        provenance.tell("orphaned", self.orphaned);
        provenance.tell("own", self.own);
        if self.unanswered < self.rows {
            provenance.tell("unanswered", self.unanswered);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    /// A flush sequence is one request that was asked for, and two that the device did: its parts
    /// are its device time, and its means add up.
    #[test]
    fn asked_for_and_done_are_told_apart_and_own_rows_are_left_out() {
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
        assert_eq!(value(&findings, "write", "asked_count"), Some(1.0));
        assert_eq!(value(&findings, "write", "asked_bytes"), Some(4096.0));
        assert_eq!(value(&findings, "write", "response_mean_ns"), Some(1000.0));
        assert_eq!(value(&findings, "write", "admission_mean_ns"), Some(10.0));
        assert_eq!(value(&findings, "write", "scheduler_mean_ns"), Some(250.0));
        assert_eq!(value(&findings, "write", "device_mean_ns"), Some(740.0));
        assert_eq!(value(&findings, "write", "rest_mean_ns"), Some(0.0));
        assert_eq!(value(&findings, "write", "done_mean_ns"), Some(370.0));
        assert_eq!(value(&findings, "flush", "asked_count"), Some(0.0));
        assert_eq!(value(&findings, "flush", "device_mean_ns"), None);
        assert_eq!(value(&findings, "flush", "done_mean_ns"), Some(370.0));
        assert_eq!(value(&findings, "flush", "trace_span_ns"), Some(1000.0));
    }

    #[test]
    fn what_no_footer_tells_is_counted_from_the_rows_or_not_measured() {
        let answered = row(Op::Read, 0, 100);
        let rows = [
            answered,
            Request { completed_ns: None, ..answered },
            Request { flags: Flags::OWN, ..answered },
            Request { queued_ns: None, started_ns: None, issued_ns: None, ..answered },
        ];
        let lost = || Provenance::from_footer(&BTreeMap::new());
        let (mut counts, mut rest) = (RowCounts::default(), RowCounts::default());
        rows[..1].iter().for_each(|row| counts.add(row));
        rows[1..].iter().for_each(|row| rest.add(row));
        counts.merge(&rest);
        let mut provenance = lost();
        counts.tell(&mut provenance);
        let findings = count_findings(&provenance);
        let of = |name: &str| findings.iter().find(|f| f.quantity == name).unwrap();
        for name in ["unanswered_count", "own_count", "orphaned_count"] {
            assert_eq!(of(name).value, Some(1.0), "{name}");
        }
        for name in ["lost_count", "events_count", "reused_count"] {
            let unknown = Judgement::not_measured(Doubt::new(Code::CountUnknown, []));
            assert_eq!((of(name).value, of(name).verdict), (None, unknown.verdict));
            assert_eq!(of(name).doubts, unknown.doubts);
        }
        let (mut unanswered, mut provenance) = (RowCounts::default(), lost());
        unanswered.add(&rows[1]);
        unanswered.tell(&mut provenance);
        assert!(!provenance.knows("unanswered") && provenance.knows("own"));
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
