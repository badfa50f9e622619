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
    lowest_bytes,
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
fn lowest_bytes(facts: &Facts) -> Option<Doubt> {
    let devices = &facts.after.devices;
    let names = |role| -> BTreeSet<&str> {
        devices.iter().filter(|device| device.role == role).map(|d| d.name.as_str()).collect()
    };
    if names(DeviceRole::Tested) == names(DeviceRole::Lowest) {
        return None;
    }
    let tested = traffic(facts.before, facts.after, DeviceRole::Tested)?;
    let lowest = traffic(facts.before, facts.after, DeviceRole::Lowest)?;
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

/// A closed loop keeps the depth requested, or the cell is not what its name says.
fn achieved_depth(facts: &Facts) -> Option<Doubt> {
    let achieved = facts.sample.depth_achieved?;
    let requested = (facts.sample.depth * facts.sample.jobs) as f64;
    let is_requested =
        facts.program.rate_iops.is_none() && facts.program.iodepth > 1 && touches_device(facts);
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
mod tests {
    use super::*;
    use model::seam::CpuCounters;
    use model::workload::Access;

    /// A sound direct read pass: 100 MB in one second, one request at a time.
    fn sound() -> (Program, Sample, Counters, Counters) {
        let program = Program { direct: true, bs: 8192, ..Program::new("p", Access::Read) };
        let sample = Sample {
            jobs: 1,
            depth: 1,
            bytes: 100_000_000,
            operations: 12_207,
            wall_ns: 1_000_000_000,
            cpu_system_ns: 300_000_000,
            cpu_elsewhere_ns: Some(0),
            depth_achieved: Some(0.98),
            device_depth: Some(0.8),
            service_sum_ns: 980_000_000,
            ..Sample::default()
        };
        let device = |bytes: u64, role| DeviceCounters {
            name: format!("{role:?}"),
            role,
            read_bytes: bytes,
            write_bytes: 0,
            requests: bytes / 8192,
            flushes: None,
            in_flight_ns: 0,
        };
        let counters = |at_ns, bytes, idle_ns, kernel| Counters {
            at_ns,
            devices: vec![device(bytes, DeviceRole::Tested), device(bytes, DeviceRole::Lowest)],
            cpu: CpuCounters {
                cpus: 2,
                idle_ns,
                kernel_threads_ns: Some(kernel),
                ..CpuCounters::default()
            },
        };
        (
            program,
            sample,
            counters(0, 0, 0, 0),
            counters(1_000_000_000, 100_000_000, 1_600_000_000, 50_000_000),
        )
    }

    type Edit = fn(&mut Program, &mut Sample, &mut Counters);

    fn failures(edit: Edit) -> Vec<Doubt> {
        judged(edit, false)
    }

    fn judged(edit: Edit, is_cached: bool) -> Vec<Doubt> {
        let (mut program, mut sample, before, mut after) = sound();
        edit(&mut program, &mut sample, &mut after);
        judge(&Facts {
            program: &program,
            bytes_read: if program.rw.reads() { sample.bytes } else { 0 },
            bytes_written: if program.rw.writes() { sample.bytes } else { 0 },
            sample: &sample,
            before: &before,
            after: &after,
            harness_ns_per_operation: 25.0,
            is_cached,
        })
    }

    #[test]
    fn a_sound_pass_passes() {
        assert_eq!(failures(|_, _, _| ()), []);
    }

    #[test]
    fn each_check_finds_its_fault_and_only_that() {
        let faults: [(Code, &str, f64, Edit); 14] = [
            (Code::DeviceReadLess, "percent", 5.0, |_, _, c| {
                c.devices.iter_mut().for_each(|d| d.read_bytes = 5_000_000)
            }),
            (Code::DeviceReadMore, "ratio", 1.5, |_, _, c| {
                c.devices.iter_mut().for_each(|d| d.read_bytes = 150_000_000)
            }),
            (Code::DeviceWroteLess, "percent", 0.0, |p, _, _| p.rw = Access::Write),
            (Code::DeviceWroteMore, "ratio", 2.0, |p, _, c| {
                p.rw = Access::Write;
                c.devices.iter_mut().for_each(|d| d.write_bytes = 200_000_000);
            }),
            (Code::CacheBeneath, "percent", 0.001, |_, _, c| c.devices[1].read_bytes = 1_000),
            (Code::LittleExceeded, "outstanding", 600.0, |_, s, _| s.depth_achieved = Some(600.0)),
            (Code::KernelDepthExceeded, "in_flight", 3.0, |_, s, _| s.device_depth = Some(3.0)),
            (Code::DepthNotReached, "requested", 32.0, |p, s, _| {
                (p.iodepth, s.depth) = (32, 32);
            }),
            (Code::HarnessShare, "percent", 30.0, |p, s, _| {
                (p.fsync, s.operations) = (1, 12_000_000);
            }),
            (Code::RateNotReached, "reached_iops", 12_207.0, |p, _, _| {
                p.rate_iops = Some(20_000.0);
            }),
            (Code::StolenTime, "percent", 5.0, |_, s, _| s.stolen_ns = 100_000_000),
            (Code::OtherPrograms, "percent", 50.0, |_, s, _| {
                s.cpu_elsewhere_ns = Some(500_000_000);
            }),
            (Code::TestBedExceedsKernel, "workers_ms", 90.0, |_, s, _| {
                s.cpu_test_bed_ns = Some(90_000_000);
            }),
            (Code::TaskClocksExceedBusy, "tasks_ms", 1200.0, |_, _, c| {
                c.cpu.kernel_threads_ns = Some(900_000_000);
            }),
        ];
        for (code, name, figure, edit) in faults {
            let found = failures(edit);
            let codes: Vec<Code> = found.iter().map(|doubt| doubt.code).collect();
            assert_eq!(codes, [code], "{found:?}");
            assert_eq!(found[0].values[name], figure.into(), "{found:?}");
        }
    }

    #[test]
    fn what_the_page_cache_serves_must_not_come_from_the_device() {
        let found = |edit| judged(edit, true);
        assert_eq!(found(|_, _, c| reads(c, 6_000_000)), []);
        let missed = [("percent", 50.0.into())];
        let half = found(|_, _, c| reads(c, 50_000_000));
        assert_eq!(half, [Doubt::new(Code::CacheMissed, missed)]);
        assert_eq!(found(|_, _, c| reads(c, 6_000_001)).len(), 1);
        // Writes may reach it whenever they like.
        assert_eq!(found(|p, _, _| p.rw = Access::RandRw), []);
    }

    #[test]
    fn the_null_engine_has_no_device_to_agree_with() {
        let found = failures(|p, _, c| {
            p.ioengine = Some(EngineKind::Null);
            c.devices.iter_mut().for_each(|d| d.read_bytes = 0);
        });
        assert_eq!(found, []);
    }

    #[test]
    fn no_cache_lies_between_a_device_and_itself() {
        let found = failures(|_, _, c| {
            writes(c, [5_000_000, 0]);
            c.devices.iter_mut().for_each(|device| device.name = "vda".into());
        });
        assert_eq!(found, []);
    }

    fn reads(counters: &mut Counters, bytes: u64) {
        counters.devices.iter_mut().for_each(|d| d.read_bytes = bytes);
    }

    fn writes(counters: &mut Counters, bytes: [u64; 2]) {
        counters.devices.iter_mut().zip(bytes).for_each(|(d, bytes)| d.write_bytes = bytes);
    }

    /// Each bound, just kept and just passed.
    #[test]
    #[allow(clippy::too_many_lines, reason = "a table")]
    fn each_check_has_its_bound() {
        let bounds: [(Code, Edit, Edit); 21] = [
            (Code::DeviceReadLess, |_, _, c| reads(c, 98_000_000), |_, _, c| reads(c, 97_999_999)),
            (
                Code::DeviceReadMore,
                |_, _, c| reads(c, 129_000_000),
                |_, _, c| reads(c, 129_000_001),
            ),
            (
                Code::CacheBeneath,
                |_, _, c| writes(c, [4_000_000, 0]),
                |_, _, c| writes(c, [4_000_001, 0]),
            ),
            (
                Code::CacheBeneath,
                |_, _, c| writes(c, [100_000_000, 98_000_000]),
                |_, _, c| writes(c, [100_000_000, 97_999_999]),
            ),
            (
                Code::LittleExceeded,
                |_, s, _| (s.depth, s.jobs, s.depth_achieved) = (2, 3, Some(6.06)),
                |_, s, _| (s.depth, s.jobs, s.depth_achieved) = (2, 3, Some(6.07)),
            ),
            (
                Code::KernelDepthExceeded,
                |_, s, _| s.device_depth = Some(1.128),
                |_, s, _| s.device_depth = Some(1.130),
            ),
            // More requests than operations, or fewer, are not one for one.
            (
                Code::KernelDepthExceeded,
                |_, s, _| (s.device_depth, s.operations) = (Some(9.0), 12_850),
                |_, s, _| (s.device_depth, s.operations) = (Some(9.0), 12_849),
            ),
            (
                Code::KernelDepthExceeded,
                |_, s, _| (s.device_depth, s.operations) = (Some(9.0), 11_625),
                |_, s, _| (s.device_depth, s.operations) = (Some(9.0), 11_627),
            ),
            (
                Code::KernelDepthExceeded,
                |p, s, _| (s.device_depth, p.direct) = (Some(9.0), false),
                |_, s, _| s.device_depth = Some(9.0),
            ),
            (
                Code::KernelDepthExceeded,
                |p, s, _| (s.device_depth, p.fsync) = (Some(9.0), 1),
                |_, s, _| s.device_depth = Some(9.0),
            ),
            (
                Code::DepthNotReached,
                |p, s, _| (p.iodepth, s.depth, s.depth_achieved) = (2, 2, Some(1.801)),
                |p, s, _| (p.iodepth, s.depth, s.depth_achieved) = (2, 2, Some(1.799)),
            ),
            (
                Code::DepthNotReached,
                |p, s, _| {
                    (p.iodepth, s.depth, s.jobs) = (2, 2, 2);
                    (s.sync_ns, s.depth_achieved) = (1_000_000_000, Some(1.801));
                },
                |p, s, _| {
                    (p.iodepth, s.depth, s.jobs) = (2, 2, 2);
                    (s.sync_ns, s.depth_achieved) = (1_000_000_000, Some(1.799));
                },
            ),
            // An open loop keeps its rate, and one request at a time is no depth.
            (
                Code::DepthNotReached,
                |p, s, _| (p.rate_iops, p.iodepth, s.depth) = (Some(9.0), 2, 2),
                |p, s, _| (p.iodepth, s.depth) = (2, 2),
            ),
            (
                Code::DepthNotReached,
                |_, s, _| s.depth_achieved = Some(0.5),
                |p, s, _| (p.iodepth, s.depth, s.depth_achieved) = (2, 1, Some(0.5)),
            ),
            (
                Code::HarnessShare,
                |_, s, _| (s.jobs, s.operations) = (2, 8_000_000),
                |_, s, _| (s.jobs, s.operations) = (2, 8_000_001),
            ),
            (
                Code::RateNotReached,
                |p, _, _| p.rate_iops = Some(12_330.0),
                |p, _, _| p.rate_iops = Some(12_331.0),
            ),
            (
                Code::RateNotReached,
                |p, s, _| (p.rate_iops, s.jobs, s.sync_ns) = (Some(12_330.0), 2, 1_000_000_000),
                |p, s, _| (p.rate_iops, s.jobs, s.sync_ns) = (Some(12_331.0), 2, 1_000_000_000),
            ),
            (
                Code::StolenTime,
                |_, s, _| s.stolen_ns = 60_000_000,
                |_, s, _| s.stolen_ns = 60_000_001,
            ),
            (
                Code::OtherPrograms,
                |_, s, _| s.cpu_elsewhere_ns = Some(120_000_000),
                |_, s, _| s.cpu_elsewhere_ns = Some(120_000_001),
            ),
            (
                Code::TaskClocksExceedBusy,
                |_, s, _| (s.cpu_user_ns, s.cpu_uncertainty_ns) = (100_000_000, 10_000_000),
                |_, s, _| (s.cpu_user_ns, s.cpu_uncertainty_ns) = (100_000_001, 10_000_000),
            ),
            (
                Code::TestBedExceedsKernel,
                |_, s, _| s.cpu_test_bed_ns = Some(72_500_000),
                |_, s, _| s.cpu_test_bed_ns = Some(72_500_001),
            ),
        ];
        for (row, (code, keeps, passes)) in bounds.into_iter().enumerate() {
            let is_found = |edit| failures(edit).iter().any(|doubt| doubt.code == code);
            assert!(!is_found(keeps) && is_found(passes), "{row} {code:?}");
        }
    }

    #[test]
    fn what_a_pass_does_not_do_is_not_looked_for() {
        // A read pass whose file system writes, and a pass without a harness to speak of.
        for edit in [
            (|_, _, c| writes(c, [3_000_000, 3_000_000])) as Edit,
            |p, s, _| (p.ioengine, s.operations) = (Some(EngineKind::Null), 12_000_000),
            |p, s, _| {
                (p.ioengine, p.iodepth) = (Some(EngineKind::Null), 32);
                s.depth = 32;
            },
        ] {
            assert_eq!(failures(edit), []);
        }
    }

    #[test]
    fn the_traffic_is_that_of_all_devices_of_a_role() {
        let device = |role, n: u64| DeviceCounters {
            name: "x".into(),
            role,
            read_bytes: n,
            write_bytes: 10 * n,
            requests: 100 * n,
            flushes: Some(n),
            in_flight_ns: 1000 * n,
        };
        use DeviceRole::{Lowest, Tested};
        let counters = |of: &[(DeviceRole, u64)]| Counters {
            devices: of.iter().map(|(role, n)| device(*role, *n)).collect(),
            ..sound().2
        };
        let before = counters(&[(Tested, 1), (Tested, 2), (Lowest, 50)]);
        let after = counters(&[(Tested, 4), (Tested, 6), (Lowest, 60)]);
        for (role, n) in [(Tested, 7), (Lowest, 10)] {
            let found = traffic(&before, &after, role).unwrap();
            assert_eq!((found.read_bytes, found.write_bytes), (n, 10 * n));
            assert_eq!((found.requests, found.in_flight_ns), (100 * n, 1000 * n));
        }
        assert!(traffic(&before, &counters(&[(Tested, 4)]), Lowest).is_none());
        assert_eq!([percent(1.0, 4.0), percent(1.0, 0.0)], [25.0, 0.0]);
    }

    #[test]
    fn what_an_account_exceeds_is_told_in_ms() {
        let tasks = failures(|_, _, c| c.cpu.kernel_threads_ns = Some(900_000_000));
        assert_eq!(tasks[0].values["busy_ms"], 400.0.into());
        let workers = failures(|_, s, _| s.cpu_test_bed_ns = Some(90_000_000));
        assert_eq!(workers[0].values["kernel_ms"], 50.0.into());
    }
}
