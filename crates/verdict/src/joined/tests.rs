//! Known results of the split, from samples and requests made by hand.

use super::*;
use model::record::subject::{Storm, StormStream};
use model::record::{Op, Verdict, quantity};

/// A pass from 1 000 000 ns on: so many operations of so long each, one after the other.
fn pass(operations: u64, each_ns: u64) -> Sample {
    Sample {
        subject: Subject::cell("t", "p", 1),
        started_ns: 1_000_000,
        jobs: 1,
        depth: 1,
        operations,
        wall_ns: operations * each_ns,
        cpu_user_ns: operations * 10,
        cpu_system_ns: operations * 20,
        service_sum_ns: operations * each_ns,
        verdict: Verdict::Ok,
        ..Sample::default()
    }
}

/// A request of a job that came `at` ns after the pass began: 5 ns of admission, 15 of the
/// scheduler, so long in the device.
fn request(at: i64, device_ns: i64) -> Request {
    let from = 1_000_000 + at;
    Request {
        op: Op::Read,
        flags: Flags::JOB,
        length_bytes: 4096,
        queued_ns: Some(from),
        started_ns: Some(from + 5),
        issued_ns: Some(from + 20),
        completed_ns: Some(from + 20 + device_ns),
        ..Request::default()
    }
}

const PARTS: [&str; 7] =
    ["program", "kernel", "admission", "scheduler", "device", "journal", "remainder"];
const JOURNALS: [&str; 6] = [
    "journal_queue",
    "journal_data",
    "journal_log",
    "journal_preflush",
    "journal_commit",
    "journal_postflush",
];

fn joined(sample: &Sample, captured: &Captured, rows: &[(Request, &str)]) -> Vec<Finding> {
    let mut joined = Joined::new([(sample, captured)]);
    rows.iter().for_each(|(row, command)| joined.add(row, command));
    let found = joined.findings();
    for finding in &found {
        let known = quantity(&finding.quantity).unwrap_or_else(|| panic!("{finding:?}"));
        assert_eq!(known.unit, finding.unit);
    }
    if captured.is_ok() {
        let sum: f64 = PARTS.map(|part| value(&found, part)).iter().sum();
        assert!((sum - value(&found, "time")).abs() < 1e-9 * sum.abs().max(1.0), "{sum}");
        if sample.sync_ns > 0 {
            let sum: f64 = JOURNALS.map(|part| value(&found, part)).iter().sum();
            assert!((sum - value(&found, "journal")).abs() < 1e-9 * sum.max(1.0), "{sum}");
        }
    }
    found
}

fn find<'a>(found: &'a [Finding], name: &str) -> &'a Finding {
    let is_it = |f: &&Finding| f.quantity == name;
    found.iter().find(is_it).unwrap_or_else(|| panic!("no {name}"))
}

fn value(found: &[Finding], part: &str) -> f64 {
    find(found, &format!("operation_{part}_ns")).value.unwrap()
}

fn ratio(found: &[Finding], name: &str) -> f64 {
    find(found, &format!("operation_{name}_ratio")).value.unwrap()
}

#[test]
fn each_operation_with_its_request_has_its_parts_and_what_they_leave() {
    let rows = [0, 1000, 2000, 3000].map(|at| (request(at, 700), "lbolt-job"));
    let found = joined(&pass(4, 1000), &Ok(0), &rows);
    for (part, expected) in [
        ("time", 1000.0),
        ("program", 10.0),
        ("kernel", 20.0),
        ("admission", 5.0),
        ("scheduler", 15.0),
        ("device", 700.0),
        ("remainder", 250.0),
    ] {
        assert!((value(&found, part) - expected).abs() < 1e-9, "{part}: {}", value(&found, part));
    }
    assert_eq!((ratio(&found, "requests"), ratio(&found, "other_requests")), (1.0, 0.0));
    assert!((ratio(&found, "overlap") - 1.0).abs() < 1e-9);
    let is_mode = |f: &&Finding| f.method.contains("ticks");
    assert!(found.iter().all(|f| f.verdict == Verdict::Ok && f.count == 1 || is_mode(&f)));
}

