//! The checks that every pass must pass before its rate may be called a number.
//! Each is a row of one table: a name, its bound in words, and a function that
//! gives the sentence of what failed. The bounds are stated, not tuned.

use model::record::Sample;
use model::seam::{Counters, DeviceCounters, DeviceRole};
use model::workload::{EngineKind, Program};

/// A read pass from cold caches must have fetched this share of its bytes from the device.
const SERVED_SHARE_MIN: f64 = 0.98;
/// More than this share at the device is amplification, or somebody else.
const AMPLIFIED_SHARE_MAX: f64 = 1.25;
/// Bytes that a file system may read or write beside the data before it counts (its own maps and
/// journal).
const METADATA_BYTES: f64 = 4e6;
/// Mean requests outstanding may exceed what was asked by rounding only.
const LITTLE_EXCESS_MAX: f64 = 1.01;
/// A closed loop must keep this share of the depth that was asked of it.
const DEPTH_SHARE_MIN: f64 = 0.9;
/// The harness may take this share of the job's time.
const HARNESS_SHARE_MAX: f64 = 0.1;
/// An open loop must reach this share of the rate that was asked.
const RATE_SHARE_MIN: f64 = 0.99;
/// Stolen time as a share of all CPUs.
const STOLEN_SHARE_MAX: f64 = 0.02;
/// Other programs, as a share of one CPU.
const ELSEWHERE_SHARE_MAX: f64 = 0.1;

/// What the checks look at.
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

/// A named check. The sentence says what was seen and what that means.
type Check = (&'static str, fn(&Facts) -> Option<String>);

/// Every check, in the order in which their sentences are printed.
const CHECKS: &[Check] = &[
    ("device bytes", device_bytes),
    ("cached bytes", cached_bytes),
    ("lowest device", lowest_bytes),
    ("Little's law", little),
    ("kernel's depth", kernel_depth),
    ("achieved depth", achieved_depth),
    ("generator", generator),
    ("asked rate", asked_rate),
    ("stolen time", stolen),
    ("other programs", elsewhere),
    ("CPU accounts", cpu_accounts),
    ("test bed", test_bed),
];

/// The sentences of all checks that failed; empty where the pass is sound.
pub(crate) fn judge(facts: &Facts) -> Vec<String> {
    CHECKS.iter().filter_map(|(_, check)| check(facts)).collect()
}

/// A device's traffic during the pass.
pub(crate) struct Traffic {
    pub(crate) read_bytes: u64,
    pub(crate) write_bytes: u64,
    pub(crate) requests: u64,
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
        in_flight_ns: difference(|d| d.in_flight_ns),
    })
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

fn touches_device(facts: &Facts) -> bool {
    facts.program.engine() != EngineKind::Null && !facts.is_cached
}

/// What the page cache is to serve must not come from the device.
fn cached_bytes(facts: &Facts) -> Option<String> {
    let fetched = traffic(facts.before, facts.after, DeviceRole::Tested)?.read_bytes as f64;
    let (program, is_read) = (facts.bytes_read as f64, facts.bytes_written == 0);
    let is_missed = fetched > (1.0 - SERVED_SHARE_MIN) * program + METADATA_BYTES;
    (facts.is_cached && is_read && is_missed).then(|| {
        format!(
            "the device read {:.0} % of the bytes that the page cache was to serve",
            percent(fetched, program)
        )
    })
}

/// The program's bytes against the device's: the page cache and amplification show here.
fn device_bytes(facts: &Facts) -> Option<String> {
    if !touches_device(facts) {
        return None;
    }
    let traffic = traffic(facts.before, facts.after, DeviceRole::Tested)?;
    let directions = [
        (
            "read",
            facts.bytes_read as f64,
            traffic.read_bytes as f64,
            "the page cache served the rest",
        ),
        (
            "wrote",
            facts.bytes_written as f64,
            traffic.write_bytes as f64,
            "the rest was still in the page cache",
        ),
    ];
    directions.into_iter().find_map(|(verb, program, device, rest)| {
        if program == 0.0 {
            None
        } else if device < SERVED_SHARE_MIN * program {
            Some(format!(
                "the device {verb} {:.0} % of the bytes that the program {verb}: {rest}",
                percent(device, program)
            ))
        } else if device > AMPLIFIED_SHARE_MAX * program + METADATA_BYTES {
            Some(format!(
                "the device {verb} {:.2} × the bytes that the program {verb}: amplification, or \
                 somebody else's traffic",
                device / program
            ))
        } else {
            None
        }
    })
}

