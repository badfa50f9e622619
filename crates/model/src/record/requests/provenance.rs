//! What a file of requests says of itself: where the rows come from, and everything that is
//! missing from them or doubtful in them. Every later figure carries it along.

use crate::record::Quantity;
use std::collections::{BTreeMap, BTreeSet};

/// A count: its key in the footer, its meaning, and the field.
type CountEntry =
    (&'static str, &'static str, fn(&Counts) -> u64, for<'a> fn(&'a mut Counts) -> &'a mut u64);

/// The counts, each with its meaning. The quantity of a count is called after it.
macro_rules! counts {
    ($($field:ident $meaning:literal;)*) => {
        /// What was lost, not matched, or peculiar, counted. Nothing is dropped silently.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Counts {
            $(#[doc = $meaning] pub $field: u64),*
        }

        impl Counts {
            /// Every count.
            pub const ALL: &'static [CountEntry] =
                &[$((stringify!($field), $meaning, |c| c.$field, |c| &mut c.$field)),*];
        }

        /// Every count as a quantity of the trace.
        pub(in crate::record) const COUNTED: &[Quantity] = &[$(Quantity {
            name: concat!(stringify!($field), "_count"),
            unit: "1",
            meaning: $meaning,
            subjects: &[&["run"]],
            command: "record, import, --trace",
            better: None,
        }),*];
    };
}

counts! {
    events "events that the rows were made of";
    requests "rows";
    lost
        "events that the tracer had no space for or did not see, lost completions (`reused`) \
         included";
    rejected "lines or records that lbolt did not understand";
    orphaned "completions whose request was never seen; rows too";
    before_start "requests that began before the trace; rows too";
    unanswered
        "requests without a completion in the trace: in flight at its end, or lost (`reused`); \
         rows too";
    ambiguous "pairings with several equally good candidates (streams without identity)";
    reused
        "identities used again before their completion was seen, which is lost: completed_by_ns \
         bounds it";
    recovered
        "steps that no program saw, known from ftrace or from what the kernel notes (process 1)";
    joined_by_bio "rows joined to the device above by the kernel's own event (block_bio_remap)";
    joined_by_place "rows joined to the device above by operation, place and time alone";
    not_joined
        "rows of a device under another one without a row above: requested of that device itself, \
         or by a driver for itself";
    requeued "times that a driver gave a request back";
    partially_completed "completions of a part of a request";
    merged "requests and bios that became part of another";
    queue_time_missed "requests whose queueing time was lost: queued_ns is null";
    out_of_order "events that came after a later event of the same source";
    unsorted "rows behind a row that arrived later";
    own "rows made by lbolt itself";
    unwritten "requests that did not fit on the disk";
}

impl Counts {
    /// Adds those of another part of the same trace.
    pub fn add(&mut self, other: &Self) {
        for (_, _, get, field) in Self::ALL {
            *field(self) += get(other);
        }
    }
}

/// Counts that files of earlier versions do not have.
const YOUNGER: [&str; 5] =
    ["before_start", "recovered", "joined_by_bio", "joined_by_place", "not_joined"];

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
    /// Counts that nothing tells, which are 0 there: another program wrote the file anew, without
    /// what the footer said or without some of the rows that it counts.
    pub unknown: BTreeSet<&'static str>,
    /// Anything else that a reader should know, by key: `cost.…`, `source`, ….
    pub notes: BTreeMap<String, String>,
}

/// The note of a trace's threshold in ns: requests that took less have no rows (`summed`).
pub const SLOWER_THAN: &str = "slower_than_ns";
/// The note of how many requests have no rows in an incident of a watch (`summed`).
pub const SUMMED: &str = "summed";

