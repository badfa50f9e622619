//! The overhead experiment on a machine of a few lines, in virtual time: a disk that serves its
//! channels side by side, a processor of which each request takes a known time, and loops of a
//! known length. What the compute-and-test loop finds must be what was put in.

// Helpers of tests are tests, which clippy.toml cannot know of this file.
#![allow(clippy::unwrap_used)]

use experiment::overhead::{
    Account, Observer, Overlap, PassStart, Plan, Sweep, default_sweeps, full_sweeps, run,
};
use experiment::until::Until;
use model::record::{Doubt, Role, Sample, Verdict};
use model::seam::{
    Accounting, Clock, Counters, CpuCounters, Job, JobCpu, JobPlacement, Operation, PreparedTarget,
    Request, Subject, SubjectError, TimedCompletion, Turn,
};
use model::workload::{Access, Arithmetic, EngineKind};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

#[derive(Clone, Default)]
struct VirtualClock(Rc<Cell<u64>>);

impl VirtualClock {
    fn pass(&self, ns: u64) {
        self.0.set(self.0.get() + ns);
    }
}

impl Clock for VirtualClock {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }
    fn precision_ns(&self) -> f64 {
        1.0
    }
}

/// What a request and a loop take.
#[derive(Clone)]
struct Machine {
    clock: VirtualClock,
    /// CPU of one call, and of 1024 bytes.
    call_ns: u64,
    ns_per_kib: u64,
    /// Time at the device, beside other requests.
    device_ns: u64,
    loop_ns: u64,
    /// Blocking engines are completed before their call returns.
    blocks: bool,
    /// The processor's time that was spent computing, submitting and testing.
    cpu_ns: Rc<Cell<u64>>,
    requests: Vec<Request>,
    /// Loops that were computed when each request of a channel came, in the last pass with any.
    loops_between: BTreeMap<u32, Vec<u64>>,
    refuses: Option<EngineKind>,
    runs: Rc<Cell<u32>>,
    interrupt_at_run: Option<u32>,
}

impl Machine {
    fn new(call_ns: u64, ns_per_kib: u64, device_ns: u64) -> Self {
        Self {
            clock: VirtualClock::default(),
            call_ns,
            ns_per_kib,
            device_ns,
            loop_ns: 100,
            blocks: false,
            cpu_ns: Rc::default(),
            requests: vec![],
            loops_between: BTreeMap::new(),
            refuses: None,
            runs: Rc::default(),
            interrupt_at_run: None,
        }
    }

    fn spend(&self, ns: u64) {
        self.clock.pass(ns);
        self.cpu_ns.set(self.cpu_ns.get() + ns);
    }

