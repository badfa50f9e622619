//! The checks that every pass must pass before its rate may be called a number.
//! Each is a function of one table that gives the doubt where it fails. The bounds are stated, not
//! tuned.

mod meanwhile;

pub(crate) use meanwhile::Meanwhile;
use meanwhile::{cpu_accounts, elsewhere, stolen};
use model::doubt::{Code, Doubt};
use model::record::Sample;
use model::seam::{Counters, DeviceCounters, DeviceRole};
use model::workload::{EngineKind, Program};
use std::collections::BTreeSet;

/// A read pass from cold caches must have fetched this share of its bytes from the device.
const SERVED_SHARE_MIN: f64 = 0.98;
/// More than this share at the device is amplification, or somebody else.
const AMPLIFIED_SHARE_MAX: f64 = 1.25;
/// Bytes that a file system may read or write beside the data before it counts (its own maps and
/// journal).
const METADATA_BYTES: f64 = 4e6;
/// Mean requests outstanding may exceed what was requested by rounding only.
const LITTLE_EXCESS_MAX: f64 = 1.01;
/// A closed loop must keep this share of the depth requested.
const DEPTH_SHARE_MIN: f64 = 0.9;
/// The harness may take this share of the job's time.
const HARNESS_SHARE_MAX: f64 = 0.1;
/// An open loop must reach this share of the rate requested.
const RATE_SHARE_MIN: f64 = 0.99;

pub(crate) struct Facts<'a> {
    pub(crate) program: &'a Program,
    pub(crate) sample: &'a Sample,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    pub(crate) before: &'a Counters,
    pub(crate) after: &'a Counters,
    pub(crate) harness_ns_per_operation: f64,
    /// The page cache is to serve it: reads reach no device, and writes later.
    pub(crate) is_cached: bool,
}

/// A check: what is to be doubted, if it fails.
type Check = fn(&Facts) -> Option<Doubt>;

/// Every check, in the order in which they are printed.
const CHECKS: &[Check] = &[
    device_bytes,
    cached_bytes,
    |facts| lowest_bytes(facts.before, facts.after),
    little,
    kernel_depth,
    achieved_depth,
    generator,
    asked_rate,
    |facts| stolen(&facts.meanwhile()),
    |facts| elsewhere(&facts.meanwhile()),
    |facts| cpu_accounts(&facts.meanwhile()),
    test_bed,
];

/// The doubts of all checks that failed; empty where the pass is sound.
pub(crate) fn judge(facts: &Facts) -> Vec<Doubt> {
    CHECKS.iter().filter_map(|check| check(facts)).collect()
}

impl<'a> Facts<'a> {
    fn meanwhile(&self) -> Meanwhile<'a> {
        Meanwhile { sample: self.sample, before: self.before, after: self.after }
    }
}

/// A device's traffic during the pass.
pub(crate) struct Traffic {
    pub(crate) read_bytes: u64,
    pub(crate) write_bytes: u64,
    pub(crate) requests: u64,
    pub(crate) flushes: Option<u64>,
    pub(crate) in_flight_ns: u64,
}

