//! Shares of requests that are put together before they are added to all the traffic that they
//! belong to: what is counted one histogram after the other stays in the core's own cache.
//!
//! Non-goals: what is found of them.

use super::{Share, Sums};
use model::histogram::{Binned, Buckets, Store};

/// As many times as a tally holds before they are counted.
pub(super) const TALLIED: usize = 56;

/// Times that are put together before they are counted.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
    count: usize,
    buckets: [u16; TALLIED],
}

impl Listed {
    const NONE: Self =
        Self { sum_ns: 0, min_ns: u64::MAX, max_ns: 0, count: 0, buckets: [0; TALLIED] };

    /// Says whether it is full with that.
    #[inline(always)]
    fn add(&mut self, time: Option<Binned>) -> bool {
        let Some(time) = time else { return false };
        let ns = time.value_ns();
        self.sum_ns = self.sum_ns.wrapping_add(ns);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        if let Some(bucket) = self.buckets.get_mut(self.count) {
            *bucket = time.bucket();
        }
        self.count += 1;
        self.count >= TALLIED
    }

    fn clear(&mut self) {
        (self.sum_ns, self.min_ns, self.max_ns, self.count) = (0, u64::MAX, 0, 0);
    }

    pub(super) fn settle<S: Store>(&self, into: &mut Option<Buckets<S>>) {
        let listed = self.buckets.get(..self.count).unwrap_or_default();
        if !listed.is_empty() {
            let ns = (self.sum_ns, self.min_ns, self.max_ns);
            into.get_or_insert_default().record_all(listed, ns);
        }
    }
}

/// Shares that are put together before they are added to all the traffic that they belong to. The
/// times are kept as lists: what is counted one histogram after the other stays in the core's own
/// cache.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    pub(super) sums: Sums,
    pub(super) responses: Listed,
    pub(super) done: Listed,
    pub(super) alone: Listed,
}

impl Default for Tally {
    fn default() -> Self {
        let [responses, done, alone] = [Listed::NONE; 3];
        Self { sums: Sums::default(), responses, done, alone }
    }
}

impl Tally {
    /// Adds a row's share. Says whether the tally is full: then it is to be settled and cleared.
    #[inline(always)]
    pub(crate) fn add(&mut self, share: &Share) -> bool {
        self.sums.add(&share.sums);
        let is_full = self.responses.add(share.response) | self.done.add(share.done);
        self.alone.add(share.alone) | is_full
    }

    pub(crate) fn clear(&mut self) {
        self.sums = Sums::default();
        [&mut self.responses, &mut self.done, &mut self.alone].into_iter().for_each(Listed::clear);
    }
}
