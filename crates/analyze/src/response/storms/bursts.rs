//! Bursts by a fixed gap, as one defines them by hand: a new one begins after a silence of more than the gap. This is how
//! the known answers of published traces were counted; on a device that is never silent everything is one burst.
//!
//! Non-goals: telling a storm from a load ([`super::detect`]).

/// Arrivals with no longer silence among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Burst {
    /// First arrival.
    pub(crate) from_ns: i64,
    /// Last arrival.
    pub(crate) to_ns: i64,
    /// Arrivals.
    pub(crate) requests: u64,
}

/// The bursts of arrivals that come in order.
pub(crate) fn bursts(arrivals_ns: impl IntoIterator<Item = i64>, gap_ns: i64) -> Vec<Burst> {
    let mut bursts: Vec<Burst> = Vec::new();
    for arrival in arrivals_ns {
        match bursts.last_mut() {
            Some(last) if arrival.saturating_sub(last.to_ns) <= gap_ns => {
                last.to_ns = arrival;
                last.requests += 1;
            }
            _ => bursts.push(Burst { from_ns: arrival, to_ns: arrival, requests: 1 }),
        }
    }
    bursts
}
