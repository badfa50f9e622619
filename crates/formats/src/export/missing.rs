//! What foreign formats cannot say: one table of it. A format names what it lacks; what a row has
//! of that is counted, and a row without which the format makes no sense is left out.

use model::record::{Flags, Op, Request};
use std::collections::BTreeMap;

/// Something that a format may be unable to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is described in Missing::ALL")]
pub enum Missing {
    Own,
    Untimed,
    Orphaned,
    Unanswered,
    Part,
    Flush,
    Discard,
    Other,
    Placeless,
    Parent,
    Started,
    Issued,
    Completed,
    Error,
    Flags,
    Cpu,
    Pid,
    Cgroup,
    Command,
    NamelessCommand,
    Nanoseconds,
    Microseconds,
    Sectors,
    WallClock,
    DeviceName,
}

/// What no format of transfers has: requests that move no data, steps between queue and completion,
/// errors, and who requested it where.
pub(super) const BEYOND_TRANSFERS: &[Missing] = &[
    Missing::Orphaned,
    Missing::Part,
    Missing::Other,
    Missing::Placeless,
    Missing::Started,
    Missing::Issued,
    Missing::Error,
    Missing::Cpu,
    Missing::Pid,
    Missing::Cgroup,
    Missing::Command,
];

/// What is missing: in words, whether whole rows are left out for it, and which rows have it.
type Entry = (Missing, &'static str, bool, fn(&Request) -> bool);

/// Rows, by themselves, do not tell: it is counted where it is met.
const ELSEWHERE: fn(&Request) -> bool = |_| false;

impl Missing {
    /// All, rows first.
    pub const ALL: [Entry; 25] = [
        (Self::Own, "lbolt's own requests", true, |r| r.flags.contains(Flags::OWN)),
        (Self::Untimed, "requests without any time", true, |r| r.arrival_ns().is_none()),
        (Self::Orphaned, "completions whose request was never seen", true, Request::is_orphan),
        (Self::Unanswered, "requests without a completion", true, |r| r.completed_ns.is_none()),
        (Self::Part, "parts of flush sequences", true, |r| r.parent_id.is_some()),
        (Self::Flush, "flushes", true, is_flush),
        (Self::Discard, "discards", true, |r| r.op == Op::Discard),
        (Self::Other, "requests other than reads, writes, flushes and discards", true, |r| {
            r.op == Op::Other
        }),
        (Self::Placeless, "requests without a known offset", true, |r| {
            r.offset_bytes.is_none() && !is_flush(r)
        }),
        (Self::Parent, "the request of each part of a flush sequence", false, |r| {
            r.parent_id.is_some()
        }),
        (
            Self::Started,
            "the time when the scheduler received the \
                         request",
            false,
            |r| r.started_ns.is_some(),
        ),
        (
            Self::Issued,
            "the time when the device received the \
                        request",
            false,
            |r| r.issued_ns.is_some(),
        ),
        (Self::Completed, "the completion time", false, |r| r.completed_ns.is_some()),
        (Self::Error, "errors", false, |r| r.error != 0),
        (Self::Flags, "flags", false, ELSEWHERE),
        (Self::Cpu, "CPUs", false, |r| r.cpu.is_some()),
        (Self::Pid, "process numbers", false, |r| r.pid.is_some()),
        (Self::Cgroup, "cgroups", false, |r| r.cgroup.is_some()),
        (Self::Command, "commands", false, |r| r.command.is_some()),
        (Self::NamelessCommand, "commands without a process number", false, |r| {
            r.command.is_some() && r.pid.is_none()
        }),
        (Self::Nanoseconds, "times finer than 100 ns", false, |r| {
            is_finer(r.arrival_ns(), 100) || is_finer(r.completed_ns, 100)
        }),
        (Self::Microseconds, "arrivals finer than a microsecond", false, |r| {
            is_finer(r.arrival_ns(), 1000)
        }),
        (Self::Sectors, "offsets or lengths that are not multiples of 512 bytes", false, |r| {
            r.offset_bytes.unwrap_or(0) % 512 != 0 || r.length_bytes % 512 != 0
        }),
        (Self::WallClock, "the wall clock (times count from 1970)", false, ELSEWHERE),
        (Self::DeviceName, "device names (devices are numbered instead)", false, ELSEWHERE),
    ];

    fn entry(self) -> &'static Entry {
        &Self::ALL[self as usize]
    }

    /// What it is, in words.
    pub fn meaning(self) -> &'static str {
        self.entry().1
    }

    /// Whether rows are left out for it; else they are written without it.
    pub fn is_row(self) -> bool {
        self.entry().2
    }

    /// Whether a row has it.
    pub fn is_in(self, row: &Request) -> bool {
        self.entry().3(row)
    }
}

/// A flush, or a write that is nothing else.
pub(super) fn is_flush(row: &Request) -> bool {
    row.op == Op::Flush || (row.op == Op::Write && row.length_bytes == 0)
}

/// Whether a coarser clock would cut a time.
fn is_finer(time_ns: Option<i64>, unit_ns: i64) -> bool {
    time_ns.is_some_and(|ns| ns % unit_ns != 0)
}

/// How much of each is missing.
pub type MissingCounts = BTreeMap<Missing, u64>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_its_kinds() {
        for (position, (missing, _, _, _)) in Missing::ALL.iter().enumerate() {
            assert_eq!(*missing as usize, position);
        }
        let rows = Missing::ALL.iter().take_while(|(_, _, is_row, _)| *is_row).count();
        assert!(Missing::ALL[rows..].iter().all(|(_, _, is_row, _)| !is_row));
    }

    #[test]
    fn each_is_found_in_a_row_that_has_it() {
        let row = Request {
            op: Op::Write,
            offset_bytes: Some(512),
            length_bytes: 512,
            queued_ns: Some(1000),
            completed_ns: Some(2000),
            ..Request::default()
        };
        let of = |row: &Request| -> Vec<Missing> {
            Missing::ALL.iter().map(|e| e.0).filter(|m| m.is_in(row)).collect()
        };
        assert_eq!(of(&row), [Missing::Completed]);
        assert_eq!(of(&Request { completed_ns: None, ..row }), [Missing::Unanswered]);
        assert_eq!(of(&Request { length_bytes: 0, ..row }), [Missing::Flush, Missing::Completed]);
        let odd = Request { offset_bytes: Some(1), queued_ns: Some(1), ..row };
        let wanted =
            [Missing::Completed, Missing::Nanoseconds, Missing::Microseconds, Missing::Sectors];
        assert_eq!(of(&odd), wanted);
        let orphan = Request { queued_ns: None, ..row };
        assert_eq!(of(&orphan), [Missing::Orphaned, Missing::Completed]);
    }
}
