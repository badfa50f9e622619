//! The capture by perf, on the same devices as that by BPF, and beside it.

use super::lab::{BLOCK_BYTES, Loop, Zram, capture_of, open, read_block, run, write_block};
use model::record::requests::Provenance;
use model::record::{Commands, Flags, Op, Request};
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use trace::capture::perf::{PerfCapture, PerfError};
use trace::capture::{CaptureOptions, Method, Tracer, TracerError, device_number};
use trace::intake::{Collected, Intake};

const RING_BYTES: u32 = 16 << 20;

/// A capture of these devices; none, with a sentence, where perf may not trace.
fn perf_of(devices: &[u32], ring_bytes: u32) -> Option<PerfCapture> {
    match PerfCapture::load(&CaptureOptions {
        devices: devices.to_vec(),
        ring_bytes,
        ..CaptureOptions::default()
    }) {
        Ok(capture) => Some(capture),
        Err(e @ (PerfError::NotPermitted | PerfError::Tracefs(_) | PerfError::NoTracepoint(_))) => {
            println!("skipped: failed to {e}");
            None
        }
        Err(e) => panic!("failed to {e}"),
    }
}

/// What was captured, paired, after a stop.
struct Paired {
    rows: Vec<Request>,
    provenance: Provenance,
    commands: Commands,
    lost: u64,
    events: u64,
}

impl Paired {
    /// The requests of a kind that this process requested.
    fn own(&self, op: Op) -> Vec<&Request> {
        let is_own = |row: &&Request| row.op == op && row.flags.contains(Flags::OWN);
        self.rows.iter().filter(is_own).collect()
    }
}

fn end(capture: PerfCapture) -> Paired {
    end_of(Tracer::Inexact(Box::new(capture)))
}

fn end_of(mut tracer: Tracer) -> Paired {
    let mut rows = Vec::new();
    let mut intake = Intake::new(&mut rows, "capture");
    tracer.stop().unwrap();
    let drained = tracer.drain(&mut intake).unwrap();
    assert_eq!(drained.malformed, 0);
    let (provenance, commands) = intake.finish().unwrap();
    let lost = tracer.losses().unwrap().records.iter().sum();
    Paired { rows, provenance, commands, lost, events: drained.events }
}

/// Asserts that hardly a completion is missing, and returns the requests that have theirs: as of
/// BPF's programs, a kernel may keep a tracepoint from being told at an interrupt, and tells nobody
/// of it.
fn completed(rows: Vec<&Request>) -> Vec<&Request> {
    let requested = rows.len();
    let completed: Vec<_> = rows.into_iter().filter(|row| row.completed_ns.is_some()).collect();
    let missing = requested - completed.len();
    assert!(missing * 20 <= requested, "{missing} of {requested} not completed");
    completed
}

/// Its times, in the order in which they have to be.
fn check_times(row: &Request) {
    let times = [row.queued_ns, row.started_ns, row.issued_ns, row.completed_ns];
    assert!(times.iter().all(Option::is_some), "{row:?}");
    assert!(times.is_sorted(), "{row:?}");
    assert_eq!(row.error, 0, "{row:?}");
}

