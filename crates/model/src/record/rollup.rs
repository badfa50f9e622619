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

pub use reader::RollupFile;
pub use writer::RollupWriter;

use super::column::{Column, Kind, Record, column};
use crate::histogram::{Buckets, Store, eighth_of, middle_of};
use crate::named::named;
use crate::record::{Op, RecordError};
use arrow_array::PrimitiveArray;
use arrow_array::types::{Int64Type, UInt64Type};
use reader::{Cells, Lists, Source, Texts, Values, Words};

/// Columns of words, which repeat.
fn words() -> Vec<&'static str> {
    let columns = Rollup::columns().into_iter();
    columns.filter(|column| column.kind == Kind::Text).map(|column| column.name).collect()
}

named! {
    /// What a row is of.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Counted {
        /// Requests that arrived in the time, by device, operation, role and file system.
        #[default]
        Requests = "requests",
        /// Calls that make files durable and began in the time, by kind, role and file system.
        Calls = "calls",
        /// Waits of a role, of what is waited for.
        Waits = "waits",
        /// What a role lost to a cause.
        Lost = "lost",
        /// What the kernel counts of a device.
        Disk = "disk",
        /// Requests for a file.
        File = "file",
        /// Requests of a class: by size, or by origin.
        Class = "class",
        /// Times in which a role lost much to a cause at once: `count` of them, `sum_ns` long.
        Storm = "storm",
        /// The watch itself.
        Watch = "watch",
    }
}

named! {
    /// For how long the rows of a key are added up.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum RollupLevel {
        /// They are as they were counted.
        #[default]
        Minute = "minute",
        /// By hours.
        Hour = "hour",
        /// By days.
        Day = "day",
    }
}

/// What is told of the watch itself and of a device by the kernel: values of `operation`.
pub mod operations {
    /// Of the watch: how long was watched (`sum_ns`).
    pub const WATCHED: &str = "watched";
    /// Of the watch: requests and bytes of its own, which are left out of all else.
    pub const OWN: &str = "own";
    /// Of the watch: events that were lost (`count`).
    pub const EVENTS_LOST: &str = "events lost";
    /// Of the watch: requests whose queueing is not known (`count`): times from their issue.
    pub const FROM_ISSUE: &str = "from issue";
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
    /// Of the watch: exports of metrics that failed (`count`).
    pub const NOT_EXPORTED: &str = "not exported";
    /// Of a device: time with requests at it (`sum_ns`).
    pub const BUSY: &str = "busy";
    /// Of a device: the sum over its requests of their time at it (`sum_ns`).
    pub const QUEUED: &str = "queued";
}

