//! A run's requests as the heat maps of its page.
//!
//! Non-goals: what is a bin (`verdict::density`); the charts (`report::page`).

use ::verdict::density::{Density as Counts, Plane, response_from_ns};
use model::record::Op;
use model::record::requests::RequestFile;
use report::page::density::{Density, Over};

/// The bins of time that all figures of a page share.
pub(crate) struct Times {
    /// Where they begin, ns.
    pub(crate) from_ns: u64,
    /// How wide each is, ns.
    pub(crate) width_ns: u64,
    pub(crate) count: u64,
}

impl Times {
    /// Where a bin begins, ns.
    pub(crate) fn edge(&self, bin: u64) -> f64 {
        self.from_ns as f64 + bin as f64 * self.width_ns as f64
    }

    /// The bin that a moment is in.
    pub(crate) fn bin_of(&self, ns: i64) -> u64 {
        let since = u64::try_from(ns).unwrap_or(0).saturating_sub(self.from_ns);
        since / self.width_ns.max(1)
    }
}

/// Devices that the page shows over time, the busiest first.
const MOST_DEVICES: usize = 2;

/// The devices with most requests.
pub(crate) fn busiest(counts: &Counts) -> Vec<u32> {
    let mut devices: Vec<(u64, u32)> = Vec::new();
    for (device, _) in counts.planes.keys() {
        let of = |op| counts.planes.get(&(*device, op)).map_or(0, |of| of.responses.total());
        devices.push((of(Op::Read) + of(Op::Write), *device));
    }
    devices.sort_unstable_by(|a, b| b.cmp(a));
    devices.dedup();
    devices.into_iter().take(MOST_DEVICES).map(|(_, device)| device).collect()
}

/// Bins of time up to the last that holds something of these devices.
pub(crate) fn times_used(counts: &Counts, devices: &[u32]) -> u64 {
    let own = counts.planes.iter().filter(|((device, _), _)| devices.contains(device));
    let used = own.flat_map(|(_, of)| [of.responses.times_used(), of.places.times_used()]);
    used.max().unwrap_or(0)
}

/// The heat maps of a device, all of these bins of time.
pub(crate) fn maps(counts: &Counts, device: u32, name: &str, times: &Times) -> Vec<Density> {
    let mut maps = Vec::new();
    for over in [Over::Responses, Over::Places] {
        maps.extend([(Op::Read, "reads"), (Op::Write, "writes")].iter().filter_map(
            |(op, requests)| {
                let planes = counts.planes.get(&(device, *op))?;
                let plane = match over {
                    Over::Responses => &planes.responses,
                    Over::Places => &planes.places,
                };
                map(plane, over, (name, requests), times)
            },
        ));
    }
    maps
}

/// Where the bins of time of a file's requests begin, ns: where the file does not tell when these
/// arrived, with its own begin.
pub(crate) fn begin_ns(file: &RequestFile) -> u64 {
    let firsts = (0..file.groups()).map(|group| Some(file.arrivals_ns(group)?.0));
    let first_ns = firsts.collect::<Option<Vec<i64>>>().and_then(|all| all.into_iter().min());
    ::verdict::density::begin_ns(first_ns.unwrap_or(0))
}

/// A plane cut to what is used of it; none where nothing is.
fn map(
    plane: &Plane,
    over: Over,
    (device, requests): (&str, &str),
    times: &Times,
) -> Option<Density> {
    let (first, last) = plane.others_used()?;
    let lines = first..=last;
    let of_line = |other: u64| (0..times.count).map(move |time| plane.count(time, other));
    let ends = match &plane.others {
        Some(bins) => ((first * bins.width) as f64, ((last + 1) * bins.width) as f64),
        None => (response_from_ns(first), response_from_ns(last + 1)),
    };
    Some(Density {
        device: device.to_owned(),
        requests: requests.to_owned(),
        over,
        times: ((times.edge(0), times.edge(times.count)), usize::try_from(times.count).ok()?),
        others: (ends, usize::try_from(last + 1 - first).ok()?),
        counts: lines.flat_map(of_line).collect(),
    })
}