/// The note of what captured: by [`BPF`] calls and waits are told, too.
pub const METHOD: &str = "method";
/// The exact method.
pub const BPF: &str = "BPF";
/// The note of the devices that were named to a capture (`-d`), by the kernel's dev_t; without it
/// all devices were captured.
pub const NAMED_DEVICES: &str = "captured.devices";
/// Notes of losses begin so: what was lost there, or words that nobody knows how much.
const LOST: &str = "lost.";
/// The note of a trace whose capture was killed, with what is missing; and that of one of which the
/// calls and waits were saved.
pub const KILLED: &str = "killed";
/// See [`KILLED`].
pub const CALLS_SAVED: &str = "killed.calls";

impl Provenance {
    /// Whether the trace would have calls that make files durable and waits of threads, had there
    /// been any: other programs do not tell them, and neither does perf.
    pub fn tells_calls(&self) -> bool {
        match self.notes.contains_key(KILLED) {
            true => self.notes.contains_key(CALLS_SAVED),
            false => self.notes.get(METHOD).is_some_and(|method| method == BPF),
        }
    }

    /// Whether some devices alone were captured, as they were named, and no event was lost: then a
    /// request that is not in the trace is one of another device.
    pub fn is_whole_of_named_devices(&self) -> bool {
        let has = |note: &str| self.notes.contains_key(note);
        let is_uncounted = |(note, lost): (&String, &String)| {
            note.starts_with(LOST) && lost.parse::<u64>().is_err()
        };
        let is_whole = self.knows("lost") && self.counts.lost == 0;
        has(NAMED_DEVICES) && is_whole && !has(KILLED) && !self.notes.iter().any(is_uncounted)
    }

    /// The response time below which requests have no rows, in ns; none where all have.
    pub fn slower_than_ns(&self) -> Option<u64> {
        self.notes.get(SLOWER_THAN)?.parse().ok()
    }

    /// How many requests of an incident have no rows, because they were summed up; 0: all have.
    pub fn summed_count(&self) -> u64 {
        self.notes.get(SUMMED).and_then(|count| count.parse().ok()).unwrap_or(0)
    }

    /// As key-value pairs of a footer.
    pub fn to_footer(&self) -> BTreeMap<String, String> {
        let mut footer = BTreeMap::from([
            ("lbolt.origin".to_owned(), self.origin.clone()),
            ("lbolt.clock".to_owned(), self.clock.clone()),
            ("lbolt.matching".to_owned(), self.matching.clone()),
        ]);
        if self.knows("unsorted") && self.counts.unsorted == 0 {
            footer.insert("lbolt.sorted_by".to_owned(), "arrival".to_owned());
        }
        if let Some(ns) = self.started_unix_ns {
            footer.insert("lbolt.started_unix_ns".to_owned(), ns.to_string());
        }
        for (name, _, get, _) in Counts::ALL.iter().filter(|(name, ..)| self.knows(name)) {
            footer.insert(format!("lbolt.count.{name}"), get(&self.counts).to_string());
        }
        for (key, value) in &self.notes {
            footer.insert(format!("lbolt.note.{key}"), value.clone());
        }
        footer
    }

    /// From a footer; what is not there is unknown.
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
            match count.and_then(|count| count.parse().ok()) {
                Some(count) => *field(&mut found.counts) = count,
                // The version that wrote it counted them among `orphaned` and `reused`, or joined
                // nothing.
                None if YOUNGER.contains(name) && footer.contains_key("lbolt.count.reused") => {}
                None => _ = found.unknown.insert(name),
            }
        }
        let notes = footer.iter().filter_map(|(key, value)| {
            Some((key.strip_prefix("lbolt.note.")?.to_owned(), value.clone()))
        });
        found.notes = notes.collect();
        found
    }

    /// Holds what the footer counts against the rows that are there: a file from which some were
    /// taken, and to which the footer was copied, tells of others.
    pub(super) fn of_rows(mut self, rows: u64) -> Self {
        if !self.knows("requests") || self.counts.requests != rows {
            self.unknown = Counts::ALL.iter().map(|(name, ..)| *name).collect();
            self.counts = Counts::default();
            self.tell("requests", rows);
        }
        self
    }

    /// Whether a count is told.
    pub fn knows(&self, count: &str) -> bool {
        !self.unknown.contains(count)
    }

    /// A count that was not told, found by counting.
    pub fn tell(&mut self, count: &str, value: u64) {
        if self.unknown.remove(count)
            && let Some((_, _, _, field)) = Counts::ALL.iter().find(|(name, ..)| *name == count)
        {
            *field(&mut self.counts) = value;
        }
    }

    /// Adds what is known of the rows of another trace: counts are summed, one that either does
    /// not tell is not known. Notes are the first one's.
    pub fn put_beside(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.unknown.extend(&other.unknown);
        for (own, theirs) in [
            (&mut self.origin, &other.origin),
            (&mut self.clock, &other.clock),
            (&mut self.matching, &other.matching),
        ] {
            if own != theirs {
                "several".clone_into(own);
            }
        }
        self.started_unix_ns = None;
    }

    /// The origin in words.
    pub fn origin_name(&self) -> &str {
        if self.origin.is_empty() { "unknown" } else { &self.origin }
    }
}

