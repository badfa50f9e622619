//! What a page counts of a run's requests for itself: its busiest devices over time, and its
//! storms. Every figure of time has the same bins.
//!
//! Non-goals: what is counted (`analyze`), what is said of it (`report::page`).

use super::density;
use super::density::Times;
use super::opened::{OpenedAt, of_storms};
use super::response::Analysed;
use super::trace::{device_name, open_requests};
use super::verdict::context_of;
use ::verdict::response::StormSpan;
use ::verdict::response::over_time::{OverTime as Counted, Parts as Sums};
use capture::gate::Gate;
use model::text::visible;
use report::chart::Band;
use report::page::Traced;
use report::page::over_time::{Bin, OverTime, Parts};
use std::collections::BTreeMap;
use std::path::Path;

/// Everything that a page shows of these requests besides what was found.
/// Errors: records that cannot be read; interruption.
pub(crate) fn of_requests(
    path: &Path,
    analysed: &mut Analysed,
    gate: &Gate,
) -> anyhow::Result<Traced> {
    let file = open_requests(path)?;
    let provenance = file.provenance();
    let name = |device| visible(&device_name(device, &provenance)).into_owned();
    let mut counts = analysed.response.density();
    let mut over_time: BTreeMap<u32, Counted> = analysed.response.over_time().into_iter().collect();
    let widest = over_time.values().map(|over| over.width_ns).max().unwrap_or(0);
    let width_ns = counts.even(widest);
    over_time.values_mut().for_each(|over| over.widen_to(width_ns));
    let devices = density::busiest(&counts);
    over_time.retain(|device, _| devices.contains(device));
    let lasted = over_time.values().map(|over| over.bins.len() as u64);
    let count = lasted.chain([density::times_used(&counts, &devices)]).max().unwrap_or(0);
    let times = Times { from_ns: density::begin_ns(&file), width_ns, count };
    let spans = analysed.response.storm_spans();
    let opened = of_storms(&file, &spans, &context_of(path)?, gate)?;
    let of_device = |device: &u32| density::maps(&counts, *device, &name(*device), &times);
    let shown = |device: &u32| shown(over_time.get(device)?, name(*device), &times);
    Ok(Traced {
        density: devices.iter().flat_map(of_device).collect(),
        over_time: devices.iter().filter_map(shown).collect(),
        marks: devices.iter().map(|of| (name(*of), marks(*of, &spans, &opened, &times))).collect(),
        storms: opened.into_iter().map(|opened| opened.storm).collect(),
        all_storms: spans.len(),
    })
}

/// A device over these bins of time.
fn shown(over: &Counted, device: String, times: &Times) -> Option<OverTime> {
    let width_ns = times.width_ns as f64;
    let bins = over.bins.iter().map(|bin| Bin {
        depth_mean: bin.depth_ns as f64 / width_ns,
        depth_max: bin.depth_max as f64,
        reads: means(&bin.reads),
        others: means(&bin.others),
    });
    let mut bins: Vec<Bin> = bins.collect();
    bins.resize(usize::try_from(times.count).ok()?.max(bins.len()), Bin::default());
    Some(OverTime { device, from_ns: times.edge(0), width_ns, bins })
}

/// Means over the requests that tell each part.
fn means(of: &Sums) -> Option<Parts> {
    (of.requests > 0).then(|| Parts {
        queue_ns: (of.waits > 0).then(|| of.wait_ns as f64 / of.waits as f64),
        service_ns: of.service_ns as f64 / of.requests as f64,
    })
}

/// When a device had storms, to the bin, and exactly where those lie that are opened.
fn marks(device: u32, spans: &[StormSpan], opened: &[OpenedAt], times: &Times) -> Vec<Band> {
    let own = spans.iter().filter(|span| span.device == device);
    let mut bins: Vec<(u64, u64)> =
        own.map(|span| (times.bin_of(span.start_ns), times.bin_of(span.end_ns) + 1)).collect();
    bins.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (from, until) in bins {
        match joined.last_mut() {
            Some((_, last)) if from <= *last => *last = until.max(*last),
            _ => joined.push((from, until)),
        }
    }
    let band = |(from, until)| Band {
        from: times.edge(from),
        until: times.edge(until),
        label: String::new(),
    };
    let numbered = opened.iter().enumerate().filter(|(_, opened)| opened.span.device == device);
    let numbered = numbered.map(|(number, OpenedAt { span, .. })| Band {
        from: span.start_ns.max(0) as f64,
        until: span.end_ns.max(0) as f64,
        label: (number + 1).to_string(),
    });
    joined.into_iter().map(band).chain(numbered).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(device: u32, start_ns: i64, end_ns: i64) -> StormSpan {
        StormSpan {
            device,
            kind: "background writes",
            start_ns,
            end_ns,
            requests: 1,
            depth_max: 1,
            behind_ns: 0,
        }
    }

    /// Imports may tell the device's time alone: then it is not known that nothing queued.
    #[test]
    fn queueing_that_is_not_told_is_no_mean_of_0() {
        let of = |waits| Sums { requests: 4, waits, wait_ns: 2000 * waits, service_ns: 400 };
        assert_eq!(means(&of(0)), Some(Parts { queue_ns: None, service_ns: 100.0 }));
        assert_eq!(means(&of(2)), Some(Parts { queue_ns: Some(2000.0), service_ns: 100.0 }));
        assert_eq!(means(&Sums::default()), None);
    }

    #[test]
    fn storms_of_neighbouring_bins_are_one_mark_and_of_other_devices_none() {
        let spans = [span(1, 5, 12), span(1, 21, 22), span(1, 70, 71), span(2, 40, 50)];
        let times = |from_ns| Times { from_ns, width_ns: 10, count: 9 };
        let ends = |from_ns| {
            let bands = marks(1, &spans, &[], &times(from_ns));
            bands.iter().map(|band| (band.from, band.until)).collect::<Vec<_>>()
        };
        assert_eq!(ends(0), [(0.0, 30.0), (70.0, 80.0)]);
        assert_eq!(ends(4), [(4.0, 24.0), (64.0, 74.0)], "bins begin with the data");
        assert_eq!(marks(2, &spans, &[], &times(0)).len(), 1);
    }
}
