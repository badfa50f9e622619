//! Whether a storm brings work, or is a closed loop that went faster for a while.
//!
//! A program that always keeps d requests outstanding asks for twice as many when each takes half
//! as long: when another's load ends, or the host wakes. By Little's law (Oper. Res. 9, 1961, p.
//! 383) rate × response is d then as it was before, and nobody waits for longer. The responses of
//! the requests that arrive, summed, per time, tell the two apart: they are more in a storm, and
//! the same in a loop that goes faster. Open loads and idle devices pass.
//!
//! Non-goals: what a storm did to the requests of others.

use super::detect::{Calmness, Detection, Series};
use std::ops::Range;

/// A storm makes more outstanding than calm times have, by at least a tenth: of the same is never
/// exactly the same, for the first and the last requests of a storm are partly outside of it.
const DEEPER: f64 = 1.1;

/// The same without the storms that are a loop going faster. `held_ns` are the responses, summed,
/// of the requests that arrived in a bin, as (bin, nanoseconds) in order; bins without known
/// responses may be missing.
pub(crate) fn deeper(
    mut detection: Detection,
    series: &Series,
    held_ns: &[(u64, u64)],
) -> Detection {
    let held = |storm: &Range<u64>| -> u64 {
        let from = held_ns.partition_point(|(bin, _)| *bin < storm.start);
        let rest = held_ns.get(from..).unwrap_or_default().iter();
        rest.take_while(|(bin, _)| *bin < storm.end).map(|(_, ns)| ns).sum()
    };
    let bins = |storm: &Range<u64>| storm.end - storm.start;
    let whole = series.first..series.last.saturating_add(1);
    let (storms_held, storms_bins) =
        detection.storms.iter().fold((0, 0), |(ns, n), storm| (ns + held(storm), n + bins(storm)));
    let calm_bins = bins(&whole).saturating_sub(storms_bins).max(1);
    let calm_ns_per_bin = held(&whole).saturating_sub(storms_held) as f64 / calm_bins as f64;
    detection.storms.retain(|storm| {
        held(storm) as f64 > DEEPER * calm_ns_per_bin * bins(storm) as f64 || held(storm) == 0
    });
    if detection.storms.is_empty() && detection.calmness.is_none() {
        detection.calmness = Some(Calmness::Faster);
    }
    detection
}
