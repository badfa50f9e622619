//! Where the storms of a device lie in time, for whom looks into them once more.
//!
//! Non-goals: what is published of storms ([`super::findings`]).

use super::super::device::Device;
use super::storm::{Storm, Storms};

/// A storm, and how bad it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StormSpan {
    /// The device's number.
    pub device: u32,
    /// Of what: background writes, or writes and flushes.
    pub kind: &'static str,
    /// Its first arrival.
    pub start_ns: i64,
    /// The completion of the last of its requests.
    pub end_ns: i64,
    /// Its writes and flushes.
    pub requests: u64,
    /// The most requests of all kinds that were outstanding at once.
    pub depth_max: u64,
    /// What the reads behind it took, summed.
    pub behind_ns: u64,
}

/// The storms of a device, in the order of time, kind by kind.
pub(in super::super) fn spans(
    device: &Device,
    width_ns: i64,
    arrivals_ns: (i64, i64),
) -> Vec<StormSpan> {
    let of = |kind: &'static str, storm: &Storm| StormSpan {
        device: device.number,
        kind,
        start_ns: storm.start_ns,
        end_ns: storm.end_ns,
        requests: storm.whole.requests,
        depth_max: storm.whole.depth_max,
        behind_ns: storm.whole.behind.response.sum_ns(),
    };
    let all = device.grids.written().flat_map(|(kind, grid)| {
        let storms = Storms::of(grid, width_ns, arrivals_ns);
        storms.all.iter().map(|storm| of(kind.name, storm)).collect::<Vec<_>>()
    });
    all.collect()
}
