//! A small Linux on a drive that takes a millisecond for everything, one after the other: what its
//! own rules say can be counted.

use super::wbt::Wbt;
use super::*;
use crate::bus::Bus;
use crate::drive::{Access, Capacity, Drive};
use crate::profile::CATALOG;
use crate::replay::ReplayMachine;
use crate::subject::ModelSubject;
use model::record::Op;
use model::seam::{
    Accounting, Clock, Job, JobPlacement, Operation, Request, Subject, TimedCompletion, Turn,
};
use std::cell::RefCell;
use std::rc::Rc;

const MS: u64 = 1_000_000;

/// It takes a millisecond for everything but a flush, which takes none; twice as long when it is
/// old.
#[derive(Debug, Default)]
struct Constant {
    free_ns: f64,
    served: u32,
}

const OLD_AFTER: u32 = 600;

impl Drive for Constant {
    fn capacity(&self) -> Capacity {
        Capacity { sector_bytes: 512, blocks: 1 << 21 }
    }

    fn serve(&mut self, given_ns: f64, access: Access, _: &mut Bus) -> f64 {
        let age = if self.served < OLD_AFTER { 1.0 } else { 2.0 };
        let took_ns = if access == Access::FLUSH { 0.0 } else { MS as f64 * age };
        self.served += 1;
        self.free_ns = self.free_ns.max(given_ns) + took_ns;
        self.free_ns
    }

    fn fresh(&self) -> Box<dyn Drive> {
        Box::<Self>::default()
    }
}

/// One call after the other, each not before its moment; and how long each took, ns.
struct Script {
    calls: Vec<(u64, Operation, u64)>,
    next: usize,
    began_ns: u64,
    is_sent: bool,
    took_ns: Vec<u64>,
}

fn script(calls: impl IntoIterator<Item = (u64, Operation, u64)>) -> Script {
    let calls = calls.into_iter().map(|(at_ms, operation, page)| (at_ms * MS, operation, page));
    Script { calls: calls.collect(), next: 0, began_ns: 0, is_sent: false, took_ns: vec![] }
}

impl Job for Script {
    fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        if let Some(completion) = completion {
            assert!(completion.result >= 0, "{}", completion.result);
            self.took_ns.push(completion.found_ns - self.began_ns);
            self.is_sent = false;
        }
        let now_ns = clock.now_ns();
        match self.calls.get(self.next) {
            _ if self.is_sent => Turn::Wait { min: 1, until_ns: u64::MAX },
            None => Turn::Done,
            Some((at_ns, ..)) if *at_ns > now_ns => Turn::Wait { min: 1, until_ns: *at_ns },
            Some(&(_, operation, page)) => {
                (self.began_ns, self.is_sent) = (now_ns, true);
                self.next += 1;
                let moves = matches!(operation, Operation::Read | Operation::Write);
                let length_bytes = if moves { PAGE_BYTES as u32 } else { 0 };
                let offset_bytes = page * PAGE_BYTES;
                Turn::Submit(Request { token: 0, operation, offset_bytes, length_bytes })
            }
        }
    }
}

fn machine(settings: Settings) -> ModelSubject {
    let mut replayed = ReplayMachine::of(&CATALOG.load("ra81").unwrap()).unwrap();
    replayed.drive = Box::<Constant>::default();
    let layout = Layout::of_sizes(1 << 30, [("a", 64 << 20), ("b", 64 << 20)]);
    let settings = Rc::new(RefCell::new(settings));
    let machine = LinuxMachine::new((replayed, 1.0), layout, settings);
    ModelSubject::new(Box::new(machine))
}

fn placed(file: &str, direct: bool) -> JobPlacement {
    JobPlacement { file: file.into(), direct, ..JobPlacement::default() }
}

/// Runs scripts, a reader and writers past or through the cache; gives back how long calls took,
/// and the drive's counters.
fn ran(settings: Settings, jobs: Vec<(JobPlacement, Script)>) -> (Vec<Vec<u64>>, [u64; 3]) {
    let mut subject = machine(settings);
    subject.prepare().unwrap();
    let done = subject.run(jobs).unwrap();
    subject.make_cold(&[]).unwrap();
    let counters = subject.counters(Accounting::Difference).unwrap();
    let device = &counters.devices[0];
    let counts = [device.read_bytes, device.write_bytes, device.flushes.unwrap()];
    (done.into_iter().map(|(script, _)| script.took_ns).collect(), counts)
}

/// Pages that do not touch each other are dirtied, and then there is a sync.
fn syncing(pages: u64, at_ms: u64, by: Operation) -> Script {
    let writes = (0..pages).map(|page| (0, Operation::Write, page * 2));
    script(writes.chain([(at_ms, by, 0)]))
}

fn unthrottled(scheduler: Scheduler) -> Settings {
    Settings { scheduler, wbt_latency_ns: 0, hardware_requests: 4, ..Settings::default() }
}

