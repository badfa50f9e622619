//! What is kept of a time: counts, times and losses by what they are of, on which host and in which
//! run. The rows of a second are sent, those of a minute are kept, and they are put together by
//! hours and days: rows of one key are added up, whatever the span. All sums are integers, so that
//! they are the same in any order ([`Rollup::merge`] is the one place where rows are added).
//!
//! *Rollup* is what databases of time series call it.
//!
//! Non-goals: which spans are kept where (`crate::history`); single requests (`requests`).

mod reader;
mod writer;

pub use reader::{RollupFile, RollupRow};
pub use writer::RollupWriter;

use super::column::{Column, Record, column};
use crate::histogram::{Buckets, Store, eighth_of, middle_of};
use crate::named::named;

/// Columns of words, which repeat.
const WORDS: [&str; 13] = [
    "host",
    "run",
    "part",
    "level",
    "counted",
    "device",
    "operation",
    "role",
    "file_system",
    "file",
    "cause",
    "class",
    "model",
];

/// What a row is of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Counted {
    /// Requests that arrived in the time, by device, operation, role and file system.
    #[default]
    Requests,
    /// Calls that make files durable and began in the time, by kind, role and file system.
    Calls,
    /// Waits of a role, of what is waited for.
    Waits,
    /// What a role lost to a cause.
    Lost,
    /// What the kernel counts of a device.
    Disk,
    /// Requests for a file.
    File,
    /// Requests of a class: by size, or by origin.
    Class,
    /// Times in which a role lost much to a cause at once: `count` of them, `sum_ns` long.
    Storm,
    /// The watch itself.
    Watch,
}

/// For how long the rows of a key are added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RollupLevel {
    /// They are as they were counted.
    #[default]
    Minute,
    /// By hours.
    Hour,
    /// By days.
    Day,
}

named!(RollupLevel { Minute "minute", Hour "hour", Day "day" });

named!(Counted {
    Requests "requests",
    Calls "calls",
    Waits "waits",
    Lost "lost",
    Disk "disk",
    File "file",
    Class "class",
    Storm "storm",
    Watch "watch"
});

/// What is told of the watch itself and of a device by the kernel: values of `operation`.
pub mod operations {
    /// Of the watch: how long was watched (`sum_ns`).
    pub const WATCHED: &str = "watched";
    /// Of the watch: requests and bytes of its own, which are left out of all else.
    pub const OWN: &str = "own";
    /// Of the watch: events that were lost (`count`).
    pub const EVENTS_LOST: &str = "events lost";
    /// Of the watch: the time of all CPUs, and what of it they were idle, or stolen (`sum_ns`).
    pub const CPUS: &str = "cpus";
    /// See [`CPUS`].
    pub const CPUS_IDLE: &str = "cpus idle";
    /// See [`CPUS`].
    pub const CPUS_STOLEN: &str = "cpus stolen";
    /// Of the watch: the clock was set forward, or back (`count`; by how much: `sum_ns`).
    pub const CLOCK_FORWARD: &str = "clock set forward";
    /// See [`CLOCK_FORWARD`].
    pub const CLOCK_BACK: &str = "clock set back";
    /// Of the watch: requests outstanding at a device now (`count`); nothing where none are.
    pub const OUTSTANDING: &str = "outstanding";
    /// Of the watch: times that could not be kept (`count` of rows, `sum_ns`).
    pub const NOT_KEPT: &str = "not kept";
    /// Of a device: time with requests at it (`sum_ns`).
    pub const BUSY: &str = "busy";
    /// Of a device: the sum over its requests of their time at it (`sum_ns`).
    pub const QUEUED: &str = "queued";
}

/// What a row is of, whenever.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct RollupKey {
    pub host: Option<String>,
    pub run: Option<String>,
    pub part: Option<String>,
    pub counted: Counted,
    pub device: Option<String>,
    pub operation: String,
    pub role: Option<String>,
    pub file_system: Option<String>,
    pub file: Option<String>,
    pub cause: Option<String>,
    pub class: Option<String>,
    pub model: Option<String>,
}

