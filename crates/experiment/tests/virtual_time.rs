//! The throughput experiment on a disk of a few lines, in virtual time: what the loops ask for,
//! in which order, and what they make of the completions, to the nanosecond.

use experiment::rounds::{Planned, Turns};
use experiment::throughput::{
    Calibration, Observer, PassStart, Plan, SystemName, run_in_turn, run_system,
};
use experiment::until::Until;
use model::doubt::{Code, Value};
use model::record::{Role, Sample, Verdict};
use model::seam::{
    Accounting, Clock, Counters, CpuCounters, DeviceCounters, DeviceRole, Job, JobCpu,
    JobPlacement, Operation, PreparedTarget, Request, Subject, SubjectError, TimedCompletion, Turn,
};
use model::workload::{Access, Battery, EngineKind, Program};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

const MS: u64 = 1_000_000;

#[derive(Clone, Default)]
struct VirtualClock(Rc<Cell<u64>>);

impl Clock for VirtualClock {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }
    fn precision_ns(&self) -> f64 {
        1.0
    }
}

/// A disk that serves one request at a time in `service_ns`, and nothing during a stall.
struct Disk {
    clock: VirtualClock,
    service_ns: u64,
    /// What a sync takes, of either kind.
    sync_ns: u64,
    /// From, to: a request that would start in between starts at the end.
    stall: Option<(u64, u64)>,
    free_at_ns: u64,
    /// The write with this number fails with ENOSPC.
    failing_write: Option<u64>,
    writes: u64,
    log: Vec<(Operation, u64)>,
    colds: usize,
    place: PreparedTarget,
    interrupt_at_run: Option<usize>,
    runs: usize,
    bytes: [u64; 2],
    served: u64,
}

impl Disk {
    fn new(service_ns: u64) -> Self {
        Self {
            clock: VirtualClock::default(),
            service_ns,
            sync_ns: 0,
            stall: None,
            free_at_ns: 0,
            failing_write: None,
            writes: 0,
            log: vec![],
            colds: 0,
            place: PreparedTarget {
                drives: 1,
                capacity_bytes: 1 << 40,
                ..PreparedTarget::default()
            },
            interrupt_at_run: None,
            runs: 0,
            bytes: [0; 2],
            served: 0,
        }
    }

    /// When the request will be done, and its result.
    fn serve(&mut self, request: &Request) -> (u64, i64) {
        self.log.push((request.operation, request.offset_bytes));
        let now = self.clock.now_ns();
        match request.operation {
            Operation::Read => self.bytes[0] += u64::from(request.length_bytes),
            Operation::Write => {
                self.writes += 1;
                if Some(self.writes) == self.failing_write {
                    return (now, -28);
                }
                self.bytes[1] += u64::from(request.length_bytes);
            }
            Operation::Fdatasync | Operation::Fsync => return (now + self.sync_ns, 0),
            _ => return (now, 0),
        }
        self.served += 1;
        let mut start = now.max(self.free_at_ns);
        if let Some((_, end)) = self.stall.filter(|(from, to)| (*from..*to).contains(&start)) {
            start = end;
        }
        self.free_at_ns = start + self.service_ns;
        (self.free_at_ns, i64::from(request.length_bytes))
    }

    fn turn_all<J: Job>(&mut self, job: &mut J) {
        let clock = self.clock.clone();
        let mut flying: Vec<(u64, TimedCompletion)> = vec![];
        let mut event = None;
        loop {
            match job.turn(&clock, event.take()) {
                Turn::Submit(request) => {
                    let (done, result) = self.serve(&request);
                    let found_ns = done.max(clock.now_ns());
                    flying.push((
                        done,
                        TimedCompletion { token: u64::from(request.token), result, found_ns },
                    ));
                }
                Turn::Wait { min, until_ns } => {
                    flying.sort_by_key(|(done, _)| *done);
                    match flying.first().copied() {
                        Some((done, completion)) if min > 0 && done <= until_ns => {
                            flying.remove(0);
                            clock.0.set(clock.now_ns().max(done));
                            event = Some(completion);
                        }
                        _ => {
                            assert_ne!(until_ns, u64::MAX, "waits for ever");
                            clock.0.set(clock.now_ns().max(until_ns));
                        }
                    }
                }
                Turn::Compute { .. } | Turn::Mark => panic!("streams do neither"),
                Turn::Done => break,
            }
        }
        assert!(flying.is_empty(), "a job ends with nothing outstanding");
    }
}