#[test]
fn every_request_is_seen_and_matched_by_its_place() {
    const TIMES: u64 = 200;
    let Some(disk) = Loop::new(8) else { return };
    let Some(capture) = perf_of(&[disk.number], RING_BYTES) else { return };
    let node = disk.node.clone();
    let work = move || {
        let file = open(&node, true);
        for number in 0..TIMES {
            read_block(&file, number);
            write_block(&file, number);
        }
        rustix::thread::gettid().as_raw_nonzero().get() as u32
    };
    let builder = std::thread::Builder::new().name("worker".into());
    let thread = builder.spawn(work).unwrap().join().unwrap();
    let paired = end(capture);
    assert_eq!(paired.lost, 0);
    assert_eq!(paired.provenance.matching, "by place (inexact)");
    let counts = &paired.provenance.counts;
    assert_eq!((counts.orphaned, counts.ambiguous), (0, 0), "{counts:?}");
    assert!(paired.rows.iter().all(|row| row.device == disk.number));
    for op in [Op::Read, Op::Write] {
        let rows = paired.own(op);
        assert_eq!(rows.len() as u64, TIMES, "{op:?}");
        let places = rows.iter().map(|row| row.offset_bytes);
        assert!(places.eq((0..TIMES).map(|number| Some(number * BLOCK_BYTES as u64))), "{op:?}");
        for row in completed(rows) {
            check_times(row);
            assert_eq!(row.length_bytes as usize, BLOCK_BYTES);
            assert_eq!(row.pid, Some(thread));
            assert_eq!(paired.commands.name(row.command.unwrap()), "worker");
            assert!(
                row.flags.contains(Flags::SYNC) && !row.flags.contains(Flags::DIRECT),
                "{row:?}"
            );
        }
    }
}

#[test]
fn anothers_requests_are_not_ours() {
    let Some(disk) = Loop::new(8) else { return };
    let Some(capture) = perf_of(&[disk.number], RING_BYTES) else { return };
    let from = format!("if={}", disk.text());
    let done = run("dd", &[&from, "of=/dev/null", "bs=4k", "count=50", "iflag=direct"]);
    let paired = end(capture);
    done.expect("dd is everywhere");
    let named = |row: &&Request| row.command.is_some_and(|c| paired.commands.name(c) == "dd");
    let rows: Vec<_> = paired.rows.iter().filter(named).collect();
    assert_eq!(rows.len(), 50);
    assert!(paired.own(Op::Read).is_empty());
}

/// What a ring has no space for is counted to the last record.
#[test]
fn a_ring_that_is_too_small_counts_what_it_loses() {
    const TIMES: u64 = 500;
    let Some(disk) = Loop::new(8) else { return };
    let Some(capture) = perf_of(&[disk.number], 1) else { return };
    let file = open(&disk.node, false);
    for number in 0..TIMES {
        read_block(&file, number);
    }
    let paired = end(capture);
    println!("{} kept, {} lost", paired.events, paired.lost);
    assert!(paired.events > 0 && paired.events < TIMES);
    // Queue, start, issue, completion; but for a completion that nobody sees, and other
    // programs' reads.
    let all = paired.events + paired.lost;
    assert!((4 * TIMES - TIMES / 20..4 * TIMES + 100).contains(&all), "{all}");
}

#[test]
fn both_methods_see_the_same_requests_and_times() {
    const READERS: u64 = 4;
    const TIMES: u64 = 500;
    let Some(disk) = Loop::new(16) else { return };
    let Some(exact) = capture_of(&[disk.number], RING_BYTES) else { return };
    let Some(inexact) = perf_of(&[disk.number], RING_BYTES) else { return };
    std::thread::scope(|scope| {
        for reader in 0..READERS {
            let file = open(&disk.node, false);
            // Every second block: the kernel would merge neighbours that wait at once.
            let place = move |turn| 2 * (turn * READERS + reader);
            scope.spawn(move || (0..TIMES).for_each(|turn| read_block(&file, place(turn))));
        }
    });
    let inexact = end(inexact);
    let exact = end_of(Tracer::Exact(Box::new(exact)));
    let (exact, inexact) = (exact.own(Op::Read), inexact.own(Op::Read));
    assert_eq!((exact.len() as u64, inexact.len() as u64), (READERS * TIMES, READERS * TIMES));
    let (exact, inexact) = (completed(exact), completed(inexact));
    for (what, time) in [
        ("on the device", device_ns as fn(&Request) -> i64),
        ("in all", |row| row.completed_ns.unwrap() - row.queued_ns.unwrap()),
    ] {
        let (exact, inexact) = (median(&exact, time), median(&inexact, time));
        println!("{what}: {exact} ns by BPF, {inexact} ns by perf, in the median");
        assert!((exact - inexact).abs() < 10_000 + exact / 20, "{exact} and {inexact}");
    }
    // Each by itself: each place is read once.
    let by_place: HashMap<_, _> = exact.iter().map(|row| (row.offset_bytes, *row)).collect();
    let both = inexact.iter().filter_map(|row| Some((by_place.get(&row.offset_bytes)?, *row)));
    let mut apart: Vec<i64> =
        both.map(|(exact, inexact)| (device_ns(exact) - device_ns(inexact)).abs()).collect();
    apart.sort_unstable();
    let middle = apart[apart.len() / 2];
    println!("the same request's time on the device: {middle} ns apart in the median");
    println!(
        "{} completions by BPF, {} by perf, {} by both",
        exact.len(),
        inexact.len(),
        apart.len()
    );
    assert!(middle < 10_000, "{middle}");
}