/// What the tested device moved must have come through the lowest one beneath it.
fn lowest_bytes(facts: &Facts) -> Option<String> {
    let tested = traffic(facts.before, facts.after, DeviceRole::Tested)?;
    let lowest = traffic(facts.before, facts.after, DeviceRole::Lowest)?;
    let directions = [
        (tested.read_bytes as f64, lowest.read_bytes as f64),
        (tested.write_bytes as f64, lowest.write_bytes as f64),
    ];
    // One sentence for both directions: it is one cause.
    directions
        .into_iter()
        .find(|(above, beneath)| *above > METADATA_BYTES && *beneath < SERVED_SHARE_MIN * above)
        .map(|(above, beneath)| {
            format!(
                "the disk beneath moved {:.0} % of what the tested device moved: a cache lies \
                 between",
                percent(beneath, above)
            )
        })
}

/// N = X·R: no more requests can have been outstanding than were allowed.
fn little(facts: &Facts) -> Option<String> {
    let achieved = facts.sample.depth_achieved?;
    let allowed = (facts.sample.depth * facts.sample.jobs) as f64;
    (achieved > LITTLE_EXCESS_MAX * allowed).then(|| {
        format!(
            "Little's law gives {achieved:.1} requests outstanding where {allowed:.0} were \
            allowed: a clock or a counter is wrong"
        )
    })
}

/// With direct requests, one for one, the device cannot hold more than the program has outstanding.
fn kernel_depth(facts: &Facts) -> Option<String> {
    let traffic = traffic(facts.before, facts.after, DeviceRole::Tested)?;
    let (device, program) = (facts.sample.device_depth?, facts.sample.depth_achieved?);
    let ratio = traffic.requests as f64 / facts.sample.operations.max(1) as f64;
    let is_one_for_one =
        facts.program.direct && facts.program.fsync == 0 && (0.95..1.05).contains(&ratio);
    (is_one_for_one && device > 1.05 * program + 0.1).then(|| {
        format!(
            "the kernel counts {device:.2} requests in flight where the program had \
            {program:.2} outstanding"
        )
    })
}

/// A closed loop keeps the depth that was asked of it, or the cell is not what its name says.
fn achieved_depth(facts: &Facts) -> Option<String> {
    let achieved = facts.sample.depth_achieved?;
    let asked = (facts.sample.depth * facts.sample.jobs) as f64;
    let is_asked =
        facts.program.rate_iops.is_none() && facts.program.iodepth > 1 && touches_device(facts);
    // The final fdatasync and fsyncs of a stream hold no data request in flight.
    let streaming = 1.0
        - facts.sample.sync_ns as f64
            / (facts.sample.wall_ns.max(1) * facts.sample.jobs.max(1)) as f64;
    (is_asked && achieved < DEPTH_SHARE_MIN * asked * streaming).then(|| {
        format!(
            "{achieved:.1} requests were outstanding in the mean where {asked:.0} were asked: \
            the interface completed them before it returned"
        )
    })
}

/// The harness's own time must be small against what it measures.
fn generator(facts: &Facts) -> Option<String> {
    let harness = facts.harness_ns_per_operation * facts.sample.operations as f64;
    let time = (facts.sample.wall_ns * facts.sample.jobs) as f64;
    (touches_device(facts) && harness > HARNESS_SHARE_MAX * time)
        .then(|| format!("the harness itself took {:.0} % of the time", percent(harness, time)))
}

/// An open loop that falls behind its schedule measures its own queue.
fn asked_rate(facts: &Facts) -> Option<String> {
    let asked = facts.program.rate_iops? * facts.sample.jobs as f64;
    let streaming_ns =
        facts.sample.wall_ns.saturating_sub(facts.sample.sync_ns / facts.sample.jobs.max(1));
    let reached = facts.sample.operations as f64 / streaming_ns.max(1) as f64 * 1e9;
    (reached < RATE_SHARE_MIN * asked).then(|| {
        format!(
            "{asked:.0} requests a second were asked and {reached:.0} reached: the path or the \
            generator cannot keep up"
        )
    })
}

/// Time that the hypervisor took away.
fn stolen(facts: &Facts) -> Option<String> {
    let interval = facts.after.at_ns.saturating_sub(facts.before.at_ns) as f64;
    let all = interval * f64::from(facts.after.cpu.cpus);
    let stolen = facts.sample.stolen_ns as f64;
    (stolen > STOLEN_SHARE_MAX * all).then(|| {
        format!("the hypervisor took {:.0} % of the CPUs' time away", percent(stolen, all))
    })
}

/// Other programs that ran meanwhile.
fn elsewhere(facts: &Facts) -> Option<String> {
    let interval = facts.after.at_ns.saturating_sub(facts.before.at_ns) as f64;
    let elsewhere = facts.sample.cpu_elsewhere_ns? as f64;
    // The kernel counts other programs in ticks of 10 ms.
    (elsewhere > ELSEWHERE_SHARE_MAX * interval + 2e7).then(|| {
        format!("other programs used {:.0} % of a CPU meanwhile", percent(elsewhere, interval))
    })
}

