//! The three jobs in virtual time: a device that takes so long for each operation, one after the
//! other.

use super::committer::Committer;
use super::dirtier::Dirtier;
use super::reader::{DEPTH, Reader, Syncing};
use super::{Plan, Stream, Tried};
use crate::on_file::{Measured, OnFile, Work};
use model::seam::{Clock, Durability, Job, Operation, Request, TimedCompletion, Turn};
use model::workload::{Dribble, Sending, WriterChange};
use std::cell::Cell;
use std::sync::Arc;

const MS: u64 = 1_000_000;

struct Virtual(Cell<u64>);

impl Clock for Virtual {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }

    fn precision_ns(&self) -> f64 {
        1.0
    }
}

/// Turns a job to its end; each operation takes what `service_ns` says, and waits for the one
/// before it. Gives back what was submitted, and when.
fn turned(job: &mut impl Job, service_ns: impl Fn(&Request) -> u64) -> Vec<(u64, Operation)> {
    let clock = Virtual(Cell::new(1000 * MS));
    let mut on_their_way: Vec<(u64, u32, i64)> = Vec::new();
    let (mut submitted, mut free_ns, mut completion) = (Vec::new(), 0, None);
    for _ in 0..1_000_000 {
        match job.turn(&clock, completion.take()) {
            Turn::Submit(request) => {
                let now_ns = clock.now_ns();
                submitted.push((now_ns - 1000 * MS, request.operation));
                free_ns = now_ns.max(free_ns) + service_ns(&request);
                on_their_way.push((free_ns, request.token, i64::from(request.length_bytes)));
            }
            Turn::Wait { until_ns, .. } => {
                on_their_way.sort_unstable();
                match on_their_way.first().copied() {
                    Some((at_ns, token, result)) if at_ns <= until_ns => {
                        on_their_way.remove(0);
                        clock.0.set(clock.now_ns().max(at_ns));
                        let found_ns = clock.now_ns();
                        let token = u64::from(token);
                        completion = Some(TimedCompletion { token, result, found_ns });
                    }
                    _ => clock.0.set(clock.now_ns().max(until_ns)),
                }
            }
            Turn::Done => return submitted,
            other => panic!("{other:?}"),
        }
    }
    panic!("it does not end");
}

/// One request at a time.
fn job<W: Work>(work: W) -> OnFile<W> {
    OnFile::new(work, 1)
}

fn plan() -> Plan {
    let stream = |rate: f64| Stream {
        rate: Some(rate),
        block_bytes: 4096,
        file_bytes: 4 << 20,
        ..Stream::default()
    };
    Plan {
        read: stream(100.0),
        commit: stream(20.0),
        write: stream(32.0),
        period_ns: 1000 * MS,
        periods: 3,
        ..Plan::default()
    }
}

fn count(submitted: &[(u64, Operation)], of: Operation) -> usize {
    submitted.iter().filter(|(_, operation)| *operation == of).count()
}

#[test]
fn reads_come_when_they_are_due_and_wait_from_then_on() {
    let mut quick = OnFile::new(Reader::new(&plan(), 5, Arc::default()), DEPTH);
    let submitted = turned(&mut quick, |_| 1000);
    // 100 a second for 3 s, a deviation of 17.
    let reads = count(&submitted, Operation::Read);
    assert!((220..380).contains(&reads), "{reads}");
    assert_eq!(quick.work.report.latency.count(), reads as u64);
    assert!(quick.work.report.latency.max_ns() < MS && quick.work.in_sync.count() == 0);
    // The same reads, of which each takes twice the mean gap: the last waits for half of them.
    let mut slow = OnFile::new(Reader::new(&plan(), 5, Arc::default()), DEPTH);
    let later = turned(&mut slow, |_| 20 * MS);
    assert_eq!(count(&later, Operation::Read), reads);
    let max_ns = slow.work.report.latency.max_ns();
    assert!(max_ns > 2000 * MS, "{max_ns}");
}

