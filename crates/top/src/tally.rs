//! Sums of one key: counts, bytes, times, and the histogram of response times.
//!
//! Non-goals: whose they are (`table`).

use model::histogram::{Buckets, Store};
use model::record::{Counted, Rollup};

/// The buckets that hold something, in ascending order: small for thousands of keys, and exact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sorted(Vec<(u16, u32)>);

impl Store for Sorted {
    const WITHIN_PERCENT: f64 = 0.4;

    fn add(&mut self, bucket: usize, count: u64) {
        let bucket = u16::try_from(bucket).unwrap_or(u16::MAX);
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        // A row's buckets ascend, so most are put at the end.
        if self.0.last().is_none_or(|(last, _)| *last < bucket) {
            self.0.push((bucket, count));
            return;
        }
        match self.0.binary_search_by_key(&bucket, |(known, _)| *known) {
            Ok(place) => self.0[place].1 = self.0[place].1.saturating_add(count),
            Err(place) => self.0.insert(place, (bucket, count)),
        }
    }

    fn nonzero(&self) -> impl Iterator<Item = (usize, u64)> {
        self.0.iter().map(|(bucket, count)| (usize::from(*bucket), u64::from(*count)))
    }
}

/// Response times.
pub(crate) type Responses = Buckets<Sorted>;

/// The sums.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    /// Those of which it is known how long they took.
    pub(crate) timed: u64,
    pub(crate) bytes: u64,
    /// Those of them that were read or written: a discard moves none.
    pub(crate) moved_bytes: u64,
    pub(crate) failed: u64,
    pub(crate) sum_ns: u64,
    pub(crate) max_ns: u64,
    pub(crate) lost_ns: f64,
    pub(crate) responses: Responses,
}

impl Tally {
    /// Adds a row.
    pub(crate) fn add(&mut self, row: &Rollup) {
        // A file's are counted coarsely: enough for its mean, and not for percentiles.
        let is_fine = |row: &&Rollup| !row.counts.is_empty() && row.counted != Counted::File;
        let responses = Some(row).filter(is_fine).and_then(Rollup::responses);
        self.merge(&Self {
            count: row.count,
            timed: row.lent().timed(),
            bytes: row.bytes,
            moved_bytes: row.lent().moved_bytes(),
            failed: row.failed,
            sum_ns: row.sum_ns,
            max_ns: row.max_ns,
            lost_ns: row.lost_ns as f64,
            responses: responses.unwrap_or_default(),
        });
    }

    /// Adds the sums of another.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.timed = self.timed.saturating_add(other.timed);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.moved_bytes = self.moved_bytes.saturating_add(other.moved_bytes);
        self.failed = self.failed.saturating_add(other.failed);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.lost_ns += other.lost_ns;
        match (self.responses.count(), other.responses.count()) {
            (_, 0) => {}
            (0, _) => self.responses = other.responses.clone(),
            _ => self.responses.merge(&other.responses),
        }
    }

    /// How much it matters, for keeping the largest: mostly its time.
    pub(crate) fn weight(&self) -> f64 {
        let lost_ns = self.lost_ns.max(0.0);
        self.sum_ns as f64 + lost_ns + self.bytes as f64 + self.count as f64
    }

    /// The response time at a quantile from 0 to 1; none without a histogram.
    pub(crate) fn quantile_ns(&self, quantile: f64) -> Option<f64> {
        self.responses.quantile_ns(quantile).map(|ns| ns as f64)
    }

    /// The mean time; none where no time is known.
    pub(crate) fn mean_ns(&self) -> Option<f64> {
        (self.timed > 0).then(|| self.sum_ns as f64 / self.timed as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::histogram::SparseHistogram;

    #[test]
    fn a_discard_moves_no_bytes() {
        let mut sum = Tally::default();
        for (operation, bytes) in [("read", 1), ("write", 20), ("discard", 300)] {
            sum.add(&Rollup { operation: operation.into(), bytes, ..Rollup::default() });
        }
        assert_eq!((sum.bytes, sum.moved_bytes), (321, 21));
    }

    #[test]
    fn a_mean_is_of_the_requests_whose_time_is_known() {
        let mut responses = SparseHistogram::default();
        responses.record(3_000);
        let mut row = Rollup { count: 3, ..Rollup::default() };
        let mut sum = Tally::default();
        sum.add(&row);
        assert_eq!((sum.count, sum.mean_ns()), (3, None));
        row.set_responses(&responses);
        sum.add(&row);
        assert_eq!((sum.count, sum.mean_ns()), (6, Some(3_000.0)));
        let mut file = Tally::default();
        row.counted = Counted::File;
        file.add(&row);
        assert_eq!((file.mean_ns(), file.quantile_ns(0.5)), (Some(3_000.0), None));
    }
}