#[test]
fn a_sync_writes_each_page_and_what_makes_it_durable() {
    let settings = unthrottled(Scheduler::Nothing);
    let of = |by| ran(settings.clone(), vec![(placed("a", false), syncing(10, 1, by))]);
    // 10 pages one after the other, and a flush that takes no time.
    let (took, counts) = of(Operation::Fdatasync);
    assert_eq!((took[0][10], counts), (10 * MS, [0, 10 * PAGE_BYTES, 1]));
    // With the journal's blocks, and its last one, between two flushes.
    let (took, counts) = of(Operation::Fsync);
    assert_eq!((took[0][10], counts), (12 * MS, [0, 14 * PAGE_BYTES, 2]));
    // Who begins writeback waits for the queue alone: 4 of 10 are at the drive, 6 go before.
    let (took, counts) = of(Operation::StartWriteback);
    assert_eq!((took[0][10], counts), (6 * MS, [0, 10 * PAGE_BYTES, 0]));
    // What was written by fsync before needs but a flush.
    let twice =
        script([(0, Operation::Write, 0), (1, Operation::Fsync, 0), (50, Operation::Fsync, 0)]);
    let (took, counts) = ran(settings, vec![(placed("a", false), twice)]);
    assert_eq!((took[0][2], counts[2]), (0, 3));
}

#[test]
fn each_run_begins_with_a_drive_as_new() {
    let mut subject = machine(unthrottled(Scheduler::Nothing));
    subject.prepare().unwrap();
    let mut sync_ns = || {
        let half_a_life = syncing(u64::from(OLD_AFTER) / 2, 0, Operation::Fsync);
        let jobs = vec![(placed("a", false), half_a_life)];
        let done = subject.run(jobs).unwrap();
        *done[0].0.took_ns.last().unwrap()
    };
    let first = sync_ns();
    assert_eq!([sync_ns(), sync_ns(), sync_ns()], [first; 3]);
}

#[test]
fn neighbouring_pages_are_one_request() {
    let writes = (0..256).map(|page| (0, Operation::Write, page));
    let all = script(writes.chain([(1, Operation::Fdatasync, 0)]));
    let (took, counts) = ran(unthrottled(Scheduler::Nothing), vec![(placed("a", false), all)]);
    // 1 MiB in requests of 512 KiB.
    assert_eq!((took[0][256], counts[1]), (2 * MS, 1 << 20));
}

/// How long a read takes that comes into a sync of 100 pages after 20 ms.
fn read_in_sync(settings: Settings) -> u64 {
    let jobs = vec![
        (placed("a", false), syncing(100, 1, Operation::Fdatasync)),
        (placed("b", true), script([(20, Operation::Read, 5)])),
    ];
    ran(settings, jobs).0[1][0]
}

#[test]
fn a_read_waits_in_line_behind_one_request_of_a_writer() {
    // Without a scheduler: 4 at the drive, of which one is nearly done, and the writer's next.
    let took_ns = read_in_sync(unthrottled(Scheduler::Nothing));
    assert!((5 * MS..=6 * MS).contains(&took_ns), "{took_ns}");
    // The more the queue takes, the longer; those who wait are woken by eights, when as many places
    // are free, so it is not always full.
    let many = Settings { hardware_requests: 64, ..unthrottled(Scheduler::Nothing) };
    let took_ns = read_in_sync(many);
    assert!((56 * MS..=73 * MS).contains(&took_ns), "{took_ns}");
    // mq-deadline puts it before all that wait, when the batch of writes is over.
    let deadline = unthrottled(Scheduler::MqDeadline);
    let took_ns = read_in_sync(deadline.clone());
    assert!((5 * MS..=20 * MS).contains(&took_ns), "{took_ns}");
    let one_by_one = Settings { fifo_batch: 1, ..deadline };
    let took_ns = read_in_sync(one_by_one);
    assert!((4 * MS..=5 * MS).contains(&took_ns), "{took_ns}");
    // Throttled writes: 4 at once beside reads, where their latency is kept.
    let throttled = Settings { wbt_latency_ns: 75 * MS, ..unthrottled(Scheduler::Nothing) };
    assert!(read_in_sync(throttled) <= 5 * MS);
}

#[test]
fn deadline_lets_no_write_wait_for_ever() {
    // Two readers keep the drive busy with reads one after the other; a write comes.
    let reads = |first: u64| script((0..400).map(move |page| (0, Operation::Read, first + page)));
    let direct = placed("a", true);
    let jobs = vec![
        (direct.clone(), reads(0)),
        (direct.clone(), reads(5000)),
        (direct.clone(), reads(9000)),
        (placed("b", true), script([(20, Operation::Write, 5)])),
    ];
    let settings = Settings { hardware_requests: 1, ..unthrottled(Scheduler::MqDeadline) };
    let took_ns = ran(settings, jobs).0[3][0];
    // Passed over twice, for batches of 16 at the most each.
    assert!((2 * MS..=52 * MS).contains(&took_ns), "{took_ns}");
}