#[test]
fn reads_that_meet_a_sync_are_told_apart() {
    let syncing = Arc::new(Syncing::default());
    syncing.begin();
    let mut reader = OnFile::new(Reader::new(&plan(), 5, syncing), DEPTH);
    turned(&mut reader, |_| 1000);
    let Reader { between, in_sync, report, .. } = &reader.work;
    assert_eq!((between.count(), in_sync.count()), (0, report.latency.count()));
}

/// Lets time go on until a read is submitted; its token.
fn next_read(reader: &mut OnFile<Reader>, clock: &Virtual) -> u64 {
    for _ in 0..10 {
        match reader.turn(clock, None) {
            Turn::Submit(request) => return u64::from(request.token),
            Turn::Wait { until_ns, .. } => clock.0.set(until_ns),
            other => panic!("{other:?}"),
        }
    }
    panic!("no read is due");
}

#[test]
fn the_queue_that_a_sync_left_has_met_it_too() {
    let syncing = Arc::new(Syncing::default());
    syncing.begin();
    let mut reader = OnFile::new(Reader::new(&plan(), 5, syncing.clone()), DEPTH);
    let clock = Virtual(Cell::new(0));
    let completed = |reader: &mut OnFile<Reader>, token, result| {
        reader.turn(&clock, Some(TimedCompletion { token, result, found_ns: clock.now_ns() }));
    };
    let open = next_read(&mut reader, &clock);
    completed(&mut reader, open, 0);
    // One in the sync, one after it while the first is on its way, one when both are back.
    let first = next_read(&mut reader, &clock);
    syncing.end();
    let second = next_read(&mut reader, &clock);
    completed(&mut reader, first, 4096);
    completed(&mut reader, second, 4096);
    let third = next_read(&mut reader, &clock);
    completed(&mut reader, third, 4096);
    assert_eq!((reader.work.in_sync.count(), reader.work.between.count()), (2, 1));
}

#[test]
fn a_probe_reads_one_after_the_other() {
    let mut probe = job(Reader::probe(&plan(), 1000 * MS));
    let submitted = turned(&mut probe, |_| 10 * MS);
    assert!((99..=101).contains(&count(&submitted, Operation::Read)));
    assert_eq!(probe.work.report.latency.mean_ns(), Some(10e6));
    // A quarter of that, a twentieth, and what fits.
    let mut open = plan();
    for stream in [&mut open.read, &mut open.commit, &mut open.write] {
        stream.rate = None;
    }
    let known = open.with_rates(100.0, 100.0);
    let rates = [known.read.rate, known.commit.rate, known.write.rate].map(Option::unwrap);
    assert_eq!(rates.map(f64::round), [25.0, 5.0, 30.0]);
    // A drive on which commits take long is not given more of them than it can take.
    assert_eq!(open.with_rates(100.0, 10.0).commit.rate, Some(2.0));
    let mut commits = job(Committer::probe(&plan(), 1000 * MS));
    let submitted = turned(&mut commits, |_| 5 * MS);
    assert!((99..=101).contains(&count(&submitted, Operation::Fdatasync)));
}

#[test]
fn a_commit_is_a_write_and_what_makes_it_durable() {
    let mut committer = job(Committer::new(&plan(), 3));
    let service_ns = |request: &Request| match request.operation {
        Operation::Write => MS,
        Operation::Fdatasync => 4 * MS,
        _ => 0,
    };
    let submitted = turned(&mut committer, service_ns);
    let commits = count(&submitted, Operation::Fdatasync);
    assert_eq!(count(&submitted, Operation::Write), commits);
    assert!((30..90).contains(&commits), "{commits}");
    assert_eq!(committer.work.report.sync_ns, 4 * MS * commits as u64);
    assert_eq!(committer.work.report.latency.min_ns(), 5 * MS);
}