/// The footer's part of docs/records.md.
pub(super) fn describe(page: &mut String) {
    page.push_str(
        "\nThe footer names the source of the rows (`lbolt.origin`, `lbolt.clock`, \
         `lbolt.matching`, `lbolt.started_unix_ns`). `lbolt.sorted_by` says whether the rows are \
         sorted by arrival, the first known time of each. The counts `lbolt.count.NAME` are the \
         quantities `NAME_count` of `record`, explained below.\n\n\
         lbolt also reads a file that another program filtered or rewrote: compressed or not \
         (zstd, Snappy, LZ4, gzip), with columns in any order and others among them, numbers of \
         any type that holds them, words as plain text. What the footer does not say is unknown, \
         never zero: counts that are missing or belong to another number of rows, names of \
         devices, the order of the rows (lbolt then checks each).\n",
    );
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
        assert_eq!(written.clone().of_rows(written.counts.requests), written);
    }

    #[test]
    fn a_request_that_is_not_there_is_of_another_device_only_if_nothing_else_explains_it() {
        let of = |notes: &[&str], lost: u64| {
            let notes = notes.iter().map(|note| ((*note).to_owned(), "8:0".to_owned()));
            let counts = Counts { lost, ..Counts::default() };
            let told = Provenance { counts, notes: notes.collect(), ..Provenance::default() };
            told.is_whole_of_named_devices()
        };
        assert!(of(&[NAMED_DEVICES], 0));
        assert!(!of(&[], 0), "all devices are captured");
        assert!(!of(&[NAMED_DEVICES], 1), "it may be one that was lost");
        assert!(!of(&[NAMED_DEVICES, "lost.new_cpu.1"], 0), "nobody knows how many");
        assert!(!of(&[NAMED_DEVICES, KILLED], 0));
    }

    #[test]
    fn what_a_footer_does_not_tell_is_unknown_and_never_zero() {
        let mut lost = Provenance::from_footer(&BTreeMap::new()).of_rows(7);
        assert_eq!(lost.unknown.len(), Counts::ALL.len() - 1);
        assert!(!lost.knows("lost") && lost.knows("requests") && lost.counts.requests == 7);
        assert_eq!(lost.origin_name(), "unknown");
        let footer = lost.to_footer();
        assert!(
            !footer.contains_key("lbolt.count.lost") && !footer.contains_key("lbolt.sorted_by")
        );
        lost.tell("unanswered", 3);
        assert!(lost.knows("unanswered") && lost.counts.unanswered == 3);
        lost.tell("unanswered", 4);
        assert_eq!(lost.counts.unanswered, 3, "what is told is not counted again");
        // Of 100 rows 7 were kept, and the footer was copied.
        let counts = Counts { requests: 100, lost: 0, events: 300, ..Counts::default() };
        let whole = Provenance { origin: "capture".into(), counts, ..Provenance::default() };
        let kept = Provenance::from_footer(&whole.to_footer()).of_rows(7);
        assert!(!kept.knows("lost") && kept.counts.requests == 7 && kept.origin == "capture");
    }
}