    fn turn_all<J: Job>(&mut self, placement: &JobPlacement, job: &mut J) -> JobCpu {
        let clock = self.clock.clone();
        let (mut flying, mut found) =
            (Vec::<(u64, TimedCompletion)>::new(), Vec::<TimedCompletion>::new());
        let mut marks = vec![];
        let mut loops = 0;
        let is_null = placement.engine == EngineKind::Null;
        let mut loops_between: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        loop {
            let completion = (!found.is_empty()).then(|| found.remove(0));
            match job.turn(&clock, completion) {
                Turn::Submit(request) => {
                    let completion = |found_ns, result| TimedCompletion {
                        token: u64::from(request.token),
                        result,
                        found_ns,
                    };
                    match request.operation {
                        Operation::Read | Operation::Write | Operation::Copy => {
                            self.requests.push(request);
                            loops_between.entry(request.token).or_default().push(loops);
                            let length = u64::from(request.length_bytes);
                            if !is_null {
                                self.spend(self.call_ns + self.ns_per_kib * length / 1024);
                            }
                            let takes = if is_null { 0 } else { self.device_ns };
                            if self.blocks || is_null {
                                clock.pass(takes);
                                found.push(completion(clock.now_ns(), length as i64));
                            } else {
                                let done = clock.now_ns() + takes;
                                flying.push((done, completion(done, length as i64)));
                            }
                        }
                        _ => found.push(completion(clock.now_ns(), 0)),
                    }
                }
                Turn::Wait { .. } if !found.is_empty() => {}
                Turn::Wait { min, until_ns } => {
                    flying.sort_by_key(|(done, _)| *done);
                    if min > 0 {
                        let first = flying.first().map(|(done, _)| *done).unwrap_or(u64::MAX);
                        let until = first.min(until_ns);
                        assert_ne!(until, u64::MAX, "waits for ever");
                        clock.0.set(clock.now_ns().max(until));
                    }
                    while flying.first().is_some_and(|(done, _)| *done <= clock.now_ns()) {
                        let (_, mut completion) = flying.remove(0);
                        completion.found_ns = clock.now_ns();
                        found.push(completion);
                    }
                }
                Turn::Compute { arithmetic, loops: count } => {
                    assert!(
                        placement.arithmetic.contains(&arithmetic),
                        "a placement says with what"
                    );
                    if arithmetic == Arithmetic::Scalar {
                        loops += u64::from(count);
                    }
                    self.spend(u64::from(count) * self.loop_ns);
                }
                Turn::Mark => marks.push(self.cpu_ns.get()),
                Turn::Done => break,
            }
        }
        assert!(flying.is_empty() && found.is_empty(), "a job ends with nothing outstanding");
        if !loops_between.is_empty() {
            self.loops_between = loops_between;
        }
        let timed_ns = (marks.len() > 1).then(|| marks[marks.len() - 1] - marks[0]);
        JobCpu { user_ns: timed_ns.unwrap_or(0), timed_ns, ..JobCpu::default() }
    }
}

impl Subject for Machine {
    fn prepare(&mut self) -> Result<PreparedTarget, SubjectError> {
        Ok(PreparedTarget { drives: 1, capacity_bytes: 1 << 40, ..PreparedTarget::default() })
    }

    fn run<J: Job>(
        &mut self,
        jobs: Vec<(JobPlacement, J)>,
    ) -> Result<Vec<(J, JobCpu)>, SubjectError> {
        assert_eq!(jobs.len(), 1, "this machine has one processor");
        self.runs.set(self.runs.get() + 1);
        if self.interrupt_at_run == Some(self.runs.get()) {
            return Err(SubjectError::Interrupted);
        }
        jobs.into_iter()
            .map(|(placement, mut job)| {
                if self.refuses == Some(placement.engine) {
                    return Err(SubjectError::Unavailable("not on this machine".into()));
                }
                let cpu = self.turn_all(&placement, &mut job);
                Ok((job, cpu))
            })
            .collect()
    }

    fn make_cold(&mut self, _files: &[(usize, String)]) -> Result<(), SubjectError> {
        Ok(())
    }

    fn counters(&mut self, accounting: Accounting) -> Result<Counters, SubjectError> {
        if accounting == Accounting::Trace {
            return Err(SubjectError::Unavailable("no trace here".into()));
        }
        let now = self.clock.now_ns();
        let cpu = CpuCounters {
            cpus: 1,
            idle_ns: now - self.cpu_ns.get(),
            elsewhere_ns: Some(0),
            ..CpuCounters::default()
        };
        Ok(Counters { at_ns: now, devices: vec![], cpu })
    }

    fn clean_up(&mut self) -> Result<(), SubjectError> {
        Ok(())
    }
}

#[derive(Default)]
struct Notes(Vec<Sample>);

