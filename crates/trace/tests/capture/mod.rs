//! The capture on the running kernel, each test on devices of its own, so that it holds whatever
//! else the machine does. All are skipped, in a sentence, where BPF may not be loaded.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod cost;
mod flight;
mod lab;
mod perf;
mod repeats;
mod waits;

use lab::{
    BLOCK_BYTES, Captured, Life, Loop, Mounted, Zram, capture_by, capture_of, completed, end, open,
    read_block, run,
};
use model::record::{Flags, Op};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use trace::capture::{CaptureError, CaptureOptions, device_number};
use trace::event::{Event, Step};

const RING_BYTES: u32 = 16 << 20;

/// The requests of a kind.
fn of(captured: &Captured, op: Op) -> Vec<Life> {
    captured.lives().into_iter().filter(|life| life.op() == Some(op)).collect()
}

fn serves(event: &Event) -> Option<u64> {
    match event.step {
        Step::Issue { serves, .. } => serves,
        _ => None,
    }
}

fn tag(event: &Event) -> Option<u64> {
    match event.step {
        Step::Start { tag, .. } => tag,
        _ => None,
    }
}

fn error(event: &Event) -> i32 {
    match event.step {
        Step::Complete { error, .. } => error,
        _ => panic!("{event:?}"),
    }
}

#[test]
fn every_request_is_seen_from_its_queueing_to_its_completion() {
    seen_from_queueing_to_completion(false);
}

#[test]
fn step_by_step_the_same_is_seen() {
    seen_from_queueing_to_completion(true);
}

fn seen_from_queueing_to_completion(by_steps: bool) {
    const TIMES: u64 = 200;
    let Some(disk) = Loop::new(8) else { return };
    let Some(capture) = capture_by(by_steps, &[disk.number], RING_BYTES) else { return };
    let node = disk.node.clone();
    let work = move || {
        let file = open(&node, true);
        for number in 0..TIMES {
            read_block(&file, number);
            lab::write_block(&file, number);
        }
        rustix::thread::gettid().as_raw_nonzero().get() as u32
    };
    let builder = std::thread::Builder::new().name("worker".into());
    let thread = builder.spawn(work).unwrap().join().unwrap();
    let captured = end(capture);
    assert_eq!((captured.records_lost, captured.queue_times_lost), (0, 0));
    assert!(captured.events.iter().all(|event| event.device == disk.number));
    for (op, flags) in [(Op::Read, Flags::DIRECT), (Op::Write, Flags::DIRECT | Flags::SYNC)] {
        let lives = of(&captured, op);
        let lives: Vec<Life> = lives.into_iter().filter(|life| is_by(life, thread)).collect();
        assert_eq!(lives.len() as u64, TIMES, "{op:?}");
        for (number, life) in lives.iter().enumerate() {
            let start = life.start.unwrap();
            assert_eq!(start.extent.offset_bytes, Some(number as u64 * BLOCK_BYTES as u64));
            assert!(start.extent.flags.contains(flags | Flags::OWN), "{start:?}");
            let Step::Start { origin, tag, .. } = start.step else { panic!() };
            assert_eq!(captured.commands.name(origin.command.unwrap()), "worker");
            // Nothing asks for the tag of what is told at its end.
            assert_eq!(tag.is_some(), by_steps);
        }
        for life in completed(lives) {
            check_life(&life);
        }
    }
}

fn is_by(life: &Life, thread: u32) -> bool {
    life.start.is_some_and(
        |event| matches!(event.step, Step::Start { origin, .. } if origin.pid == Some(thread)),
    )
}

/// One block, at one place, in the order of time, completed whole.
fn check_life(life: &Life) {
    let (Some(start), Some(issue), Some(complete)) = (life.start, life.issue, life.complete) else {
        panic!("{life:?}");
    };
    for event in [start, issue, complete] {
        assert_eq!(event.extent.offset_bytes, start.extent.offset_bytes, "{life:?}");
        assert_eq!(event.extent.length_bytes as usize, BLOCK_BYTES, "{life:?}");
    }
    let times = [life.queued_ns().unwrap(), start.time_ns, issue.time_ns, complete.time_ns];
    assert!(times.is_sorted() && times[3] - times[0] < 10_000_000_000, "{life:?}");
    let Step::Complete { error, done_bytes, remaining_bytes, in_sequence, .. } = complete.step
    else {
        panic!("{life:?}");
    };
    let whole = (0, Some(BLOCK_BYTES as u32), 0, false);
    assert_eq!((error, done_bytes, remaining_bytes, in_sequence), whole);
}