fn device_ns(row: &Request) -> i64 {
    row.completed_ns.unwrap() - row.issued_ns.unwrap()
}

fn median(rows: &[&Request], time: fn(&Request) -> i64) -> i64 {
    let mut times: Vec<i64> = rows.iter().map(|row| time(row)).collect();
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
fn flushes_are_asked_for_and_completed() {
    let Some(disk) = Loop::new(8) else { return };
    let Some(capture) = perf_of(&[disk.number], RING_BYTES) else { return };
    let file = open(&disk.node, true);
    for number in 0..20 {
        write_block(&file, number);
        file.sync_all().unwrap();
    }
    let paired = end(capture);
    assert_eq!(paired.own(Op::Write).len(), 20);
    let flushes: Vec<_> = paired.rows.iter().filter(|row| row.op == Op::Flush).collect();
    let requested = flushes.iter().filter(|row| row.flags.contains(Flags::OWN)).count();
    let given = flushes.iter().filter(|row| row.issued_ns.is_some()).count();
    println!("{requested} flushes requested, {given} given to the device");
    assert!(requested == 20 && given >= 20);
    for flush in completed(flushes) {
        assert!(flush.offset_bytes.is_none() && flush.error == 0, "{flush:?}");
    }
}

#[test]
fn a_partition_is_captured_without_the_rest_of_its_disk() {
    let Some(disk) = Loop::new(8) else { return };
    let Some(node) = disk.partition() else { return };
    let partition = device_number(std::fs::metadata(&node).unwrap().rdev());
    let Some(capture) = perf_of(&[partition], RING_BYTES) else { return };
    let (whole, part) = (open(&disk.node, true), open(&node, true));
    for number in 0..10 {
        read_block(&whole, number);
        read_block(&part, number);
    }
    let paired = end(capture);
    let rows = paired.own(Op::Read);
    assert_eq!(rows.len(), 10, "{rows:?}");
    for (number, row) in rows.iter().enumerate() {
        assert_eq!(row.device, disk.number);
        assert_eq!(row.offset_bytes, Some((1 << 20) + (number * BLOCK_BYTES) as u64));
    }
}

#[test]
fn a_device_without_requests_shows_its_bios() {
    const TIMES: u64 = 50;
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: needs root");
    }
    let Some(disk) = Zram::new() else { return };
    let Some(capture) = perf_of(&[disk.number], RING_BYTES) else { return };
    let file = open(&disk.node, true);
    for number in 0..TIMES {
        write_block(&file, number);
        read_block(&file, number);
    }
    drop(file);
    let paired = end(capture);
    for op in [Op::Write, Op::Read] {
        let rows = paired.own(op);
        assert_eq!(rows.len() as u64, TIMES);
        let places = rows.iter().map(|row| row.offset_bytes);
        assert!(places.eq((0..TIMES).map(|number| Some(number * BLOCK_BYTES as u64))), "{op:?}");
        for row in completed(rows) {
            check_times(row);
            assert_eq!((row.queued_ns, row.started_ns), (row.issued_ns, row.issued_ns));
        }
    }
}