/// The traffic of all devices of a role; none where the subject has none.
pub(crate) fn traffic(before: &Counters, after: &Counters, role: DeviceRole) -> Option<Traffic> {
    let of = |counters: &Counters| -> Vec<DeviceCounters> {
        counters.devices.iter().filter(|d| d.role == role).cloned().collect()
    };
    let (before, after) = (of(before), of(after));
    if after.is_empty() {
        return None;
    }
    let difference = |field: fn(&DeviceCounters) -> u64| -> u64 {
        let sum = |devices: &[DeviceCounters]| devices.iter().map(field).sum::<u64>();
        sum(&after).saturating_sub(sum(&before))
    };
    Some(Traffic {
        read_bytes: difference(|d| d.read_bytes),
        write_bytes: difference(|d| d.write_bytes),
        requests: difference(|d| d.requests),
        flushes: after
            .iter()
            .all(|device| device.flushes.is_some())
            .then(|| difference(|d| d.flushes.unwrap_or(0))),
        in_flight_ns: difference(|d| d.in_flight_ns),
    })
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

/// A doubt whose only figure is a share.
fn share(code: Code, part: f64, whole: f64) -> Doubt {
    Doubt::new(code, [("percent", percent(part, whole).into())])
}

fn touches_device(facts: &Facts) -> bool {
    facts.program.engine() != EngineKind::Null && !facts.is_cached
}

/// What the page cache is to serve must not come from the device.
fn cached_bytes(facts: &Facts) -> Option<Doubt> {
    let fetched = traffic(facts.before, facts.after, DeviceRole::Tested)?.read_bytes as f64;
    let (program, is_read) = (facts.bytes_read as f64, facts.bytes_written == 0);
    let is_missed = fetched > (1.0 - SERVED_SHARE_MIN) * program + METADATA_BYTES;
    (facts.is_cached && is_read && is_missed).then(|| share(Code::CacheMissed, fetched, program))
}

/// The program's bytes against the device's: the page cache and amplification show here.
fn device_bytes(facts: &Facts) -> Option<Doubt> {
    if !touches_device(facts) {
        return None;
    }
    let traffic = traffic(facts.before, facts.after, DeviceRole::Tested)?;
    let directions = [
        (facts.bytes_read, traffic.read_bytes, Code::DeviceReadLess, Code::DeviceReadMore),
        (facts.bytes_written, traffic.write_bytes, Code::DeviceWroteLess, Code::DeviceWroteMore),
    ];
    directions.into_iter().find_map(|(program, device, less, more)| {
        let (program, device) = (program as f64, device as f64);
        if program == 0.0 {
            None
        } else if device < SERVED_SHARE_MIN * program {
            Some(share(less, device, program))
        } else if device > AMPLIFIED_SHARE_MAX * program + METADATA_BYTES {
            Some(Doubt::new(more, [("ratio", (device / program).into())]))
        } else {
            None
        }
    })
}

/// What the tested device moved must have come through the lowest one beneath it. Where it is the
/// lowest itself, its two counts are of two moments. One doubt for both directions: one cause.
pub(crate) fn lowest_bytes(before: &Counters, after: &Counters) -> Option<Doubt> {
    let devices = &after.devices;
    let names = |role| -> BTreeSet<&str> {
        devices.iter().filter(|device| device.role == role).map(|d| d.name.as_str()).collect()
    };
    if names(DeviceRole::Tested) == names(DeviceRole::Lowest) {
        return None;
    }
    let tested = traffic(before, after, DeviceRole::Tested)?;
    let lowest = traffic(before, after, DeviceRole::Lowest)?;
    let directions = [
        (tested.read_bytes as f64, lowest.read_bytes as f64),
        (tested.write_bytes as f64, lowest.write_bytes as f64),
    ];
    directions
        .into_iter()
        .find(|(above, beneath)| *above > METADATA_BYTES && *beneath < SERVED_SHARE_MIN * above)
        .map(|(above, beneath)| share(Code::CacheBeneath, beneath, above))
}

/// N = X·R: no more requests can have been outstanding than were allowed.
fn little(facts: &Facts) -> Option<Doubt> {
    let achieved = facts.sample.depth_achieved?;
    let allowed = (facts.sample.depth * facts.sample.jobs) as f64;
    (achieved > LITTLE_EXCESS_MAX * allowed).then(|| {
        let values = [("outstanding", achieved.into()), ("allowed", allowed.into())];
        Doubt::new(Code::LittleExceeded, values)
    })
}

/// With direct requests, one for one, the device cannot hold more than the program has outstanding.
fn kernel_depth(facts: &Facts) -> Option<Doubt> {
    let traffic = traffic(facts.before, facts.after, DeviceRole::Tested)?;
    let (device, program) = (facts.sample.device_depth?, facts.sample.depth_achieved?);
    let ratio = traffic.requests as f64 / facts.sample.operations.max(1) as f64;
    let is_one_for_one =
        facts.program.direct && facts.program.sync().is_none() && (0.95..1.05).contains(&ratio);
    (is_one_for_one && device > 1.05 * program + 0.1).then(|| {
        let values = [("in_flight", device.into()), ("outstanding", program.into())];
        Doubt::new(Code::KernelDepthExceeded, values)
    })
}

/// Whether the page cache answers: buffered writes always, reads where the device did not read what
/// the program read, which is a doubt by itself. Such requests are completed within the call that
/// submits them, so that few are outstanding, whatever the engine and the device.
fn is_answered_by_cache(facts: &Facts) -> bool {
    let Some(traffic) = traffic(facts.before, facts.after, DeviceRole::Tested) else {
        return false;
    };
    let fetched = traffic.read_bytes as f64;
    let reads_from_device =
        facts.bytes_read > 0 && fetched >= SERVED_SHARE_MIN * facts.bytes_read as f64;
    !facts.program.direct && !reads_from_device
}

/// A closed loop keeps the depth requested, or the cell is not what its name says. Where the page
/// cache answers, no device and no queue is short of it, and nobody can mend it.
fn achieved_depth(facts: &Facts) -> Option<Doubt> {
    let achieved = facts.sample.depth_achieved?;
    let requested = (facts.sample.depth * facts.sample.jobs) as f64;
    let is_requested = facts.program.rate_iops.is_none()
        && facts.program.iodepth > 1
        && touches_device(facts)
        && !is_answered_by_cache(facts);
    // The final fdatasync and fsyncs of a stream hold no data request in flight.
    let streaming = 1.0
        - facts.sample.sync_ns as f64
            / (facts.sample.wall_ns.max(1) * facts.sample.jobs.max(1)) as f64;
    (is_requested && achieved < DEPTH_SHARE_MIN * requested * streaming).then(|| {
        let values = [("outstanding", achieved.into()), ("requested", requested.into())];
        Doubt::new(Code::DepthNotReached, values)
    })
}

/// The harness's own time must be small against what it measures.
fn generator(facts: &Facts) -> Option<Doubt> {
    let harness = facts.harness_ns_per_operation * facts.sample.operations as f64;
    let time = (facts.sample.wall_ns * facts.sample.jobs) as f64;
    (touches_device(facts) && harness > HARNESS_SHARE_MAX * time)
        .then(|| share(Code::HarnessShare, harness, time))
}

/// An open loop that falls behind its schedule measures its own queue.
fn asked_rate(facts: &Facts) -> Option<Doubt> {
    let requested = facts.program.rate_iops? * facts.sample.jobs as f64;
    let streaming_ns =
        facts.sample.wall_ns.saturating_sub(facts.sample.sync_ns / facts.sample.jobs.max(1));
    let reached = facts.sample.operations as f64 / streaming_ns.max(1) as f64 * 1e9;
    (reached < RATE_SHARE_MIN * requested).then(|| {
        let values = [("requested_iops", requested.into()), ("reached_iops", reached.into())];
        Doubt::new(Code::RateNotReached, values)
    })
}

/// The test bed's workers are kernel threads: their time by tracepoint cannot exceed all kernel
/// threads' time by their own clocks, but for a stay that one of them counts later.
fn test_bed(facts: &Facts) -> Option<Doubt> {
    let (before, after) = (&facts.before.cpu, &facts.after.cpu);
    let kernel = after.kernel_threads_ns?.saturating_sub(before.kernel_threads_ns?) as f64;
    let workers = facts.sample.cpu_test_bed_ns? as f64;
    (workers > 1.05 * kernel + 2e7).then(|| {
        let values = [("workers_ms", (workers / 1e6).into()), ("kernel_ms", (kernel / 1e6).into())];
        Doubt::new(Code::TestBedExceedsKernel, values)
    })
}

#[cfg(test)]
mod tests;