/// The 1986 paper's "S" to "R" begins before a request is allocated: with more readers than tags
/// the wait is for a tag, which whoever starts to count at the allocation does not see.
#[test]
fn readers_without_a_tag_wait_before_their_request_is_started() {
    const READERS: u64 = 256;
    let Some(mut disk) = Loop::new(8) else { return };
    disk.set("queue/scheduler", "none");
    disk.set("queue/nr_requests", "4");
    let Some(capture) = capture_of(&[disk.number], 256 << 20) else { return };
    let until = Instant::now() + Duration::from_millis(1500);
    std::thread::scope(|scope| {
        for reader in 0..READERS {
            let file = open(&disk.node, false);
            scope.spawn(move || {
                // No more than the rings hold, however quick the machine is.
                for turn in 0..200 {
                    read_block(&file, (reader * 7 + turn) % 2048);
                    if Instant::now() > until {
                        break;
                    }
                }
            });
        }
    });
    let captured = end(capture);
    assert_eq!(captured.records_lost, 0);
    let lives = of(&captured, Op::Read);
    let sum = |wait: fn(&Life) -> Option<i64>| lives.iter().filter_map(wait).sum::<i64>();
    let before = sum(|life| Some(life.start?.time_ns - life.queued_ns()?));
    let after = sum(|life| Some(life.issue?.time_ns - life.start?.time_ns));
    let missed = captured.queue_times_lost as usize;
    println!(
        "{} reads: {:.1} s before the start, {:.2} s after; {missed} times missed",
        lives.len(),
        before as f64 / 1e9,
        after as f64 / 1e9
    );
    assert!(missed * 1000 <= lives.len());
    assert!(before > 10 * after, "{before} before, {after} after");
}

/// A direct write that is to be durable, and a sync of the device: each is followed by a flush.
fn write_and_flush(disk: &Loop) -> Captured {
    let capture = capture_of(&[disk.number], RING_BYTES);
    let file = open(&disk.node, true);
    for number in 0..20 {
        lab::write_block(&file, number);
        file.sync_all().unwrap();
    }
    end(capture.expect("BPF was there before"))
}

/// The flushes that the device was given; those that were requested have a start.
fn given_flushes(captured: &Captured) -> Vec<Life> {
    let mut flushes = of(captured, Op::Flush);
    flushes.retain(|life| life.start.is_none());
    flushes
}

#[test]
fn a_flush_names_the_request_that_it_is_for() {
    let Some(mut disk) = Loop::new(8) else { return };
    if capture_of(&[], RING_BYTES).is_none() {
        return;
    }
    for scheduler in ["none", "mq-deadline"] {
        if !disk.set("queue/scheduler", scheduler) {
            println!("skipped: there is no scheduler {scheduler}");
            continue;
        }
        let captured = write_and_flush(&disk);
        let flushes = given_flushes(&captured);
        println!("{scheduler}: {} flushes", flushes.len());
        assert!(flushes.len() >= 20, "{scheduler}: {}", flushes.len());
        check_flushes(&captured, &flushes, scheduler);
    }
}

/// Each flush is for the last request that was started with its tag, which requested it.
fn check_flushes(captured: &Captured, flushes: &[Life], what: &str) {
    completed(flushes.to_vec());
    for flush in flushes {
        let issue = flush.issue.unwrap();
        assert!(flush.start.is_none() && issue.extent.offset_bytes.is_none());
        let tagged = |event: &&Event| tag(event).is_some() && tag(event) == serves(&issue);
        let started = captured.events.iter().filter(|event| event.time_ns < issue.time_ns);
        let parent = started.filter(tagged).max_by_key(|event| event.time_ns);
        let parent = parent.unwrap_or_else(|| panic!("{what}: {flush:?} is for nothing"));
        let requested = parent.extent.flags;
        assert!(
            requested.contains(Flags::PREFLUSH) || requested.contains(Flags::FUA),
            "{what}: {flush:?} is for {parent:?}"
        );
    }
}

