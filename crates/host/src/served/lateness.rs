//! How much later than its model a served device was.

use model::histogram::Histogram;
use serde::{Deserialize, Serialize};

/// How late requests were completed, less the way. One that was early was not late.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Requests that were completed.
    pub requests: u64,
    /// By how much on average, ns.
    pub mean_ns: f64,
    /// Half were later than that, ns.
    pub p50_ns: u64,
    /// One of a hundred was later, ns.
    pub p99_ns: u64,
    /// The latest, ns.
    pub max_ns: u64,
    /// What the model says that they took, on average, ns.
    pub response_mean_ns: f64,
    /// Requests that the model completes sooner than the way takes.
    pub too_quick: u64,
}

/// A device later than this share of what its requests take is not the model any more.
const SHARE_MOST: f64 = 0.03;
/// One of a hundred may be later than this ...
const P99_NS_MOST: u64 = 500_000;
/// ... or than this share of what requests take, where that is more.
const P99_SHARE_MOST: f64 = 0.1;

impl Lateness {
    /// Whether what was measured on the device says something else than the model.
    pub fn is_suspect(&self) -> bool {
        let p99_ns_most = (self.response_mean_ns * P99_SHARE_MOST).max(P99_NS_MOST as f64);
        self.mean_ns > self.response_mean_ns * SHARE_MOST || self.p99_ns as f64 > p99_ns_most
    }
}

/// What is counted for it.
#[derive(Debug, Default)]
pub(super) struct Count {
    late: Histogram,
    response: Histogram,
    too_quick: u64,
}

impl Count {
    /// A request was completed: when it should have been, and when it was, by the device's own
    /// clock, and when it came.
    pub(super) fn add(&mut self, came_ns: u64, due_ns: u64, done_ns: u64, is_too_quick: bool) {
        self.late.record(done_ns.saturating_sub(due_ns));
        self.response.record(due_ns.saturating_sub(came_ns));
        self.too_quick += u64::from(is_too_quick);
    }

    pub(super) fn lateness(&self) -> Lateness {
        let quantile = |quantile| self.late.quantile_ns(quantile).unwrap_or(0);
        Lateness {
            requests: self.late.count(),
            mean_ns: self.late.mean_ns().unwrap_or(0.0),
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            max_ns: self.late.max_ns(),
            response_mean_ns: self.response.mean_ns().unwrap_or(0.0),
            too_quick: self.too_quick,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_early_was_not_late() {
        let mut count = Count::default();
        count.add(100, 1_100, 900, false);
        count.add(100, 1_100, 3_100, true);
        let lateness = count.lateness();
        assert_eq!((lateness.requests, lateness.mean_ns, lateness.too_quick), (2, 1000.0, 1));
        assert_eq!((lateness.max_ns, lateness.response_mean_ns), (2000, 1000.0));
    }
}
