//! Times in the two sorts of buckets that Prometheus knows.
//!
//! The classic ones end at 2^k − 1 ns, from 1.023 µs to 137 s. Times are whole nanoseconds, and
//! lbolt's own buckets, of whichever of its histograms, end at the powers of two: so each count is
//! exact, and a time of exactly a bound is in it, as `le` has it.
//!
//! The native ones are of schema 3: eight to an octave of seconds, each 9 % wide. Their bounds are
//! no bounds of lbolt's buckets, which are at most 0.8 % wide; one that lies across a bound counts
//! where its middle is. So a time is in its bucket or, if it is within 0.4 % of a bound, in that
//! next to it.
//!
//! Non-goals: how either is written.

use model::histogram::value_of;
use model::record::Rollup;
use std::collections::BTreeMap;

/// The first of the classic bounds ends at two to this power, in ns.
const FIRST: u32 = 10;
/// The last of them.
const LAST: u32 = 37;
/// How many there are.
pub(crate) const BOUNDS: usize = (LAST - FIRST + 1) as usize;
/// Native buckets to an octave: two to this power.
pub(crate) const SCHEMA: i32 = 3;
const NS: f64 = 1e9;

/// Response times of a series, since the start.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Responses {
    /// The last one is without a bound.
    classic: [u64; BOUNDS + 1],
    native: BTreeMap<i32, u64>,
    zero: u64,
    count: u64,
    sum_ns: u128,
}

/// Native buckets next to each other: how far from those before, and how many there are in each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) offset: i32,
    pub(crate) counts: Vec<u64>,
}

impl Responses {
    /// Adds the times of a row. If it has counts and no histogram that can be read, all were as
    /// long as their mean.
    pub(crate) fn add(&mut self, row: &Rollup) {
        self.sum_ns = self.sum_ns.saturating_add(row.sum_ns.into());
        let is_whole = row.buckets.len() == row.counts.len()
            && row.buckets.iter().all(|bucket| value_of(*bucket).is_some());
        let times = row.buckets.iter().filter_map(|bucket| value_of(*bucket)).zip(&row.counts);
        let timed = row.lent().timed();
        match is_whole && !row.buckets.is_empty() {
            true => times.for_each(|(ns, count)| {
                // Within the least and the greatest, unless these contradict each other.
                self.record(ns.max(row.min_ns).min(row.max_ns.max(row.min_ns)), *count);
            }),
            false if timed > 0 => self.record(row.sum_ns / timed, timed),
            false => {}
        }
    }

    fn record(&mut self, ns: u64, count: u64) {
        let bits = (u64::BITS - ns.leading_zeros()).max(FIRST);
        let classic = &mut self.classic[((bits - FIRST) as usize).min(BOUNDS)];
        *classic = classic.saturating_add(count);
        match native(ns) {
            None => self.zero = self.zero.saturating_add(count),
            Some(bucket) => {
                let native = self.native.entry(bucket).or_default();
                *native = native.saturating_add(count);
            }
        }
        self.count = self.count.saturating_add(count);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Their sum in seconds.
    pub(crate) fn sum(&self) -> f64 {
        self.sum_ns as f64 / NS
    }

    /// The bounds in seconds, and how many are at most as long.
    pub(crate) fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.classic[..BOUNDS].iter().zip(FIRST..=LAST).scan(0u64, |sum, (count, power)| {
            *sum = sum.saturating_add(*count);
            Some((((1u64 << power) - 1) as f64 / NS, *sum))
        })
    }

    /// Those of no time at all.
    pub(crate) fn zero(&self) -> u64 {
        self.zero
    }

    /// Runs of native buckets.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        let mut next = 0;
        for (bucket, count) in &self.native {
            match spans.last_mut().filter(|_| *bucket == next) {
                Some(span) => span.counts.push(*count),
                None => spans.push(Span { offset: bucket - next, counts: vec![*count] }),
            }
            next = bucket + 1;
        }
        spans
    }
}

