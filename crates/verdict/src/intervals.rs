//! Times of threads in the order of their begins: calls, and waits.
//!
//! Non-goals: what is waited for meanwhile.

use model::record::{Call, JournalUse, Wait};
use std::ops::Range;

/// A time with both ends.
pub(super) trait Interval: Clone {
    fn begin_ns(&self) -> i64;
    fn end_ns(&self) -> i64;
}

impl Interval for Call {
    fn begin_ns(&self) -> i64 {
        self.begin_ns
    }
    /// One whose end is not known has none.
    fn end_ns(&self) -> i64 {
        self.end_ns.unwrap_or(i64::MIN)
    }
}

impl Interval for Wait {
    fn begin_ns(&self) -> i64 {
        self.begin_ns
    }
    fn end_ns(&self) -> i64 {
        self.end_ns
    }
}

/// A journal is filled by what was written into it this long before: until the next commit but
/// one, where they come every five seconds.
const FILLS_NS: i64 = 10_000_000_000;

/// As long as it fills the journal.
impl Interval for JournalUse {
    fn begin_ns(&self) -> i64 {
        self.begin_ns
    }
    fn end_ns(&self) -> i64 {
        self.end_ns.saturating_add(FILLS_NS)
    }
}

/// All of a trace.
#[derive(Debug, Default)]
pub(super) struct Intervals<T> {
    pub(super) all: Vec<T>,
    /// Until when each of them, and those before, went on.
    ended_until_ns: Vec<i64>,
}

impl<T: Interval> Intervals<T> {
    pub(super) fn new(mut all: Vec<T>) -> Self {
        all.sort_by_key(Interval::begin_ns);
        let ended_until_ns = all.iter().scan(i64::MIN, |until_ns, one| {
            *until_ns = (*until_ns).max(one.end_ns());
            Some(*until_ns)
        });
        Self { ended_until_ns: ended_until_ns.collect(), all }
    }

    /// Those that begin in a time or are under way at its begin.
    pub(super) fn of(&self, time_ns: &Range<i64>) -> Vec<T> {
        let first = self.ended_until_ns.partition_point(|until_ns| *until_ns <= time_ns.start);
        let of = self.all.iter().skip(first).take_while(|one| one.begin_ns() < time_ns.end);
        of.filter(|one| one.begin_ns() >= time_ns.start || one.end_ns() > time_ns.start)
            .cloned()
            .collect()
    }

    /// When the last of those ends that begin before a moment.
    pub(super) fn end_ns(&self, before_ns: i64) -> Option<i64> {
        let count = self.all.partition_point(|one| one.begin_ns() < before_ns);
        self.ended_until_ns.get(count.checked_sub(1)?).copied()
    }

    /// When the first one begins that begins at a moment or later.
    pub(super) fn next_ns(&self, from_ns: i64) -> Option<i64> {
        let next = self.all.partition_point(|one| one.begin_ns() < from_ns);
        self.all.get(next).map(Interval::begin_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_a_time_begin_in_it_or_go_on() {
        let call = |begin_ns, end_ns| Call { begin_ns, end_ns: Some(end_ns), ..Call::default() };
        let calls = Intervals::new(vec![
            call(0, 500),
            call(10, 20),
            call(90, 100),
            call(100, 101),
            call(199, 300),
            call(200, 201),
        ]);
        let begins = |time_ns: Range<i64>| {
            calls.of(&time_ns).iter().map(|call| call.begin_ns).collect::<Vec<_>>()
        };
        assert_eq!(begins(100..200), [0, 100, 199]);
        assert_eq!(begins(0..100), [0, 10, 90]);
        assert_eq!(begins(500..900), Vec::<i64>::new());
        assert_eq!((calls.next_ns(101), calls.next_ns(201)), (Some(199), None));
        let ends = [0, 1, 100, 200].map(|before_ns| calls.end_ns(before_ns));
        assert_eq!(ends, [None, Some(500), Some(500), Some(500)]);
    }
}