/// A row.
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs, reason = "each field is described where its column is declared")]
pub struct Rollup {
    pub host: Option<String>,
    pub run: Option<String>,
    pub part: Option<String>,
    pub level: RollupLevel,
    pub from_unix_ns: i64,
    pub until_unix_ns: i64,
    pub counted: Counted,
    pub device: Option<String>,
    pub operation: String,
    pub role: Option<String>,
    pub file_system: Option<String>,
    pub file: Option<String>,
    pub cause: Option<String>,
    pub class: Option<String>,
    pub model: Option<String>,
    pub count: u64,
    pub bytes: u64,
    pub failed: u64,
    pub sum_ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub lost_ns: i64,
    pub estimated_ns: i64,
    pub lost_us2: i64,
    pub calm_count: i64,
    pub calm_ns: i64,
    pub buckets: Vec<u64>,
    pub counts: Vec<u64>,
}

impl Rollup {
    /// A row of a key, of nothing yet.
    pub fn of(key: RollupKey, from_unix_ns: i64, until_unix_ns: i64) -> Self {
        let RollupKey {
            host,
            run,
            part,
            counted,
            device,
            operation,
            role,
            file_system,
            file,
            cause,
            class,
            model,
        } = key;
        Self {
            host,
            run,
            part,
            from_unix_ns,
            until_unix_ns,
            counted,
            device,
            operation,
            role,
            file_system,
            file,
            cause,
            class,
            model,
            ..Self::default()
        }
    }

    /// What it is of, whenever.
    pub fn key(&self) -> RollupKey {
        RollupKey {
            host: self.host.clone(),
            run: self.run.clone(),
            part: self.part.clone(),
            counted: self.counted,
            device: self.device.clone(),
            operation: self.operation.clone(),
            role: self.role.clone(),
            file_system: self.file_system.clone(),
            file: self.file.clone(),
            cause: self.cause.clone(),
            class: self.class.clone(),
            model: self.model.clone(),
        }
    }

    /// Puts response times into their columns, in place of those that are there.
    pub fn set_responses<S: Store>(&mut self, responses: &Buckets<S>) {
        (self.buckets, self.counts) = responses.nonzero().unzip();
        self.sum_ns = responses.sum_ns();
        (self.min_ns, self.max_ns) = (responses.min_ns(), responses.max_ns());
    }

    /// Its response times; none where its columns are no histogram.
    pub fn responses<S: Store>(&self) -> Option<Buckets<S>> {
        let (buckets, counts) = (&self.buckets, &self.counts);
        Buckets::from_parts(buckets, counts, self.sum_ns, self.min_ns, self.max_ns)
    }

    /// Counts its times in 8 buckets an octave: percentiles of a long time are then read quickly,
    /// and within 7 %. The buckets are of the same numbers, one for each eighth.
    pub fn coarsen(&mut self) {
        let (buckets, counts) =
            (std::mem::take(&mut self.buckets), std::mem::take(&mut self.counts));
        for (bucket, count) in buckets.into_iter().zip(counts) {
            let middle = middle_of(eighth_of(bucket));
            match (self.buckets.last(), self.counts.last_mut()) {
                (Some(last), Some(sum)) if *last == middle => *sum = sum.saturating_add(count),
                _ => {
                    self.buckets.push(middle);
                    self.counts.push(count);
                }
            }
        }
    }

