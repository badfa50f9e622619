//! A run's requests as the heat maps of its page: all parts of the file, as many at once as there
//! are cores.
//!
//! Non-goals: what is a bin (`analyze::density`); the charts (`report::page`).

use super::Watch;
use crate::print::exit::{Fault, failure, of_records};
use crate::run::trace::{device_name, open_requests};
use analyze::density::{Density as Counts, Plane, response_from_ns};
use model::record::requests::RequestFile;
use model::record::{Op, RecordError};
use model::text::visible;
use report::page::density::{Density, Over};
use std::path::Path;
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

/// Devices that the page has heat maps of, the busiest first.
const MOST_DEVICES: usize = 2;

/// The heat maps of a file of requests.
/// Errors: records that cannot be read; interruption.
pub(super) fn of_requests(path: &Path, watch: &Watch) -> anyhow::Result<Vec<Density>> {
    let file = open_requests(path)?;
    let counts = counted(&file, watch)?;
    let name = |device| visible(&device_name(device, &file.provenance())).into_owned();
    let mut devices: Vec<(u64, u32)> = Vec::new();
    for (device, _) in counts.planes.keys() {
        let of = |op| counts.planes.get(&(*device, op)).map_or(0, |of| of.responses.total());
        devices.push((of(Op::Read) + of(Op::Write), *device));
    }
    devices.sort_unstable_by(|a, b| b.cmp(a));
    devices.dedup();
    let directions = [(Op::Read, "reads"), (Op::Write, "writes")];
    let mut maps = Vec::new();
    for (_, device) in devices.into_iter().take(MOST_DEVICES) {
        for over in [Over::Responses, Over::Places] {
            maps.extend(directions.iter().filter_map(|(op, requests)| {
                let planes = counts.planes.get(&(device, *op))?;
                let plane = match over {
                    Over::Responses => &planes.responses,
                    Over::Places => &planes.places,
                };
                map(plane, over, name(device), requests)
            }));
        }
    }
    Ok(maps)
}

fn counted(file: &RequestFile, watch: &Watch) -> anyhow::Result<Counts> {
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
fn map(plane: &Plane, over: Over, device: String, requests: &str) -> Option<Density> {
    let (first, last) = plane.others_used()?;
    let times = plane.times_used();
    let lines = first..=last;
    let of_line = |other: u64| (0..times).map(move |time| plane.count(time, other));
    let ends = match &plane.others {
        Some(bins) => ((first * bins.width) as f64, ((last + 1) * bins.width) as f64),
        None => (response_from_ns(first), response_from_ns(last + 1)),
    };
    Some(Density {
        device,
        requests: requests.to_owned(),
        over,
        times: ((times * plane.times.width) as f64, usize::try_from(times).ok()?),
        others: (ends, usize::try_from(last + 1 - first).ok()?),
        counts: lines.flat_map(of_line).collect(),
    })
}
