//! A run's requests as the heat maps of its page: all parts of the file, as many at once as there
//! are cores.
//!
//! Non-goals: what is a bin (`analyze::density`); the charts (`report::page`).

use super::Watch;
use crate::print::exit::{Fault, failure, of_records};
use analyze::density::{Density as Counts, Plane, response_from_ns};
use model::record::requests::RequestFile;
use model::record::{Op, RecordError};
use report::page::density::{Density, Over};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a bin asks of a row.
const COLUMNS: &[&str] = &[
    "device",
    "op",
    "flags",
    "offset_bytes",
    "queued_ns",
    "started_ns",
    "issued_ns",
    "completed_ns",
    "parent_id",
];

/// Devices that the page shows over time, the busiest first.
const MOST_DEVICES: usize = 2;

/// The devices with most requests.
pub(super) fn busiest(counts: &Counts) -> Vec<u32> {
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
pub(super) fn times_used(counts: &Counts, devices: &[u32]) -> u64 {
    let own = counts.planes.iter().filter(|((device, _), _)| devices.contains(device));
    let used = own.flat_map(|(_, of)| [of.responses.times_used(), of.places.times_used()]);
    used.max().unwrap_or(0)
}

/// The heat maps of a device, all of so many bins of time.
pub(super) fn maps(counts: &Counts, device: u32, name: &str, times: u64) -> Vec<Density> {
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

/// All requests of a file in their bins.
/// Errors: records that cannot be read; interruption.
pub(super) fn counted(file: &RequestFile, watch: &Watch) -> anyhow::Result<Counts> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let work = || -> anyhow::Result<Counts> {
        let mut counts = Counts::default();
        loop {
            let group = next.fetch_add(1, Ordering::Relaxed);
            if group >= file.groups() {
                return Ok(counts);
            }
            count_group(file, group, &mut counts, watch)?;
        }
    };
    let parts: Vec<anyhow::Result<Counts>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let ended = || anyhow::anyhow!("a thread that counts requests ended early");
        threads.into_iter().map(|one| one.join().map_err(|_| ended())?).collect()
    });
    let mut whole = Counts::default();
    for part in parts {
        whole.merge(part?);
    }
    Ok(whole)
}

fn count_group(
    file: &RequestFile,
    group: usize,
    counts: &mut Counts,
    watch: &Watch,
) -> anyhow::Result<()> {
    let read = |error: RecordError| of_records(error);
    let mut reader = file.read(group..group + 1, COLUMNS).map_err(read)?;
    while let Some(batch) = reader.next_batch().map_err(read)? {
        batch.for_each_chunk(|rows| rows.iter().for_each(|row| counts.add(row)));
        let stopped = |_| failure(Fault::Interrupted, "interrupted; no page was made");
        watch.pass(batch.len()).map_err(stopped)?;
    }
    Ok(())
}

/// A plane cut to what is used of it; none where nothing is.
fn map(plane: &Plane, over: Over, (device, requests): (&str, &str), times: u64) -> Option<Density> {
    let (first, last) = plane.others_used()?;
    let lines = first..=last;
    let of_line = |other: u64| (0..times).map(move |time| plane.count(time, other));
    let ends = match &plane.others {
        Some(bins) => ((first * bins.width) as f64, ((last + 1) * bins.width) as f64),
        None => (response_from_ns(first), response_from_ns(last + 1)),
    };
    Some(Density {
        device: device.to_owned(),
        requests: requests.to_owned(),
        over,
        times: ((times * plane.times.width) as f64, usize::try_from(times).ok()?),
        others: (ends, usize::try_from(last + 1 - first).ok()?),
        counts: lines.flat_map(of_line).collect(),
    })
}
