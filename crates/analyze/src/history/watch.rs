//! What is known of the watch itself: which times it saw, what it lost, what the clock did.

use model::record::{WatchedRow, operations};
use std::collections::BTreeMap;

/// Less between two times is how the watch goes on, and no gap.
const LEAST_GAP_NS: i64 = 2_000_000_000;

/// What the watch tells of itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Watch {
    /// By the begins of lines: what of their time was watched.
    by_interval: BTreeMap<i64, u64>,
    /// The times that were watched: end by begin.
    times: BTreeMap<i64, i64>,
    /// How long was watched in all.
    pub(super) watched_ns: u64,
    /// Events that were lost.
    pub(super) events_lost: u64,
    /// How often the clock was set forward, and by how much in all.
    pub(super) forward: (u64, u64),
    /// How often it was set back, and by how much in all.
    pub(super) back: (u64, u64),
    /// Time whose rows could not be kept.
    pub(super) not_kept_ns: u64,
}

impl Watch {
    pub(super) fn take(&mut self, row: &WatchedRow<'_>, interval: i64) {
        match row.operation {
            operations::WATCHED => {
                *self.by_interval.entry(interval).or_default() += row.sum_ns;
                self.watched_ns += row.sum_ns;
                self.time(row.from_unix_ns, row.until_unix_ns);
            }
            operations::EVENTS_LOST => self.events_lost += row.count,
            operations::CLOCK_FORWARD => add(&mut self.forward, (row.count, row.sum_ns)),
            operations::CLOCK_BACK => add(&mut self.back, (row.count, row.sum_ns)),
            operations::NOT_KEPT => self.not_kept_ns += row.sum_ns,
            _ => {}
        }
    }

    fn time(&mut self, from: i64, until: i64) {
        let end = self.times.entry(from).or_insert(until);
        *end = (*end).max(until);
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (interval, ns) in other.by_interval {
            *self.by_interval.entry(interval).or_default() += ns;
        }
        other.times.into_iter().for_each(|(from, until)| self.time(from, until));
        self.watched_ns += other.watched_ns;
        self.events_lost += other.events_lost;
        add(&mut self.forward, other.forward);
        add(&mut self.back, other.back);
        self.not_kept_ns += other.not_kept_ns;
    }

    /// What was watched of a line's time.
    pub(super) fn watched_ns(&self, interval: i64) -> u64 {
        self.by_interval.get(&interval).copied().unwrap_or(0)
    }

    /// The begins of the lines that were watched.
    pub(super) fn intervals(&self) -> impl Iterator<Item = i64> + '_ {
        self.by_interval.keys().copied()
    }

    /// From when until when it watched; none where it did not.
    pub(super) fn span(&self) -> Option<(i64, i64)> {
        Some((*self.times.keys().next()?, *self.times.values().max()?))
    }

    /// The times between its begin and its end in which it did not watch.
    pub(super) fn gaps(&self) -> Vec<(i64, i64)> {
        let mut gaps = Vec::new();
        let mut end: Option<i64> = None;
        for (from, until) in &self.times {
            if let Some(end) = end.filter(|end| *from - end >= LEAST_GAP_NS) {
                gaps.push((end, *from));
            }
            end = Some(end.unwrap_or(*until).max(*until));
        }
        gaps
    }
}

fn add(sum: &mut (u64, u64), more: (u64, u64)) {
    *sum = (sum.0 + more.0, sum.1 + more.1);
}