/// Two modes in less than some tens of ticks are known in sum alone.
#[test]
fn modes_are_told_apart_by_enough_ticks_only() {
    let few = joined(&pass(4, 1000), &Ok(0), &[]);
    let kernel = find(&few, "operation_kernel_ns");
    assert_eq!(kernel.verdict, Verdict::Suspect);
    assert_eq!(kernel.doubts, [Doubt::new(Code::FewTicks, [("cpu_ns", 120.0.into())])]);
    let many = joined(&pass(4_000_000, 1000), &Ok(0), &[]);
    assert_eq!(find(&many, "operation_kernel_ns").verdict, Verdict::Ok);
}

#[test]
fn a_request_without_a_completion_is_counted_and_told() {
    let open = Request { completed_ns: None, ..request(0, 700) };
    let rows = [(open, "lbolt-job"), (request(1000, 700), "lbolt-job")];
    let found = joined(&pass(4, 1000), &Ok(0), &rows);
    assert_eq!((ratio(&found, "requests"), value(&found, "device")), (0.5, 175.0));
    let device = find(&found, "operation_device_ns");
    let values = [("missing", 1.0.into()), ("requests", 2.0.into())];
    assert_eq!(device.doubts, [Doubt::new(Code::CompletionsMissing, values)]);
}

#[test]
fn what_the_cache_completed_has_no_device() {
    let found = joined(&pass(100, 50), &Ok(0), &[]);
    assert_eq!((value(&found, "device"), value(&found, "remainder")), (0.0, 20.0));
    assert_eq!(ratio(&found, "requests"), 0.0);
    assert!(found.iter().all(|f| f.quantity != "operation_overlap_ratio"));
}

/// One operation of 1000 ns that was split into eight requests at once: it waits for one of them,
/// not eight.
#[test]
fn the_requests_of_a_split_operation_count_once() {
    let rows = [(request(0, 780), "lbolt-job"); 8];
    let found = joined(&pass(1, 1000), &Ok(0), &rows);
    assert!((value(&found, "device") - 780.0).abs() < 1e-9, "{}", value(&found, "device"));
    assert!((value(&found, "admission") - 5.0).abs() < 1e-9);
    assert_eq!(ratio(&found, "requests"), 8.0);
    assert!((ratio(&found, "overlap") - 8.0).abs() < 1e-9);
}

/// Two outstanding all the time: 20 operations of 1000 ns in 10 000 ns, each waiting for its own
/// request.
#[test]
fn with_depth_the_time_is_the_latency_and_not_wall_over_operations() {
    let sample = Sample { depth: 2, wall_ns: 10_000, ..pass(20, 1000) };
    let rows: Vec<_> = (0..20).map(|n| (request(n / 2 * 1000, 900), "lbolt-job")).collect();
    let found = joined(&sample, &Ok(0), &rows);
    assert_eq!(value(&found, "time"), 1000.0);
    assert!((value(&found, "device") - 900.0).abs() < 1e-9);
    assert!((value(&found, "remainder") - 50.0).abs() < 1e-9);
}

/// The device reads ahead all the time while the CPU copies what it read before.
#[test]
fn what_overlaps_leaves_less_than_nothing() {
    let sample = Sample { cpu_system_ns: 4 * 600, ..pass(4, 1000) };
    let rows = [0, 1000, 2000, 3000].map(|at| (request(at, 980), "lbolt-job"));
    let found = joined(&sample, &Ok(0), &rows);
    assert!((value(&found, "remainder") + 610.0).abs() < 1e-9, "{}", value(&found, "remainder"));
}

/// Its samples tell no service times, and the CPU time of all streams: a reader's time would be 0,
/// and what is left of it less than nothing.
#[test]
fn a_storms_streams_share_their_passes_and_are_not_split() {
    let streams = [StormStream::Read, StormStream::Commit].map(|stream| Sample {
        subject: Subject::Storm(Storm { remedy: "none".into(), stream, target: None }),
        service_sum_ns: 0,
        sync_ns: if stream == StormStream::Commit { 500 } else { 0 },
        ..pass(4, 1000)
    });
    for sample in &streams {
        let captured = Ok(0);
        let mut joined = Joined::new([(sample, &captured)]);
        joined.add(&request(0, 700), "lbolt-job");
        assert_eq!(joined.findings(), []);
    }
}