impl Observer for Notes {
    fn pass_starts(&mut self, _pass: &PassStart<'_>) {}
    fn pass_done(&mut self, sample: Sample) {
        self.0.push(sample);
    }
    fn cell_done(&mut self) {}
}

const OVERLAP: Overlap = Overlap { arithmetic: Arithmetic::Scalar, test_interval_ns: 5_000 };

fn sweep(engine: EngineKind, overlap: Option<Overlap>) -> Sweep {
    Sweep {
        engines: vec![engine],
        accesses: vec![Access::RandRead],
        direct: vec![true],
        block_bytes: vec![4096, 65536],
        channels: vec![1],
        overlaps: vec![overlap],
        ..Sweep::default()
    }
}

fn plan(sweeps: Vec<Sweep>) -> Plan {
    Plan {
        sweeps,
        file_bytes: 1 << 20,
        warmup: 0,
        runs: 1,
        pass_ns: 10_000_000,
        direct_pass_ns: 10_000_000,
        account_pass_ns: 10_000_000,
        cpus: vec![0],
        seed: 1,
        ..Plan::default()
    }
}

fn samples(machine: &mut Machine, plan: &Plan) -> Vec<Sample> {
    let mut notes = Notes::default();
    let clock = machine.clock.clone();
    run(machine, "virtual", plan, &clock, &mut notes).unwrap();
    notes.0
}

fn of(samples: &[Sample], role: Role, block_bytes: u64) -> &Sample {
    samples.iter().find(|s| s.role == role && s.block_bytes == block_bytes).unwrap()
}

/// (T_t − N_loop · t_loop) / requests: equation 2, with the time of a request in place of a
/// sector's.
fn overhead_ns(samples: &[Sample], block_bytes: u64) -> f64 {
    let calibration =
        samples.iter().find(|s| s.role == Role::Calibration && s.overhead().loop_count.is_some());
    let calibration = calibration.unwrap();
    let t_loop = calibration.overhead().cpu_timed_ns.unwrap() as f64
        / calibration.overhead().loop_count.unwrap() as f64;
    let pass = of(samples, Role::Kept, block_bytes);
    (pass.wall_ns as f64 - pass.overhead().loop_count.unwrap() as f64 * t_loop)
        / pass.operations as f64
}

/// Requests are captured in passes of their own, which hold nothing but operations, and not where
/// something else is computed meanwhile.
#[test]
fn requests_have_passes_of_their_own() {
    let accounts = vec![Account::Requests];
    let of = |overlap| Sweep { accounts: accounts.clone(), ..sweep(EngineKind::Psync, overlap) };
    let plan = plan(vec![of(None), of(Some(OVERLAP))]);
    let samples = samples(&mut Machine::new(1_000, 200, 5_000), &plan);
    let captured: Vec<&Sample> =
        samples.iter().filter(|s| s.overhead().account == Account::Requests).collect();
    assert_eq!(captured.len(), 2);
    for sample in captured {
        assert_eq!(
            (sample.role.name(), sample.overhead().loop_count, sample.overhead().probe_ns),
            ("kept", None, None)
        );
        assert!(sample.operations > 0);
    }
}

#[test]
fn equation_2_finds_what_a_request_takes_from_computing() {
    for (device_ns, channels) in [(60_000, 1), (60_000, 8), (3_000, 1)] {
        let mut machine = Machine::new(2_000, 50, device_ns);
        let sweep = Sweep { channels: vec![channels], ..sweep(EngineKind::Libaio, Some(OVERLAP)) };
        let samples = samples(&mut machine, &plan(vec![sweep]));
        for block_bytes in [4096, 65536] {
            let found = overhead_ns(&samples, block_bytes);
            let truth = (2_000 + 50 * block_bytes / 1024) as f64;
            assert!((found - truth).abs() < 0.01 * truth, "{found} for {truth}, {device_ns} ns");
        }
    }
}

#[test]
fn a_blocking_call_takes_its_waiting_too() {
    let mut machine = Machine { blocks: true, ..Machine::new(2_000, 50, 60_000) };
    let samples = samples(&mut machine, &plan(vec![sweep(EngineKind::Psync, Some(OVERLAP))]));
    let found = overhead_ns(&samples, 4096);
    assert!((found - 62_200.0).abs() < 700.0, "{found}");
    // One piece of computing between any two requests.
    let between = &machine.loops_between[&0];
    let steps: Vec<u64> = between.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps.iter().filter(|step| **step != 50).count() <= 2, "{steps:?}");
}