#[test]
fn a_writer_waits_where_too_much_is_dirty_and_old_pages_are_written() {
    let limited = Settings {
        dirty_background_bytes: 64 << 10,
        dirty_bytes: 128 << 10,
        ..unthrottled(Scheduler::Nothing)
    };
    let (took, _) = ran(limited, vec![(placed("a", false), syncing(100, 500, Operation::Fsync))]);
    // 24 pages are free of it; the others wait for the drive, 1 ms a page.
    let waited_ns: u64 = took[0][..100].iter().sum();
    assert!((60 * MS..=80 * MS).contains(&waited_ns), "{waited_ns}");
    assert!(took[0][..20].iter().all(|took_ns| *took_ns == 0));
    let aged = Settings {
        dirty_expire_ns: 100 * MS,
        dirty_writeback_ns: 50 * MS,
        ..unthrottled(Scheduler::Nothing)
    };
    let (took, _) = ran(aged, vec![(placed("a", false), syncing(100, 500, Operation::Fdatasync))]);
    assert_eq!(took[0][100], 0, "all was written by then");
}

fn bio(number: u64, operation: Op, is_buffered: bool) -> Bio {
    let is_sync = !is_buffered;
    let kind = Kind { operation, is_sync, is_background: false, is_buffered, is_idle: false };
    Bio { number, thread: 0, kind, offset_bytes: 0, length_bytes: 4096, file: None }
}

/// How many buffered writes may be on their way at once.
fn at_once(wbt: &mut Wbt, now_ns: u64, first: u64) -> usize {
    (0..64).take_while(|number| wbt.enter(bio(first + number, Op::Write, true), now_ns)).count()
}

#[test]
fn fewer_writes_go_at_once_while_reads_are_slow() {
    let mut wbt = Wbt::new(2 * MS);
    // wb_normal of a depth of 16.
    assert_eq!(at_once(&mut wbt, 0, 0), 8);
    // Where somebody waits for them, the whole depth.
    let mut wbt = Wbt::new(2 * MS);
    assert!(wbt.enter(bio(1000, Op::Read, false), 0));
    let synced = |number| {
        let bio = bio(number, Op::Write, true);
        Bio { kind: Kind { is_sync: true, ..bio.kind }, ..bio }
    };
    assert_eq!((0..64).take_while(|number| wbt.enter(synced(*number), 0)).count(), 16);
    let mut wbt = Wbt::new(2 * MS);
    // wb_background where somebody reads.
    assert!(wbt.enter(bio(1000, Op::Read, false), 0));
    assert_eq!(at_once(&mut wbt, 0, 0), 4);
    let read = bio(1000, Op::Read, false);
    let mut go_on = Vec::new();
    let mut limits = Vec::new();
    let mut now_ns = 0;
    for window in 0..6 {
        // A read that took 5 ms in each window, and the writes of the one before.
        now_ns = wbt.next_ns().unwrap();
        wbt.complete(&read, (now_ns - 1, 5 * MS), &mut go_on);
        let before = go_on.len();
        for number in 0..4 {
            wbt.complete(&bio(number, Op::Write, true), (now_ns - 1, MS), &mut go_on);
        }
        wbt.window_ends(now_ns, &mut go_on);
        limits.push(go_on.len() - before);
        assert!(window < 1 || wbt.next_ns().unwrap() - now_ns < 100 * MS);
    }
    // The one that waited goes on first; from then on nobody waits.
    assert_eq!(limits[0], 1, "{limits:?}");
    // Depths of 16, 8, 4, 2, 1: one at once in the end.
    assert_eq!(at_once(&mut wbt, now_ns, 100), 1);
    let mut off = Wbt::new(0);
    assert_eq!(at_once(&mut off, 0, 0), 64);
}

#[test]
fn what_the_model_does_not_know_is_said() {
    let mut settings = Settings::default();
    settings.set("scheduler", "mq-deadline").unwrap();
    settings.set("nr_requests", "16").unwrap();
    settings.set("wbt_lat_usec", "0").unwrap();
    assert_eq!((settings.scheduler_requests, settings.wbt_latency_ns), (16, 0));
    for (name, value, sentence) in [
        ("scheduler", "bfq", "not support scheduler bfq"),
        ("nr_requests", "0", "not support nr_requests 0"),
        ("iosched/front_merges", "1", "front_merges"),
        ("dirty_bytes", "x", "not support dirty_bytes x"),
    ] {
        let error = settings.set(name, value).unwrap_err().to_string();
        assert!(error.contains(sentence), "{error}");
    }
}