#[test]
fn what_others_requested_is_apart() {
    let other = Request { flags: Flags::SYNC, pid: Some(77), ..request(0, 900) };
    let own = Request { flags: Flags::OWN, ..request(0, 900) };
    let late = request(4001, 900);
    let early = request(-1, 900);
    let rows = [
        (early, "lbolt-job"),
        (other, "cp"),
        (other, "kworker/u4:1"),
        (own, "lbolt"),
        (late, "lbolt-job"),
    ];
    let found = joined(&pass(4, 1000), &Ok(0), &rows);
    assert_eq!(value(&found, "device"), 0.0);
    assert_eq!((ratio(&found, "requests"), ratio(&found, "other_requests")), (0.0, 0.5));
}

/// fdatasync waits for the journal's thread; nobody waits for background writing.
#[test]
fn fdatasync_waits_for_the_kernels_threads_too() {
    let sample = Sample { sync_ns: 4000, wall_ns: 8000, ..pass(4, 1000) };
    let journal = Request { flags: Flags::SYNC, ..request(4000, 380) };
    let background = Request { flags: Flags::BACKGROUND, ..request(4500, 380) };
    let rows = [(journal, "jbd2/loop0-8"), (background, "kworker/u4:1")];
    let found = joined(&sample, &Ok(0), &rows);
    assert_eq!(value(&found, "time"), 2000.0);
    assert_eq!((value(&found, "journal"), value(&found, "device")), (100.0, 0.0));
    assert_eq!((value(&found, "journal_queue"), value(&found, "journal_data")), (5.0, 95.0));
    assert_eq!((ratio(&found, "requests"), ratio(&found, "other_requests")), (0.25, 0.25));
}

/// The parts of a flush sequence, each so long in the device. Whoever issues a flush, its row does
/// not tell for whom.
fn parts(parent: u64, of: &[(Op, i64, i64)]) -> Vec<Request> {
    let part = |(op, at, ns): &(Op, i64, i64)| Request {
        op: *op,
        flags: Flags::default(),
        parent_id: Some(parent),
        queued_ns: None,
        started_ns: None,
        ..request(*at - 20, *ns)
    };
    of.iter().map(part).collect()
}

const COMMIT: Flags = Flags(Flags::SYNC.0 | Flags::META.0 | Flags::PREFLUSH.0 | Flags::FUA.0);

/// As ext4 does an fsync: the job writes its data, jbd2 the log, then the commit block between two
/// flushes.
fn commit(command: &'static str) -> Vec<(Request, &'static str)> {
    let data = Request { op: Op::Write, ..request(100, 80) };
    let log = Request { op: Op::Write, flags: Flags::SYNC | Flags::META, ..request(250, 130) };
    let whole = Request {
        request_id: 7,
        op: Op::Write,
        flags: COMMIT,
        issued_ns: None,
        ..request(400, 480)
    };
    let sequence = [(Op::Flush, 425, 100), (Op::Write, 530, 50), (Op::Flush, 600, 295)];
    let rows = [(data, "lbolt-job"), (log, command), (whole, command)];
    rows.into_iter().chain(parts(7, &sequence).into_iter().map(|row| (row, ""))).collect()
}

