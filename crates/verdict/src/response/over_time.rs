//! One device's requests over time, in bins: how many were outstanding (on average and at the
//! most), and how long those that arrived waited and were served. The page draws them beside the
//! responses (the 1986 paper's figure 7: response against start time).
//!
//! Bins begin narrow and double their width when there are too many, as those of
//! [`crate::density`] do, so that both can be shown with the same ones. Kept only for whom asks
//! ([`super::Response::with_over_time`]).
//!
//! Non-goals: storms, places.

use crate::density::{TIME_NS, TIMES};
use crate::merge::{Merge as _, merged, sum};
use crate::requests::Share;

/// Times of the requests of one direction that arrived in a bin and whose parts are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts {
    /// How many.
    pub requests: u64,
    /// How many of them tell when they were queued.
    pub waits: u64,
    /// Until the driver got these, summed.
    pub wait_ns: u64,
    /// In the driver and the device, summed.
    pub service_ns: u64,
}

merged!(Parts { requests, waits, wait_ns, service_ns });

/// What a bin of time holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bin {
    /// The number outstanding, summed over the nanoseconds of the bin.
    pub depth_ns: u64,
    /// The most at once.
    pub depth_max: u64,
    /// Of reads.
    pub reads: Parts,
    /// Of all others.
    pub others: Parts,
}

merged!(Bin { depth_ns, reads, others } max { depth_max });

/// A device's bins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverTime {
    /// Where they begin, ns.
    from_ns: u64,
    /// How wide each is.
    pub width_ns: u64,
    /// Up to the last that holds something.
    pub bins: Vec<Bin>,
}

impl OverTime {
    /// Bins that begin there.
    pub(super) fn from(from_ns: u64) -> Self {
        Self { from_ns, width_ns: TIME_NS, bins: Vec::new() }
    }

    /// How long after the begin of its bins a moment is, ns.
    fn since(&self, ns: i64) -> u64 {
        u64::try_from(ns).unwrap_or(0).saturating_sub(self.from_ns)
    }

    /// Puts neighbours together until bins are as wide.
    pub fn widen_to(&mut self, width_ns: u64) {
        while self.width_ns < width_ns {
            self.widen();
        }
    }

    fn widen(&mut self) {
        self.width_ns = self.width_ns.saturating_mul(2);
        self.bins = self.bins.chunks(2).map(|pair| sum(pair.iter().copied())).collect();
    }

    /// The bin that is so long after their begin.
    fn at(&mut self, ns: u64) -> Option<&mut Bin> {
        while ns / self.width_ns >= TIMES {
            self.widen();
        }
        let place = usize::try_from(ns / self.width_ns).ok()?;
        if self.bins.len() <= place {
            self.bins.resize(place + 1, Bin::default());
        }
        self.bins.get_mut(place)
    }

    /// So many were outstanding from one moment to another.
    pub(super) fn hold(&mut self, from_ns: i64, until_ns: i64, depth: u64) {
        let (mut from_ns, until_ns) = (self.since(from_ns), self.since(until_ns));
        if until_ns > from_ns {
            // Widened first: bins stay as they are in the loop.
            let _ = self.at(until_ns - 1);
        }
        while from_ns < until_ns {
            let end_ns = (from_ns / self.width_ns + 1).saturating_mul(self.width_ns).min(until_ns);
            if let Some(bin) = self.at(from_ns) {
                let held_ns = (end_ns - from_ns).saturating_mul(depth);
                bin.depth_ns = bin.depth_ns.saturating_add(held_ns);
                bin.depth_max = bin.depth_max.max(depth);
            }
            from_ns = end_ns;
        }
    }

    /// So many are outstanding at a moment.
    pub(super) fn reach(&mut self, at_ns: i64, depth: u64) {
        if let Some(bin) = self.at(self.since(at_ns)) {
            bin.depth_max = bin.depth_max.max(depth);
        }
    }

    /// A request that arrived then.
    pub(super) fn add(&mut self, arrival_ns: i64, is_read: bool, share: &Share) {
        let (Some(wait_ns), Some(took)) = (share.wait_ns(), share.took()) else { return };
        let waits = u64::from(share.response.is_some());
        let service_ns = took.value_ns().saturating_sub(wait_ns);
        if let Some(bin) = self.at(self.since(arrival_ns)) {
            let parts = if is_read { &mut bin.reads } else { &mut bin.others };
            parts.merge(Parts { requests: 1, waits, wait_ns, service_ns });
        }
    }