    /// Adds a row of the same key: its span, its counts and its times.
    pub fn merge(&mut self, other: &Self) {
        self.from_unix_ns = self.from_unix_ns.min(other.from_unix_ns);
        self.until_unix_ns = self.until_unix_ns.max(other.until_unix_ns);
        self.min_ns = match (self.counts.is_empty(), other.counts.is_empty()) {
            (_, true) => self.min_ns,
            (true, false) => other.min_ns,
            (false, false) => self.min_ns.min(other.min_ns),
        };
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.failed = self.failed.saturating_add(other.failed);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.lost_ns = self.lost_ns.saturating_add(other.lost_ns);
        self.estimated_ns = self.estimated_ns.saturating_add(other.estimated_ns);
        self.lost_us2 = self.lost_us2.saturating_add(other.lost_us2);
        self.calm_count = self.calm_count.saturating_add(other.calm_count);
        self.calm_ns = self.calm_ns.saturating_add(other.calm_ns);
        let mine = self.buckets.iter().copied().zip(self.counts.iter().copied());
        let theirs = other.buckets.iter().copied().zip(other.counts.iter().copied());
        (self.buckets, self.counts) = added(mine.collect(), theirs.collect()).into_iter().unzip();
    }
}

/// The counts of two lists of buckets, each in ascending order.
fn added(mine: Vec<(u64, u64)>, theirs: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    let mut both = Vec::with_capacity(mine.len().max(theirs.len()));
    let (mut mine, mut theirs) = (mine.into_iter().peekable(), theirs.into_iter().peekable());
    while let (Some((a, counted_a)), Some((b, counted_b))) = (mine.peek(), theirs.peek()) {
        both.push(match a.cmp(b) {
            std::cmp::Ordering::Equal => (*a, counted_a.saturating_add(*counted_b)),
            std::cmp::Ordering::Less => (*a, *counted_a),
            std::cmp::Ordering::Greater => (*b, *counted_b),
        });
        let (is_mine, is_theirs) = (a <= b, b <= a);
        if is_mine {
            mine.next();
        }
        if is_theirs {
            theirs.next();
        }
    }
    both.extend(mine);
    both.extend(theirs);
    both
}

impl Record for Rollup {
    const SCHEMA: &'static str = "lbolt.rollup/1";