#[test]
fn the_test_interval_bounds_the_rate() {
    let rate = |test_interval_ns: u64| {
        let overlap = Overlap { test_interval_ns, ..OVERLAP };
        let mut machine = Machine::new(2_000, 0, 60_000);
        let samples = samples(&mut machine, &plan(vec![sweep(EngineKind::Libaio, Some(overlap))]));
        let pass = of(&samples, Role::Kept, 4096);
        assert_eq!(pass.overhead().loops_per_test, Some(test_interval_ns / 100));
        pass.operations as f64 / pass.wall_ns as f64 * 1e9
    };
    // A completion waits for the next test: 62 us become the next multiple of the interval.
    let (fine, coarse) = (rate(1_000), rate(100_000));
    assert!((fine - 1e9 / 62_500.0).abs() < 300.0, "{fine}");
    assert!((coarse - 1e9 / 102_000.0).abs() < 300.0, "{coarse}");
}

#[test]
fn without_computing_the_rate_is_the_devices() {
    let mut machine = Machine::new(2_000, 0, 58_000);
    let sweep = Sweep { channels: vec![1, 4], ..sweep(EngineKind::IoUring, None) };
    let samples = samples(&mut machine, &plan(vec![sweep]));
    for (channels, ns) in [(1, 60_000.0), (4, 15_000.0)] {
        let pass = samples.iter().find(|s| s.depth == channels && s.block_bytes == 4096).unwrap();
        let found = pass.wall_ns as f64 / pass.operations as f64;
        assert!((found - ns).abs() < 0.05 * ns, "{found} for {ns}");
        assert_eq!(pass.overhead().loop_count, None);
        let depth = pass.depth_achieved.unwrap();
        assert!(depth <= channels as f64 && depth > 0.9 * channels as f64, "{depth}");
        assert_eq!(pass.overhead().cpu_timed_ns, Some(2_000 * pass.operations));
    }
}

#[test]
fn reading_and_writing_at_once_takes_turns_and_stays_in_the_channels_part() {
    let mut machine = Machine::new(2_000, 0, 60_000);
    let mixed = Sweep {
        accesses: vec![Access::RandRw],
        channels: vec![4],
        block_bytes: vec![4096],
        ..sweep(EngineKind::Libaio, None)
    };
    samples(&mut machine, &plan(vec![mixed]));
    let data: Vec<&Request> = machine.requests.iter().filter(|r| r.length_bytes == 4096).collect();
    let reads = data.iter().filter(|r| r.operation == Operation::Read).count();
    assert!(reads.abs_diff(data.len() - reads) <= 4, "{reads} of {}", data.len());
    for request in &data {
        let part = (1 << 20) / 4;
        assert_eq!(request.offset_bytes / part, u64::from(request.token));
    }
}

#[test]
fn a_copy_reads_the_first_half_of_the_file() {
    let mut machine = Machine { blocks: true, ..Machine::new(2_000, 0, 0) };
    let copies = Sweep {
        accesses: vec![Access::RandRw],
        direct: vec![false],
        block_bytes: vec![4096],
        ..sweep(EngineKind::CopyFileRange, None)
    };
    let found = samples(&mut machine, &plan(vec![copies]));
    let copies: Vec<_> =
        machine.requests.iter().filter(|r| r.operation == Operation::Copy).collect();
    assert!(copies.len() > 100);
    assert!(copies.iter().all(|r| r.offset_bytes + 4096 <= 1 << 19));
    let pass = of(&found, Role::Kept, 4096);
    assert_eq!(pass.bytes, 4096 * pass.operations, "what is read is what is written");
}

