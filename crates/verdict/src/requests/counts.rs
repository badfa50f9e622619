//! What a trace counts beside its requests: as its footer tells, or as far as its rows do.

use super::traffic::found;
use model::doubt::{Code, Doubt, Judgement};
use model::record::requests::{Counts, Provenance};
use model::record::{Finding, Flags, Request, Subject};

/// What the footer counts, as findings.
pub fn count_findings(provenance: &Provenance) -> Vec<Finding> {
    let run = Subject::this_run();
    let counts = Counts::ALL.iter().map(|(count, _, get, _)| {
        let method = "counted while the rows were made";
        let known = provenance.knows(count).then(|| get(&provenance.counts) as f64);
        let finding = found(&run, &format!("{count}_count"), known, 1, method);
        match known {
            Some(_) => finding,
            None => finding.judged(Judgement::not_measured(Doubt::new(Code::CountUnknown, []))),
        }
    });
    counts.collect()
}

/// The clock on the wall at 0, of a run or of one of its losses.
pub(crate) fn zero_finding(of: &Subject, zero_unix_ns: Option<i64>) -> Option<Finding> {
    Some(found(of, "clock_zero_unix_ns", Some(zero_unix_ns? as f64), 1, "counted"))
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

    /// Tells what was counted in the place of what is known, which is of more rows than these.
    pub fn tell_instead(&self, provenance: &mut Provenance) {
        let counted = [
            ("requests", self.rows),
            ("unanswered", self.unanswered),
            ("orphaned", self.orphaned),
            ("own", self.own),
        ];
        for (count, value) in counted {
            if provenance.knows(count) {
                provenance.unknown.insert(count);
                provenance.tell(count, value);
            }
        }
    }

    /// Tells what was counted of what is not known. Where nothing has a completion, the trace may
    /// be of a format that has none.
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
    use std::collections::BTreeMap;

    #[test]
    fn what_no_footer_tells_is_counted_from_the_rows_or_not_measured() {
        let completed = Request {
            queued_ns: Some(0),
            started_ns: Some(10),
            issued_ns: Some(30),
            completed_ns: Some(100),
            ..Request::default()
        };
        let rows = [
            completed,
            Request { completed_ns: None, ..completed },
            Request { flags: Flags::OWN, ..completed },
            Request { queued_ns: None, started_ns: None, issued_ns: None, ..completed },
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
}
