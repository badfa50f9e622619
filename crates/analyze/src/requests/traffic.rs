//! Requests that have something in common: how many, how many bytes, and how long they took, in the
//! parts of their response time. Two of them merge into that of all their requests.
//!
//! Non-goals: what they have in common; what is published of them (`findings`).

use super::share::{ASKED, BYTES, COMPLETED, DEVICE, DONE, Share, Sums, WAIT};
use model::histogram::{Buckets, ByOctave, Store};

/// As many responses as a tally holds before they are counted.
const TALLIED: usize = 56;

/// Shares that are put together before they are added to all the traffic that they belong to. The
/// responses are kept as a list: what is counted one histogram after the other stays in the core's
/// own cache.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    sums: Sums,
    response_sum_ns: u64,
    response_min_ns: u64,
    response_max_ns: u64,
    listed: usize,
    buckets: [u16; TALLIED],
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            sums: Sums::default(),
            response_sum_ns: 0,
            response_min_ns: u64::MAX,
            response_max_ns: 0,
            listed: 0,
            buckets: [0; TALLIED],
        }
    }
}

impl Tally {
    /// Adds a row's share. Says whether the tally is full: then it is to be settled and cleared.
    #[inline(always)]
    pub(crate) fn add(&mut self, share: &Share) -> bool {
        self.sums.add(&share.sums);
        let Some(response) = share.response else { return false };
        let response_ns = response.value_ns();
        self.response_sum_ns = self.response_sum_ns.wrapping_add(response_ns);
        self.response_min_ns = self.response_min_ns.min(response_ns);
        self.response_max_ns = self.response_max_ns.max(response_ns);
        if let Some(bucket) = self.buckets.get_mut(self.listed) {
            *bucket = response.bucket();
        }
        self.listed += 1;
        self.listed >= TALLIED
    }

    pub(crate) fn clear(&mut self) {
        self.sums = Sums::default();
        self.response_sum_ns = 0;
        (self.response_min_ns, self.response_max_ns) = (u64::MAX, 0);
        self.listed = 0;
    }
}

/// What requests amount to. `S` is how finely their responses are counted.
#[derive(Debug, Clone)]
pub(crate) struct Traffic<S: Store = ByOctave<128>> {
    /// Made with the first response: there may be thousands of devices that tell none.
    pub(crate) response: Option<Buckets<S>>,
    pub(super) sums: Sums,
}

/// Of classes of which many are in use at once: responses within 1.6 %.
pub(crate) type SmallTraffic = Traffic<ByOctave<32>>;

impl<S: Store> Default for Traffic<S> {
    fn default() -> Self {
        Self { response: None, sums: Sums::default() }
    }
}

impl<S: Store> Traffic<S> {
    /// Requests that were asked for.
    pub(crate) fn asked(&self) -> u64 {
        self.sums.counts[ASKED]
    }

    /// Those of them that were completed.
    pub(crate) fn completed(&self) -> u64 {
        self.sums.counts[COMPLETED]
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, share: &Share) {
        self.sums.add(&share.sums);
        if let Some(response) = share.response {
            self.response.get_or_insert_default().record_binned(response);
        }
    }

    /// Adds what a tally put together.
    pub(crate) fn settle(&mut self, tally: &Tally) {
        self.sums.add(&tally.sums);
        let listed = tally.buckets.get(..tally.listed).unwrap_or_default();
        if !listed.is_empty() {
            let ns = (tally.response_sum_ns, tally.response_min_ns, tally.response_max_ns);
            self.response.get_or_insert_default().record_all(listed, ns);
        }
    }

    pub(crate) fn merge<O: Store>(&mut self, other: &Traffic<O>) {
        if let Some(response) = &other.response {
            self.response.get_or_insert_default().merge(response);
        }
        self.sums.add(&other.sums);
    }

    /// The sum of their responses.
    pub(crate) fn response_sum_ns(&self) -> f64 {
        self.response.as_ref().map_or(0.0, |response| response.sum_ns() as f64)
    }

    /// Mean length in bytes; none of none.
    pub(crate) fn length_mean(&self) -> Option<f64> {
        (self.asked() > 0).then(|| self.sums.counts[BYTES] as f64 / self.asked() as f64)
    }

    /// How many tell their response.
    pub(crate) fn responses(&self) -> u64 {
        self.response.as_ref().map_or(0, Buckets::count)
    }

    /// The mean of a sum over all responses.
    pub(super) fn mean_of(&self, sum_ns: Option<f64>) -> Option<f64> {
        let responses = self.responses();
        sum_ns.filter(|_| responses > 0).map(|ns| ns / responses as f64)
    }

    /// The part of the mean response until the driver got them, and from there to the completion.
    pub(crate) fn part_means_ns(&self) -> (Option<f64>, Option<f64>) {
        let mean = |part| self.mean_of(self.sums.known_ns(part));
        (mean(WAIT), mean(DEVICE))
    }

    /// The mean time from the driver's issue to the completion, of each row that was issued.
    pub(super) fn done_mean_ns(&self) -> Option<f64> {
        self.sums.known_ns(DONE).map(|ns| ns / self.sums.counts[DONE] as f64)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.asked() == 0 && self.sums.counts[DONE] == 0
    }
}