#[test]
fn what_is_refused_is_not_measured_and_not_tried_again() {
    let mut machine = Machine::new(2_000, 0, 60_000);
    machine.refuses = Some(EngineKind::IoUring);
    let sweeps = vec![
        Sweep { block_bytes: vec![4096], ..sweep(EngineKind::IoUring, None) },
        Sweep {
            block_bytes: vec![4096],
            accounts: vec![Account::Trace],
            ..sweep(EngineKind::Libaio, None)
        },
    ];
    let mut notes = Notes::default();
    let plan = Plan { runs: 3, ..plan(sweeps) };
    let clock = machine.clock.clone();
    let met = run(&mut machine, "virtual", &plan, &clock, &mut notes).unwrap();
    assert_eq!(met.len(), 2, "{met:?}");
    let refused: Vec<_> = notes.0.iter().filter(|s| s.verdict == Verdict::NotMeasured).collect();
    let told: Vec<_> =
        refused.iter().map(|s| (s.engine, s.overhead().account, s.doubts.clone())).collect();
    assert_eq!(
        told,
        [
            (EngineKind::IoUring, Account::Difference, vec![Doubt::refused("not on this machine")]),
            (EngineKind::Libaio, Account::Trace, vec![Doubt::refused("no trace here")])
        ]
    );
    let kept = |s: &&Sample| {
        s.engine == EngineKind::Libaio && s.role == Role::Kept && s.verdict != Verdict::NotMeasured
    };
    assert_eq!(notes.0.iter().filter(kept).count(), 3);
}

#[test]
fn rounds_go_on_until_every_rate_is_known_and_other_accounts_have_their_own() {
    let mut machine = Machine::new(2_000, 0, 60_000);
    // No interval is narrow before the seventh pass.
    let half_percent = |rates: &[f64]| Some(if rates.len() < 7 { 40.0 } else { 1.0 });
    let until =
        Until { precision_percent: Some(10.0), max_time_ns: u64::MAX, fewest: 3, half_percent };
    let planned = Plan { warmup: 2, runs: 3, ..plan(vec![sweep(EngineKind::Libaio, None)]) };
    let count = |samples: &[Sample], role| {
        samples.iter().filter(|s| s.role == role && s.engine == EngineKind::Libaio).count()
    };
    let found = samples(&mut machine, &Plan { until: Some(until), ..planned.clone() });
    assert_eq!((count(&found, Role::Warm), count(&found, Role::Kept)), (2 * 2, 7 * 2));
    // Without time, and with a number of their own.
    let none = Until { max_time_ns: 0, ..until };
    for until in [None, Some(none)] {
        let found = samples(&mut machine, &Plan { until, ..planned.clone() });
        assert_eq!((count(&found, Role::Warm), count(&found, Role::Kept)), (2 * 2, 3 * 2));
    }
}

#[test]
fn an_interruption_ends_everything() {
    let mut machine = Machine::new(2_000, 0, 60_000);
    machine.interrupt_at_run = Some(7);
    let plan = Plan { runs: 100, ..plan(vec![sweep(EngineKind::Libaio, None)]) };
    let clock = machine.clock.clone();
    let met = run(&mut machine, "virtual", &plan, &clock, &mut Notes::default());
    assert_eq!(met, Err(SubjectError::Interrupted));
    assert_eq!(machine.runs.get(), 7);
}

#[test]
fn the_plans_hold_each_cell_once_and_no_nonsense() {
    let arithmetic = [Arithmetic::Scalar];
    for (sweeps, least) in [(default_sweeps(&arithmetic), 300), (full_sweeps(&arithmetic), 5000)] {
        let plan = plan(sweeps);
        let cells = plan.cells();
        assert!(cells.len() > least, "{}", cells.len());
        for (position, planned) in cells.iter().enumerate() {
            assert_eq!(planned.cell.nonsense(), None);
            assert!(cells[..position].iter().all(|other| other.cell != planned.cell));
            // What computes beside requests does so with a double interval too, as a check.
            assert!(planned.accounts.len() <= 2);
        }
        // The harness's cost is measured in every shape in which something is measured.
        for planned in &cells {
            let shape = |c: &experiment::overhead::Cell| (c.direct, c.channels, c.overlap);
            assert!(cells.iter().any(|other| other.cell.engine == EngineKind::Null
                && shape(&other.cell) == shape(&planned.cell)));
        }
    }
}