    fn columns() -> Vec<Column<Self>> {
        vec![
            column!(Rollup, host: Option<String>, "the host; null: this machine, written by an \
                earlier version"),
            column!(Rollup, run: Option<String>, "watch: the kernel's boot_id; trace: its run"),
            column!(Rollup, part: Option<String>, "part of a trace rolled up in parts, such as \
                2/8"),
            column!(Rollup, level: RollupLevel, "minute, hour or day: the time that rows are added \
                up for"),
            column!(Rollup, from_unix_ns: i64, "start of the time, by the clock of that moment"),
            column!(Rollup, until_unix_ns: i64, "end of the time; requests count where they \
                arrived, calls and waits where they began"),
            column!(Rollup, counted: Counted, "what the row counts: requests, calls, waits (of a \
                role), lost (time a role lost to a cause), storm (times in which a role lost much \
                at once), disk (the kernel's counters of a device), file (requests for a file), \
                class (requests by size or origin) or watch (the watch itself)"),
            column!(Rollup, device: Option<String>, "name of the device"),
            column!(Rollup, operation: String, "read, write, flush or discard; calls and waits: \
                their kind; disk: also busy and queued; watch: the item"),
            column!(Rollup, role: Option<String>, "the role that requested, called, waited or \
                lost; null: all roles"),
            column!(Rollup, file_system: Option<String>, "device of the file system; null: none or \
                unknown"),
            column!(Rollup, file: Option<String>, "file: its name"),
            column!(Rollup, cause: Option<String>, "lost: the role whose requests were waited for, \
                or device, held, throttled, stolen or unknown in angle brackets"),
            column!(Rollup, class: Option<String>, "class: grouping and group, such as size to 8k \
                or origin writeback; null: all requests"),
            column!(Rollup, model: Option<String>, "device model by its manufacturer; null: \
                unknown"),
            column!(Rollup, count: u64, "number of items"),
            column!(Rollup, bytes: u64, "requests: their bytes"),
            column!(Rollup, failed: u64, "requests and calls: number of failures"),
            column!(Rollup, sum_ns: u64, "sum of the times"),
            column!(Rollup, min_ns: u64, "minimum and maximum of the times"),
            column!(Rollup, max_ns: u64, "minimum and maximum of the times"),
            column!(Rollup, lost_ns: i64, "lost: time beyond calm, summed over minutes; negative \
                by chance"),
            column!(Rollup, estimated_ns: i64, "the part of lost_ns that is an estimate, without \
                calm to compare with"),
            column!(Rollup, lost_us2: i64, "variance of lost_ns in µs²; the 95 % interval is ±1.96 \
                times its root"),
            column!(Rollup, calm_count: i64, "waits: comparable waits in calm"),
            column!(Rollup, calm_ns: i64, "total time of the waits in calm"),
            column!(Rollup, buckets: Vec<u64>, "histogram of the times: buckets that are not \
                empty; rows of hours, days and classes have one per eighth of an octave"),
            column!(Rollup, counts: Vec<u64>, "number in each bucket"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::SparseHistogram;
    use proptest::prelude::*;

    fn row(values: &[u64], from_unix_ns: i64) -> Rollup {
        let mut responses = SparseHistogram::default();
        values.iter().for_each(|value| responses.record(*value));
        let mut row = Rollup::of(RollupKey::default(), from_unix_ns, from_unix_ns + 60);
        row.set_responses(&responses);
        row.count = values.len() as u64;
        row
    }

    proptest! {
        #[test]
        fn rows_that_are_put_together_are_the_row_of_both_times(
            a in prop::collection::vec(1u64..10_000_000_000, 0..60),
            b in prop::collection::vec(1u64..10_000_000_000, 0..60),
        ) {
            let mut together = row(&a, 0);
            together.merge(&row(&b, 60));
            let all: Vec<u64> = a.iter().chain(&b).copied().collect();
            let whole = Rollup { until_unix_ns: 120, ..row(&all, 0) };
            prop_assert_eq!(&together, &whole);
            let responses: SparseHistogram = together.responses().unwrap();
            prop_assert_eq!(responses.count(), all.len() as u64);
            prop_assert_eq!(responses.max_ns(), all.iter().copied().max().unwrap_or(0));
        }
    }

    proptest! {
        /// Of hours and days: whether rows are added up before or after.
        #[test]
        fn coarser_rows_hold_as_many_and_their_percentiles_are_near(
            a in prop::collection::vec(1000u64..10_000_000_000, 1..200),
            b in prop::collection::vec(1000u64..10_000_000_000, 0..60),
        ) {
            let (fine, mut before, mut coarse) = (row(&a, 0), row(&a, 0), row(&a, 0));
            coarse.coarsen();
            for quantile in [0.5, 0.9, 0.99] {
                let of = |row: &Rollup| {
                    let responses: SparseHistogram = row.responses().unwrap();
                    (responses.count(), responses.quantile_ns(quantile).unwrap())
                };
                let ((count, exact), (coarse_count, near)) = (of(&fine), of(&coarse));
                prop_assert_eq!(count, coarse_count);
                prop_assert!((near as f64 / exact as f64 - 1.0).abs() < 0.07, "{exact} {near}");
            }
            prop_assert_eq!((coarse.sum_ns, coarse.max_ns), (fine.sum_ns, fine.max_ns));
            before.merge(&row(&b, 60));
            before.coarsen();
            let mut after = row(&b, 60);
            after.coarsen();
            coarse.merge(&after);
            prop_assert_eq!(&coarse, &before);
            before.coarsen();
            prop_assert_eq!(coarse, before);
        }
    }

    #[test]
    fn a_key_is_all_that_a_row_is_of() {
        let key = RollupKey {
            counted: Counted::Lost,
            device: Some("sda".into()),
            operation: "fsync".into(),
            role: Some("postgres: backend".into()),
            cause: Some("postgres: checkpointer".into()),
            host: Some("a".into()),
            run: Some("b".into()),
            part: Some("1/2".into()),
            ..RollupKey::default()
        };
        assert_eq!(Rollup::of(key.clone(), 1, 2).key(), key);
    }
}
