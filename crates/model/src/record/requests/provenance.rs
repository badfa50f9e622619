//! What a file of requests says of itself: where the rows come from, and everything that is
//! missing from them or doubtful in them. Every later figure carries it along.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What was lost, not matched, or peculiar, counted. Nothing is dropped silently.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is described in Counts::ALL")]
pub struct Counts {
    pub events: u64,
    pub requests: u64,
    pub lost: u64,
    pub rejected: u64,
    pub orphaned: u64,
    pub before_start: u64,
    pub unanswered: u64,
    pub ambiguous: u64,
    pub reused: u64,
    pub recovered: u64,
    pub requeued: u64,
    pub partially_completed: u64,
    pub merged: u64,
    pub queue_time_missed: u64,
    pub out_of_order: u64,
    pub unsorted: u64,
    pub own: u64,
    pub unwritten: u64,
}

/// A count: its key in the footer, its meaning, and the field.
type CountEntry =
    (&'static str, &'static str, fn(&Counts) -> u64, for<'a> fn(&'a mut Counts) -> &'a mut u64);

macro_rules! count {
    ($field:ident, $meaning:expr) => {
        (stringify!($field), $meaning, |c: &Counts| c.$field, |c: &mut Counts| &mut c.$field)
    };
}

impl Counts {
    /// Every count.
    pub const ALL: &'static [CountEntry] = &[
        count!(events, "events that the rows were made of"),
        count!(requests, "rows"),
        count!(
            lost,
            "events that the tracer had no room for or did not see, lost answers (`reused`) among them"
        ),
        count!(rejected, "lines or records that were not understood"),
        count!(orphaned, "answers to something that was never seen to be asked: rows too"),
        count!(
            before_start,
            "requests from before the trace began, whose beginning is not in it: rows too"
        ),
        count!(
            unanswered,
            "requests whose answer is not in the trace: in flight at its end, or lost (`reused`); rows too"
        ),
        count!(
            ambiguous,
            "pairings in which more than one candidate fitted equally (streams without identity)"
        ),
        count!(
            reused,
            "identities that came again before their answer, which is therefore lost: completed_by_ns bounds it"
        ),
        count!(
            recovered,
            "steps that the tracer's programs did not see, and a second source did (process 1, by perf)"
        ),
        count!(requeued, "times that a driver gave a request back"),
        count!(partially_completed, "answers for a part of a request"),
        count!(merged, "requests and bios that became a part of another"),
        count!(
            queue_time_missed,
            "requests whose time of queueing was not handed over: queued_ns is null"
        ),
        count!(out_of_order, "events that came after a later one of the same source"),
        count!(unsorted, "rows that stand after a row that arrived later"),
        count!(own, "rows made by lbolt itself"),
        count!(unwritten, "requests for which there was no room on the disk"),
    ];

    /// Adds those of another part of the same trace.
    pub fn add(&mut self, other: &Self) {
        for (_, _, get, field) in Self::ALL {
            *field(self) += get(other);
        }
    }
}

/// Where rows come from, and what is missing from them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// `capture`, `import:FORMAT`, `simulate`, `measure` or `replay`.
    pub origin: String,
    /// The clock of the source: `CLOCK_MONOTONIC`, `wall clock`, `ticks of 1/60 s`, ….
    pub clock: String,
    /// How sends and receives were matched: `by identity`, `by place` (inexact), or
    /// `in one record`.
    pub matching: String,
    /// The moment of time zero in ns since 1970 (UTC), where it is known.
    pub started_unix_ns: Option<i64>,
    /// What was lost, not matched, or peculiar.
    pub counts: Counts,
    /// Anything else that a reader should know, by key: `cost.…`, `source`, ….
    pub notes: BTreeMap<String, String>,
}

impl Provenance {
    /// As key-value pairs of a footer.
    pub fn to_footer(&self) -> BTreeMap<String, String> {
        let mut footer = BTreeMap::from([
            ("lbolt.origin".to_owned(), self.origin.clone()),
            ("lbolt.clock".to_owned(), self.clock.clone()),
            ("lbolt.matching".to_owned(), self.matching.clone()),
        ]);
        if self.counts.unsorted == 0 {
            footer.insert("lbolt.sorted_by".to_owned(), "arrival".to_owned());
        }
        if let Some(ns) = self.started_unix_ns {
            footer.insert("lbolt.started_unix_ns".to_owned(), ns.to_string());
        }
        for (name, _, get, _) in Counts::ALL {
            footer.insert(format!("lbolt.count.{name}"), get(&self.counts).to_string());
        }
        for (key, value) in &self.notes {
            footer.insert(format!("lbolt.note.{key}"), value.clone());
        }
        footer
    }

    /// From a footer; what is not there stays at its default.
    pub fn from_footer(footer: &BTreeMap<String, String>) -> Self {
        let text = |key: &str| footer.get(key).cloned().unwrap_or_default();
        let mut found = Self {
            origin: text("lbolt.origin"),
            clock: text("lbolt.clock"),
            matching: text("lbolt.matching"),
            started_unix_ns: footer.get("lbolt.started_unix_ns").and_then(|ns| ns.parse().ok()),
            ..Self::default()
        };
        for (name, _, _, field) in Counts::ALL {
            let count = footer.get(&format!("lbolt.count.{name}"));
            *field(&mut found.counts) = count.and_then(|c| c.parse().ok()).unwrap_or(0);
        }
        let notes = footer.iter().filter_map(|(key, value)| {
            Some((key.strip_prefix("lbolt.note.")?.to_owned(), value.clone()))
        });
        found.notes = notes.collect();
        found
    }
}

/// The footer's part of docs/records.md.
pub(super) fn describe(page: &mut String) {
    page.push_str(
        "\nThe footer says where the rows come from (`lbolt.origin`, `lbolt.clock`, `lbolt.matching`, \
         `lbolt.started_unix_ns`), whether they are sorted by arrival (`lbolt.sorted_by`; the first time known of each), and counts:\n\n\
         | key | what |\n| --- | --- |\n",
    );
    for (name, meaning, _, _) in Counts::ALL {
        let _ = writeln!(page, "| lbolt.count.{name} | {meaning} |");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footer_brings_back_what_was_said() {
        let mut written = Provenance {
            origin: "import:msr".into(),
            clock: "wall clock".into(),
            matching: "in one record".into(),
            started_unix_ns: Some(-5),
            ..Provenance::default()
        };
        for (position, (_, _, _, field)) in Counts::ALL.iter().enumerate() {
            *field(&mut written.counts) = position as u64 + 1;
        }
        written.notes.insert("source".into(), "x".into());
        assert_eq!(Provenance::from_footer(&written.to_footer()), written);
        let mut twice = written.counts;
        twice.add(&written.counts);
        assert_eq!(twice.own, 2 * written.counts.own);
    }
}