    /// Adds what another part of the same trace came to.
    pub(super) fn merge(&mut self, mut other: Self) {
        self.widen_to(other.width_ns);
        other.widen_to(self.width_ns);
        if self.bins.len() < other.bins.len() {
            self.bins.resize(other.bins.len(), Bin::default());
        }
        self.bins.iter_mut().zip(&other.bins).for_each(|(own, theirs)| own.merge(*theirs));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Response;
    use super::*;
    use crate::response::InFlight;
    use model::record::{Op, Request};
    use proptest::prelude::*;

    fn row(op: Op, [arrival, issued, completed]: [i64; 3]) -> Request {
        Request {
            op,
            queued_ns: Some(arrival),
            issued_ns: Some(issued),
            completed_ns: Some(completed),
            ..Request::default()
        }
    }

    fn of(rows: &[Request]) -> OverTime {
        of_those_from(0, rows)
    }

    fn of_those_from(from_ns: u64, rows: &[Request]) -> OverTime {
        let mut response = Response::default().with_over_time(from_ns);
        rows.iter().for_each(|row| response.add(row));
        response.over_time().remove(0).1
    }

    #[test]
    fn depth_is_held_over_the_bins_that_a_request_lasts() {
        let ms = 1_000_000;
        let over = of(&[row(Op::Read, [0, ms, 3 * ms]), row(Op::Write, [ms, ms, 2 * ms])]);
        let depth: Vec<_> = over.bins.iter().map(|bin| (bin.depth_ns, bin.depth_max)).collect();
        assert_eq!(depth, [(1_000_000, 1), (2_000_000, 2), (1_000_000, 1)]);
        let parts = Parts { requests: 1, waits: 1, wait_ns: 1_000_000, service_ns: 2_000_000 };
        assert_eq!((over.bins[0].reads, over.bins[0].others), (parts, Parts::default()));
        assert_eq!(over.bins[1].others.service_ns, 1_000_000);
    }

    #[test]
    fn bins_begin_where_they_are_told_to() {
        let (ms, late) = (1_000_000, 102_000_000_000);
        let rows = |from: i64| [row(Op::Read, [from, from + ms, from + 3 * ms])];
        let over = of_those_from(late as u64, &rows(late));
        assert_eq!(over.bins, of(&rows(0)).bins);
    }

    #[test]
    fn whoever_does_not_ask_has_none() {
        let mut response = Response::default();
        response.add(&row(Op::Read, [0, 1, 2]));
        assert_eq!(response.over_time(), []);
    }

    #[test]
    fn a_month_has_as_few_bins_as_a_second() {
        let day = 86_400_000_000_000;
        let rows: Vec<Request> =
            (0..30).map(|n| row(Op::Read, [n * day, n * day, (n + 1) * day])).collect();
        let over = of(&rows);
        assert!((TIMES / 2..=TIMES).contains(&(over.bins.len() as u64)), "{}", over.bins.len());
        let depth_ns: u64 = over.bins.iter().map(|bin| bin.depth_ns).sum();
        assert_eq!(depth_ns, 30 * day as u64);
    }

    proptest! {
        #[test]
        fn parts_sum_to_the_whole(
            times in prop::collection::vec((0_i64..1 << 36, 0_i64..1 << 30, 0_i64..1 << 30), 2..50),
            cut in 1_usize..49,
        ) {
            let mut rows: Vec<Request> = times
                .into_iter()
                .map(|(at, wait, service)| row(Op::Read, [at, at + wait, at + wait + service]))
                .collect();
            rows.sort_by_key(|row| row.queued_ns);
            let cut = cut.min(rows.len() - 1);
            let mut in_flight = InFlight::new(rows[cut].queued_ns.unwrap_or(0));
            rows[..cut].iter().for_each(|row| in_flight.add(row));
            let mut first = Response::default().with_over_time(0);
            let mut rest = Response::default().with_over_time(0).after(&in_flight);
            rows[..cut].iter().for_each(|row| first.add(row));
            rows[cut..].iter().for_each(|row| rest.add(row));
            first.follow(rest, &|id| id);
            prop_assert_eq!(first.over_time().remove(0).1, of(&rows));
        }
    }
}
