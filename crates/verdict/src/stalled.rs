//! For how long some thread waited for a request, as far as its waits are known: what the kernel
//! counts by itself as pressure (`some` of /proc/pressure/io), to be held against it.
//!
//! Non-goals: who waited, and for whom.

use super::cpus::Cpus;
use crate::merge::merged;
use std::ops::Range;

/// A role's waits without a request, of which it is not known for which device they were: they are
/// nobody's loss, and no all-clear.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Unplaced {
    pub(super) count: u64,
    pub(super) sum_ns: i64,
    /// Those for a request, or a file system, of which the trace has no request: where only some
    /// devices are captured, they were for another one.
    pub(super) untraced_ns: i64,
}

merged!(Unplaced { count, sum_ns, untraced_ns });

/// How narrow slices are in which waits are held against the kernel's count, in ns.
const SLICE_NS: i64 = 10_000_000;

/// The union of waits, which come in the order of their begins, by slices of time.
#[derive(Debug, Default)]
pub(super) struct Stalled {
    until_ns: Option<i64>,
    /// Slices that have any, by number, and how much.
    slices: Vec<(i64, i64)>,
}

impl Stalled {
    #[inline]
    pub(super) fn add(&mut self, begin_ns: i64, end_ns: i64) {
        let mut from_ns = self.until_ns.map_or(begin_ns, |until_ns| until_ns.max(begin_ns));
        self.until_ns = self.until_ns.max(Some(end_ns));
        while from_ns < end_ns {
            let slice = from_ns.div_euclid(SLICE_NS);
            let until_ns = end_ns.min((slice + 1).saturating_mul(SLICE_NS));
            match self.slices.last_mut() {
                Some((last, sum_ns)) if *last == slice => *sum_ns += until_ns - from_ns,
                _ => self.slices.push((slice, until_ns - from_ns)),
            }
            from_ns = until_ns;
        }
    }

    /// How much of it lies in a time: slices at its ends by what of them does.
    fn within(&self, time_ns: &Range<i64>) -> f64 {
        let first = time_ns.start.div_euclid(SLICE_NS);
        let begun = self.slices.partition_point(|(slice, _)| *slice < first);
        let of =
            self.slices[begun..].iter().take_while(|(slice, _)| slice * SLICE_NS < time_ns.end);
        of.map(|(slice, sum_ns)| {
            let (from_ns, until_ns) = (slice * SLICE_NS, (slice + 1) * SLICE_NS);
            let both_ns = until_ns.min(time_ns.end) - from_ns.max(time_ns.start);
            *sum_ns as f64 * both_ns as f64 / SLICE_NS as f64
        })
        .sum()
    }

    /// What of the kernel's count in a time is known here: of each interval no more than it counts.
    pub(super) fn of_pressure(&self, cpus: &Cpus, time_ns: &Range<i64>) -> i64 {
        self.of_counts(cpus.pressure_within(time_ns))
    }

    /// The same of intervals and what it counts in each.
    pub(super) fn of_counts(&self, counts: impl Iterator<Item = (Range<i64>, f64)>) -> i64 {
        counts.map(|(time_ns, counted_ns)| self.within(&time_ns).min(counted_ns) as i64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::CpuTime;

    #[test]
    fn what_goes_on_at_once_counts_once() {
        let mut stalled = Stalled::default();
        let waits = [(0, 10), (5, 8), (7, 15), (20, 21), (21, 30)];
        let ms = 1_000_000;
        waits.iter().for_each(|(from, to)| stalled.add(from * ms, to * ms));
        assert_eq!(stalled.within(&(0..100 * ms)), (25 * ms) as f64);
        // From 5 ms on half of the first slice, which is all waiting, and what follows.
        assert_eq!(stalled.within(&(5 * ms..100 * ms)), (20 * ms) as f64);
        assert_eq!(stalled.within(&(40 * ms..100 * ms)), 0.0);
    }

    #[test]
    fn waits_that_the_kernel_does_not_count_explain_nothing_of_what_it_counts_elsewhere() {
        let ms = 1_000_000;
        let mut stalled = Stalled::default();
        stalled.add(0, 100 * ms);
        let of = |from: i64, counted: u64| CpuTime {
            from_ns: from * ms,
            until_ns: (from + 100) * ms,
            io_stalled_ns: Some(counted * ms as u64),
            ..CpuTime::default()
        };
        let cpus = Cpus::new(vec![of(0, 10), of(100, 90)]);
        assert_eq!(stalled.of_pressure(&cpus, &(0..200 * ms)), 10 * ms);
    }
}
