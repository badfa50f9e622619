//! What was found, number by number, with its interval; and beside it the truth, where the device
//! is a model.

use analyze::calibrate::buffer::Buffer;
use analyze::calibrate::{Fit, Range};
use experiment::calibrate::LARGE_BYTES;
use model::calibration::{Class, Disk, Pattern};
use report::calibrated::{Known, Unit};
use sim::drive::CachedDrive;
use sim::drive::flash::Parameters;
use sim::profile::Profile;
use sim::replay::{ReplayMachine, closed_loop};

/// Seeks that are shown.
const SEEKS: usize = 6;

/// Virtual time of writes that go on for long: what a buffer takes first is little of it.
const LONG_NS: u64 = 20_000_000_000;

/// The numbers of a disk's inside.
pub(super) fn of_disk(disk: &Disk, truth: Option<&Profile>) -> Vec<Known> {
    let drive = truth.and_then(|profile| CachedDrive::read(&profile.reader().below("drive")).ok());
    let drive = drive.as_ref();
    let time = |name: &str, [low, value, high]: [f64; 3], truth: Option<f64>| Known {
        name: name.to_owned(),
        unit: Unit::Time,
        low,
        value,
        high,
        truth,
    };
    let count = |name: &str, value: f64, truth: Option<f64>| Known {
        name: name.to_owned(),
        unit: Unit::Count,
        low: value,
        value,
        high: value,
        truth,
    };
    let mut all =
        vec![time("revolution", disk.turn_ns, drive.map(|drive| drive.mechanics.revolution_ns))];
    let layout = drive.map(|drive| &drive.mechanics.layout);
    if let Some(heads) = disk.heads {
        all.push(count("heads", heads as f64, layout.map(|layout| f64::from(layout.heads()))));
        let least = disk.seeks.len().div_ceil(SEEKS).max(1);
        for seek in disk.seeks.iter().step_by(least) {
            let name = format!("seek over {} cylinders", seek.distance);
            let distance = u32::try_from(seek.distance).unwrap_or(u32::MAX);
            let of_truth = drive.map(|drive| drive.mechanics.seek.time_ns(distance));
            let within = [seek.low_ns, seek.low_ns.midpoint(seek.high_ns), seek.high_ns];
            all.push(time(&name, within, of_truth));
        }
    }
    if let Some(switch_ns) = disk.switch_ns {
        let of_truth = drive.map(|drive| drive.mechanics.head_switch_ns);
        all.push(time("head switch", switch_ns, of_truth));
    }
    let outer = disk.zones.first().map_or(0.0, |zone| zone.sectors as f64);
    let of_truth = layout.and_then(|layout| layout.zones().first());
    all.push(count("sectors on the outer track", outer, of_truth.map(|z| f64::from(z.sectors))));
    // Neighbours with as many sectors are one.
    let zones = layout.map(|layout| {
        let changes = layout.zones().windows(2).filter(|pair| pair[0].sectors != pair[1].sectors);
        1.0 + changes.count() as f64
    });
    all.push(count("zones", disk.zones.len() as f64, zones));
    let miss_ns = drive.map(|drive| {
        let of = &drive.overheads;
        of.read_miss.read_ns + of.reselect_ns + of.data_preparation_ns + of.read_complete_ns
    });
    all.push(time("a read's command", disk.command_ns, miss_ns));
    if disk.keeps {
        let segments = drive.map(|drive| drive.rules.segments as f64);
        let found = count("cache segments", disk.segments as f64, segments);
        // One may be for writes alone, or in use as another is asked for.
        all.push(Known { high: found.value + 1.0, ..found });
    }
    all
}

/// The numbers of a black box.
pub(super) fn of_fit(fit: &Fit, truth: Option<&Profile>) -> Vec<Known> {
    let mut all = vec![];
    let directions = [("read", Some(&fit.read)), ("write", fit.write.as_ref())];
    for (name, direction) in directions {
        let Some(direction) = direction else { continue };
        let paths = [("random", &direction.random), ("sequential", &direction.sequential)];
        for (order, path) in paths {
            let reader = truth.map(|profile| profile.reader());
            let of_truth = reader.as_ref().and_then(|reader| {
                let own = reader.below("drive").below(name);
                own.time_ns(order).or_else(|_| own.time_ns("random")).ok()
            });
            let Range { value, low, high } = path.fixed_ns;
            all.push(Known {
                name: format!("{order} {name}, without the transfer"),
                unit: Unit::Time,
                low,
                value,
                high,
                truth: of_truth,
            });
        }
    }
    all.extend(fit.buffer.iter().flat_map(|buffer| of_buffer(buffer, truth)));
    all
}

/// Its size and its draining as the drive's profile says; of flash, which has to collect, the rate
/// of writes that go on for long.
fn buffer_in_truth(profile: &Profile) -> Option<[f64; 2]> {
    let reader = profile.reader();
    let (drive, own) = (reader.below("drive"), reader.below("drive").below("buffer"));
    if let (Ok(size_bytes), Ok(drain)) = (own.size_bytes("size"), own.rate_bytes_per_s("drain")) {
        return Some([size_bytes as f64, drain]);
    }
    let drive = Parameters::read(&drive).ok()?;
    let class = Class {
        pattern: Pattern::Sequential,
        read_percent: 0,
        block_bytes: LARGE_BYTES,
        depth: 8,
        flushes: false,
    };
    let met = closed_loop(ReplayMachine::of(profile).ok()?, class, LONG_NS, 1).ok()?;
    let size_bytes = drive.buffer_units as f64 * drive.unit_bytes as f64;
    Some([size_bytes, met.rate() * LARGE_BYTES as f64])
}

fn of_buffer(buffer: &Buffer, truth: Option<&Profile>) -> Vec<Known> {
    let of_truth = truth.and_then(buffer_in_truth);
    let (size_bytes, drain_bytes_per_s) = (buffer.size_bytes, buffer.drain_bytes_per_s);
    let mut all = vec![
        ("write buffer", Unit::Bytes, size_bytes, of_truth.map(|of| of[0])),
        (
            "write buffer, drain rate under writes",
            Unit::BytesPerSecond,
            drain_bytes_per_s,
            of_truth.map(|of| of[1]),
        ),
    ];
    if let Some(idle) = buffer.idle_drain_bytes_per_s {
        all.push(("write buffer, drain rate while idle", Unit::BytesPerSecond, idle, None));
    }
    let known = |(name, unit, range, truth): (&str, Unit, Range, Option<f64>)| {
        let Range { value, low, high } = range;
        Known { name: name.to_owned(), unit, low, value, high, truth }
    };
    all.into_iter().map(known).collect()
}