/// On a device fdatasync would write all that the writer dirtied, too.
#[test]
fn a_commit_of_a_device_is_one_durable_write_and_each_stream_has_an_area_of_its_own() {
    let mut on_device = plan();
    (on_device.commit.from_bytes, on_device.commit.is_durable) = (4 << 20, true);
    on_device.write.from_bytes = 8 << 20;
    assert_eq!(super::committer::placement(&on_device).durability, Durability::OpenDsync);
    let mut committer = job(Committer::new(&on_device, 3));
    let (least, most) = (Cell::new(u64::MAX), Cell::new(0));
    let service_ns = |request: &Request| {
        if request.operation == Operation::Write {
            least.set(least.get().min(request.offset_bytes));
            most.set(most.get().max(request.offset_bytes + u64::from(request.length_bytes)));
            return 5 * MS;
        }
        0
    };
    let submitted = turned(&mut committer, service_ns);
    let commits = count(&submitted, Operation::Write) as u64;
    assert_eq!(count(&submitted, Operation::Fdatasync), 0);
    assert_eq!(committer.work.report.latency.count(), commits);
    assert_eq!(committer.work.report.sync_ns, 5 * MS * commits);
    assert_eq!(least.get(), 4 << 20, "one block after the other, from its area's begin");
    least.set(u64::MAX);
    let mut writer = job(Dirtier::new(&on_device, &Tried::default(), 3, Arc::default()));
    turned(&mut writer, service_ns);
    assert!(least.get() >= 8 << 20 && most.get() <= 12 << 20, "{} to {}", least.get(), most.get());
}

#[test]
fn the_writer_dirties_evenly_and_syncs_at_its_period() {
    let tried = Tried::default();
    let mut writer = job(Dirtier::new(&plan(), &tried, 3, Arc::default()));
    let service_ns = |request: &Request| match request.operation {
        Operation::Fsync => 100 * MS,
        _ => 1000,
    };
    let submitted = turned(&mut writer, service_ns);
    let syncs: Vec<u64> = submitted
        .iter()
        .filter(|(_, operation)| *operation == Operation::Fsync)
        .map(|(at_ns, _)| at_ns / MS)
        .collect();
    // At half of each period; the last one settles what is left, and is of no period.
    assert_eq!(syncs.len(), 4);
    assert!(syncs.iter().zip([500, 1500, 2500, 3000]).all(|(at, due)| at.abs_diff(due) <= 1));
    assert_eq!(writer.work.report.sync_ns, 300 * MS);
    let between = |from: u64, to: u64| {
        let is_write = |(at_ns, operation): &&(u64, Operation)| {
            *operation == Operation::Write && (from * MS..to * MS).contains(at_ns)
        };
        submitted.iter().filter(is_write).count()
    };
    assert_eq!((between(0, 501), between(501, 1501), between(1501, 2501)), (32, 32, 32));
    let half = between(0, 250);
    assert!((14..=18).contains(&half), "{half} in the first half of the stretch");
}

#[test]
fn a_writer_that_dribbles_sends_on_what_it_has() {
    for (by, operation) in [
        (Sending::SyncFileRange, Operation::StartWriteback),
        (Sending::Fdatasync, Operation::Fdatasync),
    ] {
        let dribble = Some(Dribble { every_bytes: 16 << 10, by });
        let writer = WriterChange { dribble, ..WriterChange::default() };
        let tried = Tried { name: "d".into(), writer, ..Tried::default() };
        let mut writer = job(Dirtier::new(&plan(), &tried, 3, Arc::default()));
        let submitted = turned(&mut writer, |_| 1000);
        let writes = count(&submitted, Operation::Write);
        assert_eq!(count(&submitted, operation), writes / 4, "{by:?}: {writes} writes");
    }
}

#[test]
fn an_error_ends_a_job_and_says_where() {
    struct Failing<J>(J, Operation);
    impl<J: Job> Job for Failing<J> {
        fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
            let failed = completion.map(|completion| match completion.result {
                4096 => TimedCompletion { result: -28, ..completion },
                _ => completion,
            });
            self.0.turn(clock, failed)
        }
    }
    let mut writer =
        Failing(job(Dirtier::new(&plan(), &Tried::default(), 3, Arc::default())), Operation::Write);
    turned(&mut writer, |_| 1000);
    let error = writer.0.error().unwrap();
    assert_eq!((error.operation, error.errno), (writer.1, 28));
    let mut reader =
        Failing(OnFile::new(Reader::new(&plan(), 3, Arc::default()), DEPTH), Operation::Read);
    turned(&mut reader, |_| 1000);
    assert_eq!(reader.0.error().unwrap().operation, reader.1);
}
