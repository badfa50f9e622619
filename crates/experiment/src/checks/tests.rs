//! Each check provoked alone, and at its bound.

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

/// Random reads of 4k through io_uring from a warm page cache: nothing is short of depth.
#[test]
fn what_the_page_cache_answers_is_short_of_no_depth_and_what_the_device_does_not_overlap_is() {
    let codes = |edit: Edit| -> Vec<Code> { failures(edit).iter().map(|d| d.code).collect() };
    assert_eq!(
        codes(|p, s, c| {
            (p.direct, p.iodepth, s.depth, s.depth_achieved) = (false, 32, 32, Some(16.5));
            reads(c, 0);
        }),
        [Code::DeviceReadLess],
    );
    // Buffered writes are as quick, and written later.
    assert_eq!(
        codes(|p, s, c| {
            (p.direct, p.iodepth, s.depth, s.depth_achieved) = (false, 32, 32, Some(6.7));
            p.rw = Access::Write;
            writes(c, [100_000_000; 2]);
        }),
        [],
    );
    // A call that blocks until the device has read, and a device that takes one at a time.
    assert_eq!(
        codes(|p, s, _| {
            (p.direct, p.iodepth, s.depth, s.depth_achieved) = (false, 32, 32, Some(16.6));
        }),
        [Code::DepthNotReached],
    );
    assert_eq!(
        codes(|p, s, c| {
            (p.iodepth, s.depth, s.depth_achieved) = (32, 32, Some(1.0));
            p.rw = Access::Write;
            writes(c, [100_000_000; 2]);
        }),
        [Code::DepthNotReached],
    );
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
        (Code::DeviceReadMore, |_, _, c| reads(c, 129_000_000), |_, _, c| reads(c, 129_000_001)),
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
        (Code::StolenTime, |_, s, _| s.stolen_ns = 60_000_000, |_, s, _| s.stolen_ns = 60_000_001),
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