/// The kinds of columns: as a row's own, as it is lent, and in a batch that is read.
macro_rules! of_kind {
    (own word) => { Option<String> };
    (lent word) => { Option<&'a str> };
    (read word) => { Option<Words<'a>> };
    (own text) => { String };
    (lent text) => { &'a str };
    (read text) => { Texts<'a> };
    (own list) => { Vec<u64> };
    (lent list) => { &'a [u64] };
    (read list) => { Lists };
    (read counted) => { Values<'a, Counted> };
    ($_:ident counted) => { Counted };
    (read level) => { Option<Values<'a, RollupLevel>> };
    ($_:ident level) => { RollupLevel };
    (read count) => { PrimitiveArray<UInt64Type> };
    ($_:ident count) => { u64 };
    (read signed) => { PrimitiveArray<Int64Type> };
    ($_:ident signed) => { i64 };
    // A signed number that came later.
    (read later) => { Option<PrimitiveArray<Int64Type>> };
    ($_:ident later) => { i64 };
}

/// Declares the record: which columns are its key, and a row for each column: name, kind, meaning.
macro_rules! rollup {
    (
        key { $($key:ident: $key_kind:ident),* $(,)? }
        $($name:ident: $kind:ident = $why:literal;)*
    ) => {
        /// What a row is of, whenever.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "each field has its meaning in the row")]
        pub struct RollupKey {
            $(pub $key: of_kind!(own $key_kind)),*
        }

        /// A row.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Rollup {
            $(#[doc = $why] pub $name: of_kind!(own $kind)),*
        }

        /// A row that is lent.
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        pub struct RollupRow<'a> {
            $(#[doc = $why] pub $name: of_kind!(lent $kind)),*
        }

        impl Rollup {
            /// A row of a key, of nothing yet.
            pub fn of(key: RollupKey, from_unix_ns: i64, until_unix_ns: i64) -> Self {
                Self { from_unix_ns, until_unix_ns, $($key: key.$key,)* ..Self::default() }
            }

            /// What it is of, whenever.
            pub fn key(&self) -> RollupKey {
                RollupKey { $($key: self.$key.clone()),* }
            }

            /// The row, lent.
            pub fn lent(&self) -> RollupRow<'_> {
                RollupRow { $($name: self.$name.lent()),* }
            }
        }

        impl RollupRow<'_> {
            /// What it is of, whenever.
            pub fn key(&self) -> RollupKey {
                RollupKey { $($key: Lent::of(self.$key)),* }
            }

            /// The row as one's own.
            pub fn to_rollup(&self) -> Rollup {
                Rollup { $($name: Lent::of(self.$name)),* }
            }
        }

        impl Record for Rollup {
            const SCHEMA: &'static str = "lbolt.rollup/1";

            fn columns() -> Vec<Column<Self>> {
                vec![$(column!(Rollup, $name: of_kind!(own $kind), $why)),*]
            }
        }

        /// The columns of a batch.
        struct Batch<'a> {
            $($name: of_kind!(read $kind)),*
        }

        impl<'a> Batch<'a> {
            fn of(source: &Source<'a>) -> Result<Self, RecordError> {
                Ok(Self { $($name: Cells::of(source, stringify!($name))?),* })
            }

            #[inline]
            fn row(&self, place: usize) -> RollupRow<'_> {
                RollupRow { $($name: self.$name.at(place)),* }
            }
        }
    };
}

rollup! {
    key {
        host: word, run: word, part: word, counted: counted, device: word, operation: text,
        role: word, cgroup: word, file_system: word, file: word, cause: word, class: word,
        model: word,
    }
    host: word = "the host; null: this machine, by an earlier version";
    run: word = "watch: the kernel's boot_id; trace: its run";
    part: word = "part of a trace, such as 2/8";
    level: level = "minute, hour or day: what rows are added up by";
    from_unix_ns: signed = "start of the time, by the clock of that moment";
    until_unix_ns: signed =
        "end of the time; requests count where they arrived, calls and waits where they began";
    counted: counted =
        "what the row counts: requests, calls, waits (of a role), lost (time a role lost to a \
         cause), storm (times in which a role lost much at once), disk (the kernel's counters of a \
         device), file (requests for a file), class (requests by size or origin) or watch (the \
         watch itself)";
    device: word = "name of the device";
    operation: text =
        "read, write, flush or discard; calls and waits: their kind; disk: also busy and queued; \
         watch: the item";
    role: word = "the role that requested, called, waited or lost; null: all roles";
    cgroup: word = "cgroup of the role, as unit in processes; null: several, or unknown";
    file_system: word = "device of the file system; null: none or unknown";
    file: word = "file: its name";
    cause: word =
        "lost: the role whose requests or CPU time were waited for, or device, held, throttled, \
         stolen or unknown in angle brackets";
    class: word =
        "class: grouping and group, such as size to 8k or origin writeback; null: all requests";
    model: word = "device model by its manufacturer; null: unknown";
    count: count =
        "items; the mean time of requests and calls is sum_ns by the sum of counts: unknown times \
         are in neither";
    bytes: count = "requests: their bytes";
    failed: count = "requests and calls: number of failures";
    sum_ns: count = "sum of the times";
    min_ns: count = "minimum and maximum of the times";
    max_ns: count = "minimum and maximum of the times";
    lost_ns: signed = "lost: time beyond calm, summed over minutes; negative by chance";
    estimated_ns: later = "the part of lost_ns that is an estimate, for lack of calm";
    lost_us2: later = "variance of lost_ns in µs²; the 95 % interval is ±1.96 times its root";
    calm_count: later = "waits: comparable waits in calm";
    calm_ns: later = "total time of the waits in calm";
    buckets: list =
        "histogram of the times: buckets that are not empty; of hours, days, classes and \
         files one per eighth of an octave";
    counts: list = "number in each bucket";
}

/// A value of a row that can be lent.
trait Lent {
    type Lent<'a>
    where
        Self: 'a;
    fn lent(&self) -> Self::Lent<'_>;
    fn of(lent: Self::Lent<'_>) -> Self;
}

macro_rules! lent {
    ($own:ty, $lent:ty, |$value:ident| $lend:expr, |$back:ident| $take:expr) => {
        impl Lent for $own {
            type Lent<'a> = $lent;

            fn lent(&self) -> Self::Lent<'_> {
                let $value = self;
                $lend
            }

            fn of($back: Self::Lent<'_>) -> Self {
                $take
            }
        }
    };
}
lent!(Option<String>, Option<&'a str>, |word| word.as_deref(), |word| word.map(str::to_owned));
lent!(String, &'a str, |text| text, |text| text.to_owned());
lent!(Vec<u64>, &'a [u64], |list| list, |list| list.to_vec());
lent!(u64, u64, |number| *number, |number| number);
lent!(i64, i64, |number| *number, |number| number);
lent!(Counted, Counted, |value| *value, |value| value);
lent!(RollupLevel, RollupLevel, |value| *value, |value| value);

impl RollupRow<'_> {
    /// Bytes that were read or written: a discard moves none.
    pub fn moved_bytes(&self) -> u64 {
        if self.operation == Op::Discard.name() { 0 } else { self.bytes }
    }

    /// How many of its items are known to have taken how long: as many as are in its histogram. Of
    /// a row without one all, or none where the sum of their times is nothing either; what the
    /// kernel counts of a device is in milliseconds, and may be less.
    pub fn timed(&self) -> u64 {
        match self.counts {
            [] if self.sum_ns == 0 && self.counted != Counted::Disk => 0,
            [] => self.count,
            counts => counts.iter().fold(0, |sum, count| sum.saturating_add(*count)),
        }
    }
}

impl Rollup {
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
        self.add(&other.lent());
    }

    /// The same of a row that is lent, whatever its key.
    pub fn add(&mut self, other: &RollupRow<'_>) {
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
        let theirs = other.buckets.iter().copied().zip(other.counts.iter().copied());
        if self.counted(theirs.clone()) {
            return;
        }
        let mine = self.buckets.iter().copied().zip(self.counts.iter().copied());
        (self.buckets, self.counts) = added(mine.collect(), theirs.collect()).into_iter().unzip();
    }

    /// Counts what falls into buckets that are there: of a sum of many rows most do. False, and
    /// nothing is counted, where one is not there.
    fn counted(&mut self, theirs: impl Iterator<Item = (u64, u64)> + Clone) -> bool {
        let place = |from: usize, bucket: u64| {
            let left = self.buckets.get(from..)?;
            Some(from + left.iter().position(|known| *known >= bucket)?)
                .filter(|place| self.buckets[*place] == bucket)
        };
        let mut from = 0;
        let are_there = theirs.clone().all(|(bucket, _)| {
            let found = place(from, bucket);
            from = found.unwrap_or(from);
            found.is_some()
        });
        if !are_there {
            return false;
        }
        from = 0;
        for (bucket, count) in theirs {
            while self.buckets.get(from).is_some_and(|known| *known < bucket) {
                from += 1;
            }
            if let Some(sum) = self.counts.get_mut(from) {
                *sum = sum.saturating_add(count);
            }
        }
        true
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