impl Subject for Disk {
    fn prepare(&mut self) -> Result<PreparedTarget, SubjectError> {
        Ok(self.place.clone())
    }

    fn run<J: Job>(
        &mut self,
        jobs: Vec<(JobPlacement, J)>,
    ) -> Result<Vec<(J, JobCpu)>, SubjectError> {
        self.runs += 1;
        if Some(self.runs) == self.interrupt_at_run {
            return Err(SubjectError::Interrupted);
        }
        let mut done = vec![];
        for (_, mut job) in jobs {
            self.turn_all(&mut job);
            done.push((job, JobCpu { user_ns: 1000, system_ns: 2000, ..JobCpu::default() }));
        }
        Ok(done)
    }

    fn make_cold(&mut self, _files: &[(usize, String)]) -> Result<(), SubjectError> {
        self.colds += 1;
        Ok(())
    }

    fn counters(&mut self, _: Accounting) -> Result<Counters, SubjectError> {
        let device = DeviceCounters {
            name: "virtual".into(),
            role: DeviceRole::Tested,
            read_bytes: self.bytes[0],
            write_bytes: self.bytes[1],
            requests: self.served,
            flushes: None,
            in_flight_ns: 0,
        };
        // One CPU that is always idle but for the job.
        let cpu = CpuCounters {
            cpus: 1,
            idle_ns: self.clock.now_ns(),
            elsewhere_ns: Some(0),
            ..CpuCounters::default()
        };
        Ok(Counters { at_ns: self.clock.now_ns(), devices: vec![device], cpu })
    }

    fn clean_up(&mut self) -> Result<(), SubjectError> {
        Ok(())
    }
}

#[derive(Default)]
struct Notes {
    samples: Vec<Sample>,
    cells: usize,
    layouts: usize,
    /// The devices that are captured beside each pass, and beside layouts.
    captures: Vec<Option<Vec<String>>>,
}

impl Observer for Notes {
    fn pass_starts(&mut self, pass: &PassStart<'_>) {
        self.layouts += usize::from(pass.pass.is_none());
        self.captures.push(pass.captures.map(<[String]>::to_vec));
    }
    fn pass_done(&mut self, sample: Sample) {
        self.samples.push(sample);
    }
    fn cell_done(&mut self) {
        self.cells += 1;
    }
}

fn plan(programs: Vec<Program>) -> Plan {
    Plan { programs, file_bytes: 40_960, warmup: 0, runs: 1, seed: 1, ..Plan::default() }
}

fn run(disk: &mut Disk, plan: &Plan) -> (Notes, Result<Vec<SubjectError>, SubjectError>) {
    let name = SystemName { column: "virtual".into(), target: "virtual".into(), drives: 1 };
    let mut notes = Notes::default();
    let clock = disk.clock.clone();
    let outcome = run_system(disk, &name, plan, &Calibration::default(), &clock, &mut notes);
    (notes, outcome)
}

fn read() -> Program {
    Program::new("read", Access::Read)
}

fn write() -> Program {
    Program::new("write", Access::Write)
}

fn operations(disk: &Disk) -> Vec<Operation> {
    disk.log.iter().map(|(operation, _)| *operation).collect()
}