#[test]
fn an_fsync_is_its_own_requests_and_the_journals_commit() {
    let sample = Sample { sync_ns: 950, wall_ns: 1000, service_sum_ns: 50, ..pass(1, 0) };
    let found = joined(&sample, &Ok(0), &commit("jbd2/loop0-8"));
    for (part, expected) in [
        ("time", 1000.0),
        ("device", 80.0),
        ("scheduler", 15.0),
        ("journal", 150.0 + 500.0),
        ("journal_log", 130.0),
        ("journal_preflush", 100.0),
        ("journal_commit", 50.0),
        ("journal_postflush", 295.0),
        // Before the log's issue, and the 500 ns of the sequence less those of its parts.
        ("journal_queue", 20.0 + 55.0),
        ("remainder", 1000.0 - 30.0 - 100.0 - 650.0),
    ] {
        assert!((value(&found, part) - expected).abs() < 1e-9, "{part}: {}", value(&found, part));
    }
    assert_eq!((ratio(&found, "requests"), ratio(&found, "other_requests")), (5.0, 0.0));
    // xfs: the job may write the log itself.
    let mut by_job = commit("lbolt-job");
    by_job.iter_mut().filter(|(_, name)| !name.is_empty()).for_each(|(row, _)| {
        row.flags |= Flags::JOB;
    });
    assert_eq!(joined(&sample, &Ok(0), &by_job), found);
    // Without fdatasync it is somebody else's.
    let nobody = joined(&Sample { sync_ns: 0, ..sample }, &Ok(0), &commit("jbd2/loop0-8"));
    assert_eq!((value(&nobody, "journal"), ratio(&nobody, "requests")), (0.0, 1.0));
}

/// What the journal does while a job has requests of its own is no time of waiting more, and no
/// fdatasync is longer than it was.
#[test]
fn no_moment_is_booked_twice() {
    let sample = Sample { sync_ns: 300, wall_ns: 1000, service_sum_ns: 700, ..pass(1, 0) };
    let log = Request { flags: Flags::SYNC | Flags::META, ..request(0, 980) };
    let rows = [(log, "jbd2/loop0-8"), (request(100, 780), "lbolt-job")];
    let found = joined(&sample, &Ok(0), &rows);
    assert!((value(&found, "device") - 780.0).abs() < 1e-9);
    assert!((value(&found, "journal") - 200.0).abs() < 1e-9, "{}", value(&found, "journal"));
    let short = joined(&Sample { sync_ns: 50, ..sample.clone() }, &Ok(0), &rows);
    assert!((value(&short, "journal") - 50.0).abs() < 1e-9);
    // Two jobs: one of them waits for the journal meanwhile.
    let two = Sample { jobs: 2, sync_ns: 1300, ..sample };
    let found = joined(&two, &Ok(0), &rows);
    assert!((value(&found, "journal") - 1200.0).abs() < 1e-9, "{}", value(&found, "journal"));
}

/// The row that was requested is never issued; its parts are, and begin after it. Between them it
/// waits.
#[test]
fn a_flush_sequence_is_waited_for_once() {
    let requested = Request { request_id: 1, issued_ns: None, ..request(0, 880) };
    let mut rows = vec![requested];
    rows.extend(parts(1, &[(Op::Flush, 20, 400), (Op::Write, 440, 400)]));
    let rows: Vec<_> = rows.into_iter().map(|row| (row, "lbolt-job")).collect();
    let found = joined(&pass(1, 1000), &Ok(0), &rows);
    assert_eq!((value(&found, "device"), value(&found, "scheduler")), (800.0, 95.0));
    assert_eq!(value(&found, "admission"), 5.0);
    assert_eq!(ratio(&found, "requests"), 2.0);
}

#[test]
fn lost_events_are_told_and_make_the_parts_suspect() {
    let found = joined(&pass(4, 1000), &Ok(3), &[(request(0, 700), "lbolt-job")]);
    let device = find(&found, "operation_device_ns");
    assert_eq!(device.verdict, Verdict::Suspect);
    assert_eq!(device.doubts[0].code, Code::PassesLostEvents);
    assert_eq!(device.doubts[0].values["events"], 3.0.into());
    assert_eq!(find(&found, "operation_time_ns").verdict, Verdict::Ok);
}

#[test]
fn without_a_capture_cpu_and_time_are_told_and_the_rest_is_not_measured() {
    let found = joined(&pass(4, 1000), &Err("no block device".into()), &[]);
    assert_eq!(value(&found, "time"), 1000.0);
    for part in &PARTS[2..] {
        let part = find(&found, &format!("operation_{part}_ns"));
        assert_eq!((part.verdict.name(), part.value), ("not_measured", None));
        assert_eq!(part.doubts, [Doubt::refused("no block device")]);
    }
}