#[test]
fn a_file_systems_sync_is_known_by_its_journal() {
    let Some(disk) = Loop::new(64) else { return };
    if run("mkfs.ext4", &["-q", "-F", disk.text()]).is_none() {
        return println!("skipped: needs mkfs.ext4");
    }
    let at = tempfile::tempdir().unwrap();
    let Some(capture) = capture_of(&[disk.number], RING_BYTES) else { return };
    // The mount goes with the namespace.
    let script = "mount \"$0\" \"$1\" && for i in 1 2 3 4 5; do \
                  dd if=/dev/zero of=\"$1/file\" bs=8k count=1 conv=fsync || exit 1; done";
    let arguments = ["-m", "sh", "-c", script, disk.text(), at.path().to_str().unwrap()];
    let done = run("unshare", &arguments);
    let captured = end(capture);
    if done.is_none() {
        return println!("skipped: needs unshare and mount");
    }
    let flushes = given_flushes(&captured);
    let journal = captured.events.iter().filter(|event| {
        let Step::Start { origin, .. } = event.step else { return false };
        let name = origin.command.map_or("", |command| captured.commands.name(command));
        name.starts_with("jbd2") && event.extent.flags.contains(Flags::META | Flags::PREFLUSH)
    });
    let journal = journal.count();
    println!("{} flushes, {journal} commits of the journal", flushes.len());
    assert!(flushes.len() >= 5 && journal >= 1);
    check_flushes(&captured, &flushes, "ext4");
    assert!(!captured.events.iter().any(|event| event.extent.flags.contains(Flags::OWN)));
}

#[test]
fn a_discard_is_one() {
    let Some(disk) = Loop::new(8) else { return };
    let Some(capture) = capture_of(&[disk.number], RING_BYTES) else { return };
    let done = run("blkdiscard", &["--offset", "1048576", "--length", "2097152", disk.text()]);
    let captured = end(capture);
    if done.is_none() {
        return println!("skipped: needs blkdiscard, and a file system that can punch holes");
    }
    let discards = of(&captured, Op::Discard);
    let bytes = discards.iter().map(|life| u64::from(life.issue.unwrap().extent.length_bytes));
    assert_eq!(bytes.sum::<u64>(), 2 << 20);
    assert_eq!(discards[0].start.unwrap().extent.offset_bytes, Some(1 << 20));
    let flags = discards[0].start.unwrap().extent.flags;
    assert!(!flags.contains(Flags::OWN) && !flags.contains(Flags::DIRECT));
}

#[test]
fn a_partition_is_captured_without_the_rest_of_its_disk() {
    let Some(disk) = Loop::new(8) else { return };
    let Some(node) = disk.partition() else { return };
    let partition = device_number(std::fs::metadata(&node).unwrap().rdev());
    assert_ne!(partition, disk.number);
    let Some(capture) = capture_of(&[partition], RING_BYTES) else { return };
    let (whole, part) = (open(&disk.node, true), open(&node, true));
    for number in 0..10 {
        read_block(&whole, number);
        read_block(&part, number);
    }
    part.sync_all().unwrap();
    let captured = end(capture);
    assert!(captured.events.iter().all(|event| event.device == disk.number));
    let reads = of(&captured, Op::Read);
    // Whoever looks for file systems on new partitions may read more.
    let direct = |life: &&Life| life.start.unwrap().extent.flags.contains(Flags::OWN);
    let places: Vec<Option<u64>> =
        reads.iter().filter(direct).map(|life| life.start.unwrap().extent.offset_bytes).collect();
    let expected = |number: u64| Some((1 << 20) + number * BLOCK_BYTES as u64);
    assert_eq!(places, (0..10).map(expected).collect::<Vec<_>>());
    // A flush is the whole disk's.
    assert!(!of(&captured, Op::Flush).is_empty());
}

/// What a ring has no space for is counted to the last record. Calls and waits are not captured
/// here: those of the whole machine would fill so small a ring first.
#[test]
fn a_ring_that_is_too_small_counts_what_it_loses() {
    const TIMES: u64 = 500;
    let Some(disk) = Loop::new(8) else { return };
    let devices = vec![disk.number];
    let options = CaptureOptions { devices, ring_bytes: 1, ..CaptureOptions::default() };
    let Some(capture) = lab::capture(options) else { return };
    let file = open(&disk.node, false);
    for number in 0..TIMES {
        read_block(&file, number);
    }
    let captured = end(capture);
    let kept = captured.events.len() as u64;
    println!("{kept} kept, {} lost, {} runs", captured.records_lost, captured.runs_lost);
    // More are kept where the thread goes from one CPU to another.
    assert!(kept > 0 && captured.records_lost > 0);
    let seen = kept + captured.records_lost;
    // Other programs' reads are few, and so are completions that no program saw.
    assert!(seen > 3 * TIMES - TIMES / 20 && seen < 3 * TIMES + 100, "{seen}");
}