/// Laying out, warming up and the harness are nobody's operations.
/// Why the first pass was not measured.
fn refusal(notes: &Notes) -> String {
    match notes.samples[0].doubts[0].values.get("reason") {
        Some(Value::Text(reason)) => reason.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn requests_are_captured_beside_the_passes_that_count_alone() {
    let mut disk = Disk::new(2 * MS);
    disk.place.devices = vec!["disk0".into()];
    let null = Program { ioengine: Some(EngineKind::Null), ..Program::new("null", Access::Read) };
    let plan = Plan { warmup: 1, runs: 2, ..plan(vec![read(), null]) };
    let (notes, _) = run(&mut disk, &plan);
    let on = Some(vec!["disk0".to_owned()]);
    let expected = [None, None, on.clone(), on, None, None, None];
    assert_eq!(notes.captures, expected);
    let passes: Vec<_> = notes.samples.iter().filter(|s| s.program == "read").collect();
    for pair in passes.windows(2) {
        let ended_ns = pair[0].started_ns + pair[0].wall_ns as i64;
        assert!(ended_ns <= pair[1].started_ns, "a pass lies between its start and its wall time");
    }
}

/// Ten requests of 2 ms each: a pass takes 20 ms.
#[test]
fn passes_go_on_until_the_rate_is_narrow_or_the_time_is_over() {
    let passes = |half_percent: fn(&[f64]) -> Option<f64>| {
        let mut disk = Disk::new(2 * MS);
        let until =
            Until { precision_percent: Some(10.0), max_time_ns: 150 * MS, fewest: 5, half_percent };
        let plan = Plan { warmup: 1, runs: 5, until: Some(until), ..plan(vec![read()]) };
        let (notes, _) = run(&mut disk, &plan);
        let of = |role: Role| notes.samples.iter().filter(|s| s.role == role).count();
        let numbers: Vec<u64> = notes.samples.iter().map(|s| s.pass).collect();
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
        (of(Role::Warm), of(Role::Kept))
    };
    assert_eq!(passes(|_| Some(1.0)), (1, 5));
    assert_eq!(passes(|rates| Some(if rates.len() < 6 { 40.0 } else { 1.0 })), (1, 6));
    // The warm-up does not count: the eighth pass begins at 140 ms, and no ninth.
    assert_eq!(passes(|_| Some(40.0)), (1, 8));
}

#[test]
fn a_closed_loop_at_depth_1_takes_its_service_time() {
    let mut disk = Disk::new(2 * MS);
    let (notes, outcome) = run(&mut disk, &plan(vec![read()]));
    assert_eq!(outcome, Ok(vec![]));
    let pass = &notes.samples[0];
    assert_eq!((pass.operations, pass.bytes, pass.wall_ns), (10, 40_960, 20 * MS));
    assert_eq!((pass.latency_min_ns, pass.latency_max_ns), (2 * MS, 2 * MS));
    assert_eq!(pass.depth_achieved, Some(1.0));
    assert_eq!((pass.cpu_user_ns, pass.cpu_system_ns, pass.cpu_other_ns), (1000, 2000, Some(0)));
    assert_eq!(pass.verdict, Verdict::Ok, "{:?}", pass.doubts);
    let offsets: Vec<u64> =
        disk.log.iter().filter(|(o, _)| *o == Operation::Read).map(|(_, at)| *at).collect();
    assert!(offsets.into_iter().eq((0..10).map(|i| i * 4096)));
    assert_eq!(notes.layouts, 1, "the file to read was laid out first");
}

#[test]
fn a_deeper_loop_keeps_its_depth_and_queues_at_the_disk() {
    let mut disk = Disk::new(MS);
    let program = Program { iodepth: 4, direct: true, ..Program::new("deep", Access::RandRead) };
    let deep = Plan { file_bytes: 400 * 4096, ..plan(vec![program]) };
    let (notes, _) = run(&mut disk, &deep);
    let pass = &notes.samples[0];
    assert_eq!((pass.operations, pass.wall_ns), (400, 400 * MS));
    // Four outstanding at one server: each waits for three others, but for ends of the run.
    assert_eq!(pass.latency().unwrap().quantile_ns(0.5).map(|ns| ns.div_ceil(MS)), Some(4));
    assert!((3.9..=4.0).contains(&pass.depth_achieved.unwrap()), "{:?}", pass.depth_achieved);
}

/// fio's `rate_iops=1000` over a stall of a second reports a p99 of 5.7 µs and one slow request;
/// a thousand were late by up to a second (BENCHMARKS 3.5).
#[test]
fn an_open_loop_counts_from_the_intended_start() {
    let mut disk = Disk::new(MS / 10);
    disk.stall = Some((2000 * MS, 3000 * MS));
    let program = Program {
        rate_iops: Some(1000.0),
        runtime: Some(Duration::from_secs(6)),
        time_based: true,
        ..Program::new("rated", Access::RandRead)
    };
    let (notes, _) = run(&mut disk, &plan(vec![program]));
    let pass = &notes.samples[0];
    assert!((5990..=6001).contains(&pass.operations), "{}", pass.operations);
    let (latency, service) = (pass.latency().unwrap(), pass.service().unwrap());
    // Requests intended in the stall wait for its end, and for the backlog, which drains at 9 of
    // 10. Bucket 1480 holds 204.8 µs: later than that is late, for a request takes 100 µs.
    let late = |h: &model::histogram::Histogram| {
        let on_time = h.nonzero().filter(|(b, _)| *b <= 1480).map(|(_, c)| c).sum::<u64>();
        h.count() - on_time
    };
    assert!((1000..1150).contains(&late(&latency)), "{}", late(&latency));
    assert!(latency.max_ns() > 990 * MS);
    assert!(late(&service) <= 1, "at depth 1 only one request met the stall itself");
    assert!(
        service.quantile_ns(0.99).unwrap() < MS && latency.quantile_ns(0.99).unwrap() > 900 * MS
    );
    assert_eq!(pass.rate_requested_iops, Some(1000.0));
}

#[test]
fn an_open_loop_that_cannot_keep_up_is_suspect() {
    let mut disk = Disk::new(2 * MS);
    let program = Program {
        rate_iops: Some(1000.0),
        runtime: Some(Duration::from_secs(1)),
        time_based: true,
        ..Program::new("rated", Access::RandRead)
    };
    let (notes, _) = run(&mut disk, &plan(vec![program]));
    assert_eq!(notes.samples[0].doubts[0].code, Code::RateNotReached);
}

#[test]
fn the_battery_runs_as_its_script_says() {
    let battery = Battery::from_toml(experiment::throughput::BATTERY).unwrap();
    let mut disk = Disk::new(MS);
    let script = Plan {
        file_bytes: 16_384,
        warmup: 1,
        runs: 2,
        is_cold: true,
        final_sync: true,
        ..plan(battery.programs)
    };
    let (notes, _) = run(&mut disk, &script);
    use Operation::{Close, Create, Fdatasync, OpenRead, OpenReadWrite, Read, Unlink, Write};
    let pass = |edges: &[Operation], request, times| {
        let (head, tail) = edges.split_at(edges.len() - if request == Read { 1 } else { 2 });
        [head, &vec![request; times][..], tail].concat()
    };
    let mut expected = vec![];
    expected.extend(pass(&[Unlink, Create, Fdatasync, Close], Write, 4).repeat(3));
    expected.extend(pass(&[Unlink, Create, Fdatasync, Close], Write, 2).repeat(3));
    expected.extend(pass(&[OpenRead, Close], Read, 2).repeat(3));
    expected.extend(pass(&[OpenReadWrite, Fdatasync, Close], Write, 2).repeat(3));
    assert_eq!(operations(&disk), expected);
    assert_eq!((disk.colds, notes.cells), (12, 4));
    let roles: Vec<_> = notes.samples.iter().map(|s| s.role.name()).collect();
    assert_eq!(roles, ["warm", "kept", "kept"].repeat(4));
}

#[test]
fn fsync_comes_after_every_n_writes_and_time_ends_a_run() {
    let fsyncs = Program { fsync: 4, ..write() };
    let fdatasyncs = Program { fdatasync: 4, ..write() };
    for (program, sync) in [(fsyncs, Operation::Fsync), (fdatasyncs, Operation::Fdatasync)] {
        let mut disk = Disk::new(MS);
        let (notes, _) = run(&mut disk, &plan(vec![program]));
        let mut syncs = operations(&disk);
        syncs.retain(|o| matches!(o, Operation::Fsync | Operation::Fdatasync));
        assert_eq!(syncs, [sync; 2], "ten writes");
        assert_eq!(notes.samples[0].operations, 10, "syncs are no requests of the program");
    }

    let timed = Program { runtime: Some(Duration::from_millis(25)), time_based: true, ..read() };
    let (notes, _) = run(&mut Disk::new(2 * MS), &plan(vec![timed.clone()]));
    assert_eq!(
        notes.samples[0].operations, 13,
        "the one under way is finished, past the end of the file"
    );
    let once = Program { time_based: false, ..timed };
    let (notes, _) = run(&mut Disk::new(MS), &plan(vec![once]));
    assert_eq!(notes.samples[0].operations, 10, "the file ends first");
}

/// A disk whose sync takes a known time: it is in the histogram of syncs, to its bucket, and not in
/// that of the writes. The final fdatasync counts as time in syncs alone.
#[test]
fn syncs_between_writes_have_latencies_of_their_own() {
    let mut disk = Disk { sync_ns: 7 * MS, ..Disk::new(MS) };
    let program = Program { fsync: 4, ..write() };
    let (notes, _) = run(&mut disk, &Plan { final_sync: true, ..plan(vec![program]) });
    let pass = &notes.samples[0];
    let (sync, writes) = (pass.sync_latency().unwrap(), pass.latency().unwrap());
    assert_eq!((sync.count(), sync.min_ns(), sync.max_ns()), (2, 7 * MS, 7 * MS));
    let p99_ns = sync.quantile_ns(0.99).unwrap();
    assert!(p99_ns.abs_diff(7 * MS) < 7 * MS / 250, "{p99_ns}");
    assert_eq!((writes.count(), writes.max_ns()), (10, MS));
    assert_eq!(pass.sync_ns, 21 * MS, "two between the writes, and the final one");
    assert_eq!(pass.wall_ns, 31 * MS);

    let (notes, _) = run(&mut disk, &Plan { final_sync: true, ..plan(vec![write()]) });
    assert_eq!(notes.samples[0].sync_latency().unwrap().count(), 0);
    assert_eq!(notes.samples[0].sync_ns, 7 * MS);
}

#[test]
fn a_round_of_sync_visits_each_cell_once_in_an_order_that_the_seed_draws() {
    let plan = |seed| experiment::sync::Plan {
        methods: ["fdatasync", "fsync", "O_DSYNC"].map(str::to_owned).into(),
        block_bytes: vec![4096, 8192],
        writers: vec![1],
        direct: vec![false],
        file_bytes: 65_536,
        appended_bytes: 40_960,
        turns: Turns { runs: 3, pass_ns: 100 * MS, seed, until: None },
        ..experiment::sync::Plan::default()
    };
    let samples = |seed| {
        let (mut disk, mut notes) = (Disk::new(MS), Notes::default());
        let clock = disk.clock.clone();
        let failures = plan(seed).run(&mut disk, "virtual", &clock, &mut notes);
        assert_eq!(failures, Ok(vec![]));
        notes.samples
    };
    let first = samples(1);
    let order = |samples: &[Sample]| -> Vec<_> {
        samples.iter().map(|sample| sample.subject.clone()).collect()
    };
    assert_eq!(order(&first), order(&samples(1)));
    assert_ne!(order(&first), order(&samples(2)));
    let rounds = order(&first);
    // Three methods, appending and overwriting, two sizes.
    let rounds: Vec<&[_]> = rounds.chunks(12).collect();
    let cells = |round: &[_]| -> BTreeSet<_> { round.iter().cloned().collect() };
    assert_eq!(rounds.len(), 3);
    assert!(rounds.iter().all(|round| cells(round).len() == 12));
    assert_eq!(cells(rounds[0]), cells(rounds[2]));
    assert_ne!(rounds[0], rounds[1]);
    // Where no interval is narrow before the seventh pass, there are seven rounds.
    let half_percent = |rates: &[f64]| Some(if rates.len() < 7 { 40.0 } else { 1.0 });
    let until =
        Until { precision_percent: Some(10.0), max_time_ns: u64::MAX, fewest: 3, half_percent };
    let (mut disk, mut notes) = (Disk::new(MS), Notes::default());
    let (clock, mut plan) = (disk.clock.clone(), plan(1));
    plan.turns.until = Some(until);
    plan.run(&mut disk, "virtual", &clock, &mut notes).unwrap();
    assert_eq!(notes.samples.len(), 7 * 12);
    // An append ends where its file may not grow further.
    let appends = first.iter().filter(|sample| sample.access == Access::Write);
    assert!(appends.map(|sample| sample.bytes).all(|bytes| bytes == 40_960));
}

#[test]
fn a_mix_has_its_share_of_reads() {
    let mixed = Program { rwmixread: 70, ..Program::new("mixed", Access::RandRw) };
    let mut disk = Disk::new(1000);
    let (notes, _) = run(&mut disk, &Plan { file_bytes: 10_000 * 4096, ..plan(vec![mixed]) });
    assert_eq!(notes.samples[0].operations, 10_000);
    let reads = operations(&disk).iter().filter(|o| **o == Operation::Read).count();
    assert!((6850..7150).contains(&reads), "{reads}");
}

#[test]
fn an_error_is_a_cell_that_was_not_measured_and_the_rest_goes_on() {
    let mut disk = Disk::new(MS);
    disk.failing_write = Some(3);
    let (notes, outcome) = run(&mut disk, &plan(vec![write(), read()]));
    let failures = outcome.unwrap();
    assert!(
        matches!(&failures[..], [SubjectError::Failed(s)] if s.contains("No space left")),
        "{failures:?}"
    );
    assert_eq!(notes.samples[0].verdict, Verdict::NotMeasured);
    assert!(refusal(&notes).contains("byte 8192"));
    assert_eq!(
        (notes.samples[1].program.as_str(), notes.samples[1].verdict.name()),
        ("read", "ok")
    );
    assert_eq!(*operations(&disk).last().unwrap(), Operation::Close);
}

#[test]
fn a_device_cannot_be_created_and_an_interruption_is_passed_on() {
    let mut disk = Disk::new(MS);
    disk.place.is_device = true;
    let with_ceiling = Plan { ceiling: true, ..plan(vec![write(), read()]) };
    let (notes, outcome) = run(&mut disk, &with_ceiling);
    assert!(refusal(&notes).contains("block device"));
    assert_eq!(notes.samples[1].verdict, Verdict::Ok);
    assert!(matches!(&outcome.unwrap()[..], [SubjectError::Unavailable(_)]));
    assert!(!operations(&disk).contains(&Operation::Create));
    assert_eq!(disk.writes, 0, "a program that cannot run brings no ceiling that writes");

    disk.interrupt_at_run = Some(disk.runs + 1);
    assert_eq!(run(&mut disk, &plan(vec![read()])).1, Err(SubjectError::Interrupted));
}

#[test]
fn too_little_room_is_said_before_anything_is_written() {
    let mut disk = Disk::new(MS);
    disk.place.capacity_bytes = 4096;
    let (notes, _) = run(&mut disk, &plan(vec![write()]));
    assert!(refusal(&notes).contains("--size"));
    assert!(disk.log.is_empty());
}

#[test]
fn ceilings_are_measured_on_a_file_of_their_own() {
    let mut disk = Disk::new(MS);
    let with = Plan { ceiling: true, file_bytes: 2 << 20, ..plan(vec![read(), write()]) };
    let (notes, _) = run(&mut disk, &with);
    let ceilings: Vec<_> = notes.samples.iter().filter(|s| s.role == Role::Ceiling).collect();
    assert_eq!(ceilings.len(), 8);
    assert!(ceilings.iter().all(|s| s.direct == 1 && s.engine == EngineKind::IoUring));
    assert!(ceilings.iter().any(|s| s.program == "ceiling_write" && s.access == Access::Rewrite));
}

/// Of two systems in turn, files that a program finds are laid out anew over and over; those that
/// it creates it creates by itself.
#[test]
fn two_systems_in_turn_do_not_keep_one_layout() {
    let (mut a, mut b) = (Disk::new(2 * MS), Disk::new(2 * MS));
    let name = SystemName { column: "virtual".into(), target: "virtual".into(), drives: 1 };
    let plan = Plan { warmup: 1, runs: 24, ..plan(vec![read(), write()]) };
    let mut notes = Notes::default();
    let clock = a.clock.clone();
    let failures = run_in_turn(
        (&mut a, &name),
        (&mut b, &name),
        &plan,
        &Calibration::default(),
        &clock,
        &mut notes,
    );
    assert!(failures.unwrap().is_empty());
    for disk in [&a, &b] {
        let created = operations(disk).iter().filter(|done| **done == Operation::Create).count();
        // Twelve layouts for the reads, and one for each pass that writes.
        assert_eq!(created, 12 + 25);
    }
    assert_eq!((notes.layouts, notes.samples.len()), (24, 100));
}