#[test]
fn after_the_stop_nothing_is_recorded() {
    let Some(disk) = Loop::new(8) else { return };
    let Some(mut capture) = perf_of(&[disk.number], RING_BYTES) else { return };
    let file = open(&disk.node, false);
    read_block(&file, 1);
    let mut steps = Collected::default();
    // Too young to be handed over, or handed over now: nothing comes twice.
    let early = capture.drain(&mut steps).unwrap().events;
    capture.stop().unwrap();
    let rest = capture.drain(&mut steps).unwrap().events;
    assert!(early + rest >= 4);
    assert!(steps.events.is_sorted_by_key(|event| event.time_ns));
    read_block(&file, 2);
    assert_eq!(capture.drain(&mut steps).unwrap().events, 0);
}

#[test]
fn the_method_is_the_one_that_was_asked_for() {
    let Some(disk) = Loop::new(8) else { return };
    let options = CaptureOptions {
        devices: vec![disk.number],
        ring_bytes: 1 << 16,
        ..CaptureOptions::default()
    };
    if perf_of(&[disk.number], 1 << 16).is_none() || capture_of(&[disk.number], 1).is_none() {
        return;
    }
    for (method, name) in [(Method::Auto, "BPF"), (Method::Bpf, "BPF"), (Method::Perf, "perf")] {
        let (tracer, why) = Tracer::load(&options, method).unwrap();
        assert_eq!((tracer.name(), why.is_some()), (name, false));
    }
}

/// What the other half of this test is known.
const FALL_BACK_ON: &str = "LBOLT_TEST_FALL_BACK_ON";

/// Without the right to load BPF, perf serves and says why. The test runs itself again without
/// these rights, where tracefs is mounted, which needs a right of them; the mount goes with its
/// namespace.
#[test]
fn perf_serves_where_bpf_may_not() {
    if let Ok(node) = std::env::var(FALL_BACK_ON) {
        return fall_back_on(Path::new(&node));
    }
    let Some(disk) = Loop::new(8) else { return };
    if perf_of(&[disk.number], RING_BYTES).is_none() {
        return;
    }
    let script = "{ test -d /sys/kernel/tracing/events || mount -t tracefs tracefs \
        /sys/kernel/tracing; } && \
                  exec setpriv --bounding-set=-bpf,-sys_admin \"$0\" --exact \
                  perf::perf_serves_where_bpf_may_not --nocapture";
    let itself = std::env::current_exe().unwrap();
    let mut command = std::process::Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).arg(itself).env(FALL_BACK_ON, &disk.node);
    let Ok(output) = command.output() else {
        return println!("skipped: needs unshare");
    };
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !out.contains("running 1 test") {
        return println!("skipped: needs mount and setpriv: {err}");
    }
    assert!(output.status.success() && out.contains("fell back: failed to load BPF"), "{out}{err}");
}

fn fall_back_on(node: &Path) {
    let devices = vec![device_number(std::fs::metadata(node).unwrap().rdev())];
    let options = CaptureOptions { devices, ring_bytes: RING_BYTES, ..CaptureOptions::default() };
    let refused = Tracer::load(&options, Method::Bpf).map(drop).unwrap_err();
    assert!(matches!(refused, TracerError::Bpf(_)), "{refused}");
    let (tracer, why) = Tracer::load(&options, Method::Auto).unwrap();
    assert_eq!(tracer.name(), "perf");
    read_block(&open(node, false), 3);
    assert_eq!(end_of(tracer).own(Op::Read).len(), 1);
    println!("fell back: failed to {}", why.unwrap());
}

#[test]
fn what_cannot_be_captured_is_refused_by_name() {
    let options = CaptureOptions { devices: vec![4095 << 20 | 7], ..CaptureOptions::default() };
    for method in [Method::Auto, Method::Perf] {
        let refused = Tracer::load(&options, method).map(drop).unwrap_err();
        assert!(!matches!(refused, TracerError::Neither { .. }), "{refused}");
        assert!(refused.to_string().starts_with("capture device 4095:7: "), "{refused}");
    }
}