/// What is spliced is read into pages of the kernel's own, which are as little a program's memory
/// as those of the page cache are.
#[test]
fn a_direct_read_is_marked_as_direct_wherever_it_goes() {
    let Some(disk) = Loop::new(32) else { return };
    let Some(mounted) = Mounted::over(&disk) else {
        return println!("skipped: needs mkfs.ext4 and unshare");
    };
    let Some(capture) = capture_of(&[disk.number], RING_BYTES) else { return };
    let file = open(&mounted.file(), false);
    let nowhere = std::fs::File::options().write(true).open("/dev/null").unwrap();
    while rustix::fs::sendfile(&nowhere, &file, None, 1 << 20).unwrap() > 0 {}
    let captured = end(capture);
    drop((file, mounted));
    let mut reads = completed(of(&captured, Op::Read));
    reads.retain(|life| life.start.is_some_and(|event| event.extent.length_bytes >= 64 << 10));
    let is_direct =
        |life: &Life| life.start.is_some_and(|event| event.extent.flags.contains(Flags::DIRECT));
    assert!(!reads.is_empty() && reads.iter().all(is_direct), "{reads:?}");
}

/// Parts of one bio that is larger than a request may be: all were queued when it was.
#[test]
fn a_bio_that_is_split_was_queued_once() {
    let Some(mut disk) = Loop::new(16) else { return };
    assert!(disk.set("queue/max_sectors_kb", "64"));
    let Some(capture) = capture_of(&[disk.number], RING_BYTES) else { return };
    let file = open(&disk.node, false);
    let mut blocks = vec![lab::Block([0; BLOCK_BYTES]); 256];
    let mut slices: Vec<_> =
        blocks.iter_mut().map(|b| std::io::IoSliceMut::new(&mut b.0)).collect();
    let read = rustix::io::preadv(&file, &mut slices, 0).unwrap();
    assert_eq!(read, 1 << 20);
    let captured = end(capture);
    let mut reads = of(&captured, Op::Read);
    reads.retain(|life| life.start.unwrap().extent.flags.contains(Flags::OWN));
    println!("{} parts; {} times missed", reads.len(), captured.queue_times_lost);
    assert!(reads.len() >= 16);
    assert_eq!(captured.queue_times_lost, 0);
    let mut queued: Vec<_> = reads.iter().map(|life| life.queued_ns().unwrap()).collect();
    queued.dedup();
    assert!(queued.len() <= 2, "a bio has at most 256 pages: {queued:?}");
}

#[test]
fn an_errors_number_is_kept() {
    let Some(disk) = Loop::new(8) else { return };
    let file = open(&disk.node, false);
    let Some(capture) = capture_of(&[disk.number], RING_BYTES) else { return };
    let image = std::fs::OpenOptions::new().write(true).open(&disk.image).unwrap();
    image.set_len(1 << 20).unwrap();
    let mut block = lab::Block([0; BLOCK_BYTES]);
    let completion = std::os::unix::fs::FileExt::read_at(&file, &mut block.0, 4 << 20);
    let captured = end(capture);
    let Err(refused) = completion else {
        return println!("skipped: this kernel reads zeroes behind the end of an image");
    };
    let reads = of(&captured, Op::Read);
    let failed = reads.iter().filter_map(|life| life.complete).find(|event| error(event) != 0);
    assert_eq!(failed.map(|event| error(&event)), refused.raw_os_error());
}

#[test]
fn a_device_without_requests_shows_its_bios() {
    const TIMES: u64 = 50;
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: needs root");
    }
    let Some(disk) = Zram::new() else { return };
    let Some(capture) = capture_of(&[disk.number], RING_BYTES) else { return };
    let file = open(&disk.node, true);
    for number in 0..TIMES {
        lab::write_block(&file, number);
        read_block(&file, number);
    }
    drop(file);
    let captured = end(capture);
    for op in [Op::Write, Op::Read] {
        let mut lives = of(&captured, op);
        lives.retain(|life| life.start.is_some_and(|e| e.extent.flags.contains(Flags::OWN)));
        assert_eq!(lives.len() as u64, TIMES);
        for (number, life) in completed(lives).iter().enumerate() {
            let (start, complete) = (life.start.unwrap(), life.complete.unwrap());
            assert_eq!(life.issue.unwrap().time_ns, start.time_ns);
            assert_eq!(life.queued_ns(), Some(start.time_ns));
            assert_eq!(start.extent.offset_bytes, Some((number * BLOCK_BYTES) as u64));
            assert!(complete.time_ns > start.time_ns && error(&complete) == 0);
        }
    }
}

/// Removed with the test, failed or not, when its processes have ended.
struct OwnCgroup(std::path::PathBuf);

impl Drop for OwnCgroup {
    fn drop(&mut self) {
        std::fs::remove_dir(&self.0).ok();
    }
}