/// The accounts must fit into the machine: tasks' own clocks against the CPUs' busy time.
fn cpu_accounts(facts: &Facts) -> Option<String> {
    let (before, after) = (&facts.before.cpu, &facts.after.cpu);
    let interval = facts.after.at_ns.saturating_sub(facts.before.at_ns);
    let idle = after.idle_ns.saturating_sub(before.idle_ns);
    let busy = (interval * u64::from(after.cpus)).saturating_sub(idle) as f64;
    let kernel = after.kernel_threads_ns?.saturating_sub(before.kernel_threads_ns?);
    let own = facts.sample.cpu_user_ns + facts.sample.cpu_system_ns;
    let tasks = (own + kernel) as f64;
    let grain = facts.sample.cpu_uncertainty_ns as f64;
    (tasks > 1.05 * busy + grain + 2e7).then(|| {
        format!(
            "the tasks' own clocks add up to {:.0} ms, the CPUs were busy for {:.0} ms: the \
            CPU figures contradict each other",
            tasks / 1e6,
            busy / 1e6
        )
    })
}

/// The test bed's workers are kernel threads: their time by tracepoint cannot exceed all kernel
/// threads' time by their own clocks, but for a stay that one of them counts later.
fn test_bed(facts: &Facts) -> Option<String> {
    let (before, after) = (&facts.before.cpu, &facts.after.cpu);
    let kernel = after.kernel_threads_ns?.saturating_sub(before.kernel_threads_ns?) as f64;
    let workers = facts.sample.cpu_test_bed_ns? as f64;
    (workers > 1.05 * kernel + 2e7).then(|| {
        format!(
            "the test bed's workers are counted for {:.0} ms, all kernel threads for {:.0} ms: \
            the CPU figures contradict each other",
            workers / 1e6,
            kernel / 1e6
        )
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
            name: "x".into(),
            role,
            read_bytes: bytes,
            write_bytes: 0,
            requests: bytes / 8192,
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

    fn failures(edit: Edit) -> Vec<String> {
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
            is_cached: false,
        })
    }

    #[test]
    fn a_sound_pass_passes() {
        assert_eq!(failures(|_, _, _| ()), [""; 0]);
    }

    #[test]
    fn each_check_finds_its_fault_and_only_that() {
        let faults: [(&str, Edit); 13] = [
            ("page cache served", |_, _, c| {
                c.devices.iter_mut().for_each(|d| d.read_bytes = 5_000_000)
            }),
            ("1.50 ×", |_, _, c| c.devices.iter_mut().for_each(|d| d.read_bytes = 150_000_000)),
            ("still in the page cache", |p, _, _| p.rw = Access::Write),
            ("a cache lies between", |_, _, c| c.devices[1].read_bytes = 1_000),
            ("Little's law gives", |_, s, _| s.depth_achieved = Some(600.0)),
            ("the kernel counts 3.00", |_, s, _| s.device_depth = Some(3.0)),
            ("where 32 were asked", |p, s, _| (p.iodepth, s.depth) = (32, 32)),
            ("harness itself took", |p, s, _| (p.fsync, s.operations) = (1, 12_000_000)),
            ("cannot keep up", |p, _, _| p.rate_iops = Some(20_000.0)),
            ("hypervisor", |_, s, _| s.stolen_ns = 100_000_000),
            ("other programs used 50 %", |_, s, _| s.cpu_elsewhere_ns = Some(500_000_000)),
            ("test bed's workers", |_, s, _| s.cpu_test_bed_ns = Some(90_000_000)),
            ("contradict", |_, _, c| c.cpu.kernel_threads_ns = Some(900_000_000)),
        ];
        for (sentence, edit) in faults {
            let found = failures(edit);
            assert_eq!(found.len(), 1, "{sentence}: {found:?}");
            assert!(found[0].contains(sentence), "{sentence}: {found:?}");
        }
    }

    #[test]
    fn what_the_page_cache_serves_must_not_come_from_the_device() {
        let found = |read_bytes: u64| {
            let (program, sample, before, mut after) = sound();
            after.devices.iter_mut().for_each(|d| d.read_bytes = read_bytes);
            let bytes_read = sample.bytes;
            judge(&Facts {
                program: &program,
                sample: &sample,
                bytes_read,
                bytes_written: 0,
                before: &before,
                after: &after,
                harness_ns_per_operation: 25.0,
                is_cached: true,
            })
        };
        assert_eq!(found(1_000_000), [""; 0]);
        assert!(found(50_000_000)[0].contains("the page cache was to serve"));
    }

    #[test]
    fn the_null_engine_has_no_device_to_agree_with() {
        let found = failures(|p, _, c| {
            p.ioengine = Some(EngineKind::Null);
            c.devices.iter_mut().for_each(|d| d.read_bytes = 0);
        });
        assert_eq!(found, [""; 0]);
    }
}
