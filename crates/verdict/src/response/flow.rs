//! How requests come to a device, and where they go on it: the time between arrivals, and the way
//! from the end of one to the begin of the next. Parts that follow each other are one flow: the
//! step across the shard boundary is made when they meet.
//!
//! Order is that of arrival, of what was requested; where the scheduler changed it, the device's
//! way was another.

use model::histogram::SparseHistogram;
use model::record::Request;

/// Of so many values the sum and the sum of their squares, exactly.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    count: u64,
    sum: Wide,
    squares: Wide,
}

/// A sum of squares, in halves: read back whole right after it was written by halves, it would
/// stall a row.
#[derive(Debug, Clone, Copy, Default)]
struct Wide {
    low: u64,
    high: u64,
}

impl Wide {
    #[inline]
    fn add(&mut self, low: u64, high: u64) {
        let (sum, carry) = self.low.overflowing_add(low);
        self.low = sum;
        // A gap of a year, squared, 10^7 times over: it saturates where no trace comes.
        self.high = self.high.saturating_add(high).saturating_add(carry.into());
    }

    fn value(self) -> f64 {
        self.high as f64 * 2f64.powi(64) + self.low as f64
    }
}

impl Moments {
    #[inline]
    fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum.add(value, 0);
        let square = u128::from(value) * u128::from(value);
        self.squares.add(square as u64, (square >> 64) as u64);
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum.add(other.sum.low, other.sum.high);
        self.squares.add(other.squares.low, other.squares.high);
    }

    /// Standard deviation over the mean.
    fn variation(&self) -> Option<f64> {
        let count = self.count as f64;
        let mean = self.sum.value() / count;
        let variance = (self.squares.value() / count - mean * mean).max(0.0);
        (self.count > 1 && mean > 0.0).then(|| variance.sqrt() / mean)
    }
}

#[derive(Debug, Default)]
pub(super) struct Flow {
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    gaps: Moments,
    /// Where the first begins and the last ends, in bytes.
    begin: Option<u64>,
    end: Option<u64>,
    /// Distances in bytes, those of 0 too.
    pub(super) seeks: SparseHistogram,
    pub(super) sequential: u64,
}

impl Flow {
    #[inline]
    pub(super) fn add(&mut self, row: &Request, arrival_ns: i64) {
        self.arrive(arrival_ns);
        self.first_ns = self.first_ns.or(Some(arrival_ns));
        self.last_ns = Some(arrival_ns);
        if let Some(offset) = row.offset_bytes {
            self.seek(offset);
            self.begin = self.begin.or(Some(offset));
            self.end = Some(offset.saturating_add(row.length_bytes.into()));
        }
    }

    #[inline]
    fn arrive(&mut self, arrival_ns: i64) {
        if let Some(last_ns) = self.last_ns {
            self.gaps.add(u64::try_from(arrival_ns.saturating_sub(last_ns)).unwrap_or(0));
        }
    }

    #[inline]
    fn seek(&mut self, offset: u64) {
        if let Some(end) = self.end {
            self.seeks.record(offset.abs_diff(end));
            self.sequential += u64::from(offset == end);
        }
    }

    /// Goes on with the flow of the part that follows.
    pub(super) fn follow(&mut self, next: Self) {
        if let Some(first_ns) = next.first_ns {
            self.arrive(first_ns);
        }
        if let Some(begin) = next.begin {
            self.seek(begin);
        }
        self.first_ns = self.first_ns.or(next.first_ns);
        self.last_ns = next.last_ns.or(self.last_ns);
        self.begin = self.begin.or(next.begin);
        self.end = next.end.or(self.end);
        self.gaps.merge(&next.gaps);
        self.seeks.merge(&next.seeks);
        self.sequential += next.sequential;
    }

    /// Standard deviation of the times between arrivals over their mean: 0 is a clock, 1 is chance
    /// (Poisson), more is bursts.
    pub(super) fn arrival_variation(&self) -> Option<f64> {
        self.gaps.variation()
    }

    /// How many steps from one to the next there were.
    pub(super) fn steps(&self) -> u64 {
        self.gaps.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(rows: &[(i64, u64)]) -> Flow {
        let mut flow = Flow::default();
        for (arrival_ns, offset) in rows {
            let row =
                Request { offset_bytes: Some(*offset), length_bytes: 10, ..Request::default() };
            flow.add(&row, *arrival_ns);
        }
        flow
    }

    #[test]
    fn a_clock_has_no_variation_and_what_begins_where_the_last_ended_is_sequential() {
        let all = flow(&[(0, 0), (5, 10), (10, 20), (15, 500), (20, 400)]);
        assert_eq!(all.arrival_variation(), Some(0.0));
        assert_eq!((all.sequential, all.seeks.count(), all.seeks.max_ns()), (2, 4, 470));
        // Gaps of 1 and 3: mean 2, deviation 1.
        assert_eq!(flow(&[(0, 0), (1, 0), (4, 0)]).arrival_variation(), Some(0.5));
        assert_eq!(flow(&[(7, 0)]).arrival_variation(), None);
    }

    #[test]
    fn parts_make_the_step_across_their_boundary() {
        let rows = [(0, 0), (5, 10), (11, 7), (15, 500), (29, 400)];
        let whole = flow(&rows);
        for cut in 0..=rows.len() {
            let mut parts = flow(&rows[..cut]);
            parts.follow(flow(&rows[cut..]));
            assert_eq!(format!("{parts:?}"), format!("{whole:?}"), "cut at {cut}");
        }
    }
}