/// Where the block controller is of version 1 a thread's own cgroup is known, and the root is not:
/// everybody is there.
#[test]
fn a_cgroup_is_of_version_2_or_none() {
    let Some(disk) = Loop::new(8) else { return };
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    let mut fields = mounts.lines().map(|line| line.split(' '));
    let Some(root) = fields.find_map(|mut field| {
        let path = field.by_ref().nth(1)?;
        (field.next()? == "cgroup2").then(|| Path::new(path).to_owned())
    }) else {
        return println!("skipped: no cgroups of version 2");
    };
    let Some(capture) = capture_of(&[disk.number], RING_BYTES) else { return };
    let Ok(own) = tempfile::Builder::new().prefix("lbolt-test-").tempdir_in(&root) else {
        return println!("skipped: no cgroup can be made");
    };
    let own = OwnCgroup(own.keep());
    let number = std::fs::metadata(&own.0).unwrap().ino();
    let script = "echo $$ > \"$0/cgroup.procs\" && exec dd if=\"$1\" of=/dev/null bs=4k count=20 \
        iflag=direct";
    let done = run("sh", &["-c", script, own.0.to_str().unwrap(), disk.text()]);
    read_block(&open(&disk.node, false), 100);
    let captured = end(capture);
    done.unwrap();
    let cgroups = |command: &str| -> Vec<Option<u64>> {
        let of = |event: &Event| match event.step {
            Step::Start { origin, .. } => {
                let name = captured.commands.name(origin.command?);
                (name == command).then_some(origin.cgroup)
            }
            _ => None,
        };
        captured.events.iter().filter_map(of).collect()
    };
    assert_eq!(cgroups("dd"), [Some(number); 20]);
    let is_whole = std::fs::read_to_string(root.join("cgroup.controllers")).unwrap().contains("io");
    let ours = captured.events.iter().find(|event| event.extent.flags.contains(Flags::OWN));
    let Step::Start { origin, .. } = ours.unwrap().step else { panic!() };
    assert_eq!(origin.cgroup.is_some(), is_whole, "{origin:?}");
}

#[test]
fn after_the_stop_nothing_is_recorded() {
    let Some(disk) = Loop::new(8) else { return };
    let Some(mut capture) = capture_of(&[disk.number], RING_BYTES) else { return };
    let file = open(&disk.node, false);
    read_block(&file, 1);
    capture.stop().unwrap();
    let mut steps = trace::intake::Collected::default();
    let first = capture.drain(&mut steps).unwrap();
    assert!(first.events >= 3);
    read_block(&file, 2);
    assert_eq!(capture.drain(&mut steps).unwrap().events, 0);
}

/// Somebody reads all the time, while the programs are attached and detached one by one.
#[test]
fn whoever_is_seen_to_start_was_seen_to_queue() {
    let Some(disk) = Loop::new(8) else { return };
    for _ in 0..5 {
        let (is_over, reads) = (AtomicBool::new(false), AtomicU64::new(0));
        let read_on = || {
            let file = open(&disk.node, false);
            while !is_over.load(Ordering::Relaxed) {
                read_block(&file, reads.fetch_add(1, Ordering::Relaxed) % 100);
            }
        };
        let captured = std::thread::scope(|scope| {
            scope.spawn(read_on);
            let captured = capture_of(&[disk.number], RING_BYTES).map(|capture| {
                let begun = reads.load(Ordering::Relaxed);
                lab::wait_for("reads", || reads.load(Ordering::Relaxed) > begun + 50);
                end(capture)
            });
            is_over.store(true, Ordering::Relaxed);
            captured
        });
        let Some(captured) = captured else { return };
        let lives = of(&captured, Op::Read);
        let started: Vec<&Life> = lives.iter().filter(|life| life.start.is_some()).collect();
        assert!(started.len() >= 40);
        // One may have been on its way when the first program came.
        let without = started.iter().skip(1).filter(|life| life.queued_ns().is_none()).count();
        assert_eq!(without, 0, "of {}", started.len());
    }
}

#[test]
fn what_cannot_be_captured_is_refused_by_name() {
    let load = |devices: Vec<u32>| {
        let options = CaptureOptions { devices, ..CaptureOptions::default() };
        trace::capture::Capture::load(&options).map(drop)
    };
    let none = load(vec![4095 << 20 | 7]).unwrap_err();
    assert!(
        matches!(&none, CaptureError::Device(device) if (device.major, device.minor) == (4095, 7)),
        "{none}"
    );
    assert!(none.to_string().starts_with("capture device 4095:7: "), "{none}");
    let many = load(vec![7 << 20; 17]).unwrap_err();
    assert!(matches!(many, CaptureError::TooManyDevices(17)), "{many}");
}