/// The native bucket of a time: the greatest power of 2^(1/8) seconds that is not less. None has
/// no time at all.
fn native(ns: u64) -> Option<i32> {
    let octaves = (ns as f64 / NS).log2();
    (ns > 0).then(|| (octaves * f64::from(1 << SCHEMA)).ceil() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::histogram::{Buckets, ByOctave, Dense, Listed, Store};
    use proptest::prelude::*;

    fn of<S: Store>(times: &[u64]) -> Responses {
        let mut histogram = Buckets::<S>::default();
        times.iter().for_each(|ns| histogram.record(*ns));
        let mut row = Rollup { count: times.len() as u64, ..Rollup::default() };
        row.set_responses(&histogram);
        let mut responses = Responses::default();
        responses.add(&row);
        responses
    }

    #[test]
    fn a_time_of_a_bound_is_in_it_and_one_more_is_not() {
        for power in FIRST..=LAST {
            let bound = (1u64 << power) - 1;
            let seconds = bound as f64 / 1e9;
            let within = |ns| {
                let responses = of::<Dense>(&[ns]);
                responses.cumulative().find(|(le, _)| *le == seconds).map(|(_, count)| count)
            };
            assert_eq!((within(bound), within(bound + 1)), (Some(1), Some(0)), "{bound} ns");
        }
        let bounds: Vec<_> = Responses::default().cumulative().map(|(le, _)| le).collect();
        assert_eq!((bounds.len(), bounds[0], bounds[27]), (28, 1.023e-6, 137.438953471));
        let beyond = of::<Dense>(&[1 << 37, u64::MAX]);
        assert_eq!((beyond.count(), beyond.cumulative().last().map(|(_, c)| c)), (2, Some(0)));
    }

    #[test]
    fn native_buckets_end_at_powers_of_the_eighth_root_of_two() {
        for (ns, bucket) in [
            (1_000_000_000, 0),
            (1_000_000_001, 1),
            (500_000_000, -8),
            (2_000_000_000, 8),
            (250_000_001, -15),
            (1_090_507_732, 1),
            (1_090_507_733, 2),
        ] {
            assert_eq!(native(ns), Some(bucket), "{ns}");
        }
        assert_eq!((native(0), native(1)), (None, Some(-239)));
        let mut responses = Responses::default();
        for (ns, count) in [(0, 1), (1_000_000_000, 1), (500_000_000, 2)] {
            responses.record(ns, count);
        }
        assert_eq!(responses.zero(), 1);
        let spans = responses.spans();
        assert_eq!(spans[0], Span { offset: -8, counts: vec![2] });
        assert_eq!(spans[1], Span { offset: 7, counts: vec![1] });
    }

    #[test]
    fn a_row_without_a_histogram_counts_at_its_mean() {
        let mut responses = Responses::default();
        responses.add(&Rollup { count: 4, sum_ns: 4_000, ..Rollup::default() });
        responses.add(&Rollup { count: 1, sum_ns: 9, buckets: vec![1], ..Rollup::default() });
        assert_eq!((responses.count(), responses.sum()), (5, 4.009e-6));
        assert_eq!(responses.cumulative().next(), Some((1.023e-6, 5)));
        responses.add(&Rollup::default());
        responses.add(&Rollup { count: 3, ..Rollup::default() });
        assert_eq!((responses.count(), responses.zero()), (5, 0), "of those no time is known");
    }

    proptest! {
        #[test]
        fn every_histogram_of_ours_gives_exact_classic_counts(
            times in prop::collection::vec(any::<u64>(), 1..80),
        ) {
            let times: Vec<u64> = times.iter().map(|ns| ns >> (ns % 50 + 12)).collect();
            let all = [
                of::<Dense>(&times),
                of::<ByOctave<32>>(&times),
                of::<Listed<4>>(&times),
            ];
            for responses in &all {
                for (power, (_, count)) in (FIRST..=LAST).zip(responses.cumulative()) {
                    let exact = times.iter().filter(|ns| **ns < 1 << power).count() as u64;
                    prop_assert_eq!(count, exact);
                }
                let native: u64 = responses.spans().iter().flat_map(|span| &span.counts).sum();
                prop_assert_eq!(native + responses.zero(), times.len() as u64);
            }
        }

        #[test]
        fn a_native_bucket_is_within_half_a_percent_of_right(ns in 1u64..200_000_000_000) {
            let responses = of::<Dense>(&[ns, ns, ns + ns / 100 + 1]);
            let (bucket, _) = responses.native.iter().next().unwrap();
            let (low, high) = (f64::from(bucket - 1) / 8.0, f64::from(*bucket) / 8.0);
            let seconds = ns as f64 / 1e9;
            prop_assert!(seconds > low.exp2() * 0.995 && seconds <= high.exp2() * 1.005);
        }
    }
}
