//! The overhead experiment: what rate does each I/O routine reach at each request size and number
//! of channels, and how much CPU time does it take from computing? After Bucher & Hayes (1980):
//! non-overlapped passes, compute-and-test loops, and idle-priority loops or a trace during the
//! job.
//!
//! Rates come only from passes that nothing runs beside. The order is rounds over all cells, so
//! that a machine that changes its speed changes it for all of them.
//!
//! Non-goals: fits (`analyze`), printing (`report`).

mod channels;
mod idle_load;
mod pass;
mod plan;
mod probe;
mod signal;
mod sweeps;

pub use crate::observer::{Observer, PassStart};
pub use model::workload::Account;
pub use plan::{ACCOUNT_ROUNDS, Cell, Overlap, Plan, PlannedCell, Sweep};
pub use sweeps::{Axes, LEFT_OUT, default_sweeps, full_sweeps, model_sweeps};

use crate::sequence::mix;
use crate::throughput::job::{Stream, StreamPlan};
use crate::until::Rounds;
use channels::{Channels, ChannelsPlan, ChannelsReport};
use idle_load::{IdleLoad, Pause};
use model::record::{Doubt, Judgement, Role};
use model::seam::{
    Accounting, Clock, Counters, Job, JobCpu, JobPlacement, PreparedTarget, Subject, SubjectError,
    TimedCompletion, Turn,
};
use model::workload::{Access, Arithmetic, EngineKind, Program};
use signal::Signal;
use std::collections::HashMap;
use std::sync::Arc;

/// Files are laid out before the first pass, in blocks of this size.
const LAYOUT_BLOCK_BYTES: u64 = 1 << 20;
/// A calibration runs for this time, or for so many tests where those are long.
const CALIBRATION_NS: u64 = 10_000_000;
const CALIBRATION_LOOPS_MIN: u64 = 40;
/// How long an idle-priority load computes before it looks whether the job is over.
const IDLE_LOAD_TURN_NS: f64 = 20_000.0;

/// What the run has found of the place and the machine.
#[derive(Default)]
struct Setup {
    place: PreparedTarget,
    /// Time of one loop of each arithmetic, roughly.
    loop_ns: HashMap<Arithmetic, f64>,
}

/// One pass that was run: the job's report, what idle-priority loops did meanwhile, and the
/// counters.
struct Run {
    report: ChannelsReport,
    job: JobCpu,
    idle_loads: Vec<(u64, JobCpu)>,
    before: Counters,
    after: Counters,
}

/// Runs the plan on one subject and tells the observer of every pass. A cell that cannot be run
/// there becomes a *not measured* sample.
/// Errors: `Interrupted`, or a failure of cleaning up. What single cells met is given back.
pub fn run<S: Subject>(
    subject: &mut S,
    target: &str,
    plan: &Plan,
    clock: &dyn Clock,
    observer: &mut dyn Observer,
) -> Result<Vec<SubjectError>, SubjectError> {
    let counted = plan.cells().into_iter().map(|planned| planned.cell);
    let rounds = Rounds::new(counted, (plan.runs, plan.until), clock.now_ns());
    let (setup, refused) = (Setup::default(), Vec::new());
    let mut run = Overhead { subject, target, plan, clock, observer, setup, rounds, refused };
    let outcome = run.all();
    let mut failures: Vec<SubjectError> = run.refused.into_iter().map(|(.., e)| e).collect();
    subject.clean_up()?;
    failures.dedup();
    outcome.map(|()| failures)
}

struct Overhead<'a, S: Subject> {
    subject: &'a mut S,
    target: &'a str,
    plan: &'a Plan,
    clock: &'a dyn Clock,
    observer: &'a mut dyn Observer,
    setup: Setup,
    /// Of the passes by difference that count.
    rounds: Rounds<Cell>,
    /// Cells and accounts that were refused once are not tried again.
    refused: Vec<(Cell, Account, SubjectError)>,
}

impl<S: Subject> Overhead<'_, S> {
    fn all(&mut self) -> Result<(), SubjectError> {
        let cells = self.plan.cells();
        let prepared = self.prepare(&cells);
        if let Err(error) = prepared {
            if error == SubjectError::Interrupted {
                return Err(error);
            }
            for planned in &cells {
                self.refuse(&planned.cell, Account::Difference, error.clone());
            }
            return Ok(());
        }
        for round in 0.. {
            if round >= self.plan.warmup && !self.rounds.go_on(self.clock.now_ns()) {
                break;
            }
            self.round(&cells, round)?;
            self.observer.cell_done();
        }
        Ok(())
    }

    /// Places, files, and the time of a loop.
    fn prepare(&mut self, cells: &[PlannedCell]) -> Result<(), SubjectError> {
        self.setup.place = self.subject.prepare()?;
        // The direct file is made cold, by which a fresh file system loses the cached one too: that
        // comes last.
        for direct in [true, false] {
            let uses =
                |p: &PlannedCell| p.cell.direct == direct && p.cell.engine != EngineKind::Null;
            if cells.iter().any(uses) {
                self.lay_out(direct)?;
            }
        }
        let kinds = cells.iter().filter_map(|p| p.cell.overlap).map(|o| o.arithmetic);
        let kinds: Vec<_> = kinds.chain([idle_load::ARITHMETIC, probe::ARITHMETIC]).collect();
        for arithmetic in kinds {
            if !self.setup.loop_ns.contains_key(&arithmetic) {
                let loop_ns = self.loop_ns(arithmetic)?;
                self.setup.loop_ns.insert(arithmetic, loop_ns);
            }
        }
        Ok(())
    }

    /// The file of buffered requests, or of direct ones: both kinds on one file would empty the
    /// cache of each other.
    fn file(&self, direct: bool) -> String {
        match self.setup.place.is_device {
            true => String::new(),
            false => format!("file.{}", u8::from(direct)),
        }
    }

    /// Where the part of a device begins that serves as that file.
    fn base_bytes(&self, direct: bool) -> u64 {
        if self.setup.place.is_device && direct { self.plan.file_bytes } else { 0 }
    }

    fn lay_out(&mut self, direct: bool) -> Result<(), SubjectError> {
        use model::units::show_size;
        let (needed, free) = (2 * self.plan.file_bytes, self.setup.place.capacity_bytes);
        if needed > free {
            return Err(SubjectError::Unavailable(format!(
                "two files of {} need {}, but there is space for {}; give a smaller --size",
                show_size(self.plan.file_bytes),
                show_size(needed),
                show_size(free)
            )));
        }
        let file = self.file(direct);
        self.observer.pass_starts(&PassStart {
            program: if direct { "direct file" } else { "cached file" },
            pass: None,
            role: Role::Warm,
            passes: 0,
            bytes: self.plan.file_bytes,
            captures: None,
        });
        let (access, is_device) = match self.setup.place.is_device {
            // Reading it is what can be done to a device to have it in the cache.
            true => (Access::Read, true),
            false => (Access::Write, false),
        };
        if is_device && direct {
            return Ok(());
        }
        let program = Program {
            bs: LAYOUT_BLOCK_BYTES,
            ioengine: Some(EngineKind::Psync),
            ..Program::new("layout", access)
        };
        let file_bytes = self.plan.file_bytes;
        let stream = StreamPlan { file_bytes, base_bytes: 0, final_sync: true, seed: 0 };
        let placement = JobPlacement {
            file: file.clone(),
            engine: EngineKind::Psync,
            block_bytes: LAYOUT_BLOCK_BYTES as u32,
            file_bytes,
            ..JobPlacement::default()
        };
        let done = self.subject.run(vec![(placement.clone(), Stream::new(&program, stream))])?;
        for (stream, _) in done {
            if let Some(error) = stream.into_report().error {
                return Err(error.on(&placement, "laying out the file"));
            }
        }
        if direct { self.subject.make_cold(&[(0, file)]) } else { Ok(()) }
    }

    /// Time of a loop, roughly, by which the loops between two tests are chosen.
    fn loop_ns(&mut self, arithmetic: Arithmetic) -> Result<f64, SubjectError> {
        const LOOPS: u32 = 1000;
        const TESTS: u64 = 5;
        let cell = Cell {
            engine: EngineKind::Null,
            access: Access::RandRead,
            direct: false,
            block_bytes: 4096,
            channels: 1,
            overlap: None,
        };
        let plan = ChannelsPlan {
            computing: Some((arithmetic, LOOPS)),
            calibrates: Some(TESTS),
            ..self.channels_plan(&cell, 0, 0, Arc::default())
        };
        let placement = JobPlacement { arithmetic: vec![arithmetic], ..self.placement(&cell) };
        let mut best = f64::INFINITY;
        for _ in 0..10 {
            for (job, cpu) in
                self.subject.run(vec![(placement.clone(), Channels::new(plan.clone()))])?
            {
                let report = job.into_report();
                let wall_ns = report.ended_ns.saturating_sub(report.started_ns);
                let loops = (u64::from(LOOPS) * TESTS) as f64;
                best = best.min(cpu.timed_ns.unwrap_or(wall_ns) as f64 / loops);
            }
        }
        Ok(best.max(0.1))
    }

    fn loops_per_test(&self, overlap: Overlap) -> u32 {
        let loop_ns = self.setup.loop_ns.get(&overlap.arithmetic).copied().unwrap_or(1.0);
        (overlap.test_interval_ns as f64 / loop_ns).round().clamp(1.0, 1e9) as u32
    }

    /// Loops of a piece of the core-speed probe; none while nothing is known of the loop yet.
    fn probe_loops(&self) -> Option<u32> {
        let loop_ns = self.setup.loop_ns.get(&probe::ARITHMETIC)?;
        Some((probe::PIECE_NS / loop_ns).clamp(1.0, 1e9) as u32)
    }

    fn channels_plan(
        &self,
        cell: &Cell,
        runtime_ns: u64,
        seed: u64,
        signal: Arc<Signal>,
    ) -> ChannelsPlan {
        ChannelsPlan {
            access: cell.access,
            copies: cell.copies(),
            block_bytes: u32::try_from(cell.block_bytes).unwrap_or(u32::MAX),
            channels: cell.channels,
            base_bytes: self.base_bytes(cell.direct),
            file_bytes: self.plan.file_bytes,
            seed,
            runtime_ns,
            computing: cell.overlap.map(|o| (o.arithmetic, self.loops_per_test(o))),
            calibrates: None,
            probe_loops: self.probe_loops(),
            signal,
        }
    }

    fn placement(&self, cell: &Cell) -> JobPlacement {
        let computing = cell.overlap.map(|overlap| overlap.arithmetic).into_iter();
        JobPlacement {
            file: self.file(cell.direct),
            engine: cell.engine,
            direct: cell.direct,
            depth: cell.channels,
            block_bytes: u32::try_from(cell.block_bytes).unwrap_or(u32::MAX),
            file_bytes: self.plan.file_bytes,
            arithmetic: computing.chain([probe::ARITHMETIC]).collect(),
            cpu: self.plan.cpus.last().copied(),
            ..JobPlacement::default()
        }
    }

    /// One pass of every cell under each of its accounts.
    fn round(&mut self, cells: &[PlannedCell], round: u32) -> Result<(), SubjectError> {
        for (account, _) in Account::ALL.iter().copied() {
            let is_wanted =
                |p: &&PlannedCell| account == Account::Difference || p.accounts.contains(&account);
            let wanted: Vec<Cell> = cells.iter().filter(is_wanted).map(|p| p.cell).collect();
            let is_enough = account != Account::Difference && round >= self.plan.rounds(account);
            if is_enough || wanted.is_empty() {
                continue;
            }
            self.by_itself(account, round)?;
            // Sizes of one routine share its loop.
            let routine = |cell: &Cell| Cell { block_bytes: 0, ..*cell };
            for sizes in wanted.chunk_by(|a, b| routine(a) == routine(b)) {
                self.sizes(sizes, account, round)?;
            }
        }
        Ok(())
    }

    /// A pass of each size of a routine, with its loop's own time before and after.
    fn sizes(&mut self, sizes: &[Cell], account: Account, round: u32) -> Result<(), SubjectError> {
        // By a size that works: the loop is the same with all.
        let calibrated = |run: &Self| {
            let works = |cell: &&Cell| cell.overlap.is_some() && !run.is_refused(cell, account);
            sizes.iter().find(works).copied()
        };
        if let Some(cell) = calibrated(self) {
            self.settle(&cell, account, |run| run.calibrate(&cell, round))?;
        }
        for cell in sizes {
            self.settle(cell, account, |run| run.pass(cell, account, round))?;
        }
        if let Some(cell) = calibrated(self) {
            self.settle(&cell, account, |run| run.calibrate(&cell, round))?;
        }
        Ok(())
    }

    /// Passes an interruption on; another error refuses the cell from here on.
    fn settle(
        &mut self,
        cell: &Cell,
        account: Account,
        measure: impl FnOnce(&mut Self) -> Result<(), SubjectError>,
    ) -> Result<(), SubjectError> {
        if self.is_refused(cell, account) {
            return Ok(());
        }
        match measure(self) {
            Ok(()) => {}
            Err(SubjectError::Interrupted) => return Err(SubjectError::Interrupted),
            Err(error) => self.refuse(cell, account, error),
        }
        Ok(())
    }

    fn is_refused(&self, cell: &Cell, account: Account) -> bool {
        self.refused.iter().any(|(known, by, _)| known == cell && *by == account)
    }

    fn refuse(&mut self, cell: &Cell, account: Account, error: SubjectError) {
        let mut sample = pass::blank(self.target, cell, account, self.plan.file_bytes);
        sample.judge(Judgement::not_measured(Doubt::refused(&error)));
        self.observer.pass_done(sample);
        if account == Account::Difference {
            self.rounds.leave_out(cell);
        }
        self.refused.push((*cell, account, error));
    }

    fn pass(&mut self, cell: &Cell, account: Account, round: u32) -> Result<(), SubjectError> {
        let role = match account {
            Account::Difference if round < self.plan.warmup => Role::Warm,
            _ => Role::Kept,
        };
        self.announce(&pass::label(cell, account), role, round, account == Account::Requests);
        let signal = Arc::new(Signal::default());
        let seed = mix(self.plan.seed, u64::from(round));
        let mut plan =
            self.channels_plan(cell, self.plan.pass_ns(cell, account), seed, signal.clone());
        if account == Account::Requests {
            // The pass is all operations: what is captured in it is theirs.
            plan.probe_loops = None;
        }
        let loops_per_test = plan.computing.map(|(_, loops)| loops);
        let placement = self.placement(cell);
        let run = self.run_beside(account, placement.clone(), Channels::new(plan), &signal)?;
        if let Some(error) = run.report.error {
            return Err(error.on(&placement, &pass::label(cell, account)));
        }
        let mut sample = pass::blank(self.target, cell, account, self.plan.file_bytes);
        sample.pass = u64::from(round);
        sample.role = role;
        sample.overhead_mut().loops_per_test = loops_per_test.map(u64::from);
        pass::fill(&mut sample, cell, &run, &self.setup.place);
        if (role, account) == (Role::Kept, Account::Difference) {
            self.rounds.add(cell, sample.operations_per_s());
        }
        self.observer.pass_done(sample);
        Ok(())
    }

    /// The compute-and-test loop without I/O: t_loop.
    fn calibrate(&mut self, cell: &Cell, round: u32) -> Result<(), SubjectError> {
        let Some(overlap) = cell.overlap else { return Ok(()) };
        self.announce(&pass::label(cell, Account::Difference), Role::Calibration, round, false);
        let signal = Arc::new(Signal::default());
        let loops = (CALIBRATION_NS / overlap.test_interval_ns).max(CALIBRATION_LOOPS_MIN);
        let plan = ChannelsPlan {
            calibrates: Some(loops),
            ..self.channels_plan(cell, u64::MAX, self.plan.seed, signal.clone())
        };
        let loops_per_test = plan.computing.map(|(_, loops)| loops);
        let placement = self.placement(cell);
        let run =
            self.run_beside(Account::Difference, placement.clone(), Channels::new(plan), &signal)?;
        if let Some(error) = run.report.error {
            return Err(error.on(&placement, "calibrating"));
        }
        let mut sample = pass::blank(self.target, cell, Account::Difference, self.plan.file_bytes);
        sample.pass = u64::from(round);
        sample.role = Role::Calibration;
        sample.overhead_mut().loops_per_test = loops_per_test.map(u64::from);
        pass::fill_calibration(&mut sample, &run);
        self.observer.pass_done(sample);
        Ok(())
    }

    /// The machine with nothing beside what the account itself runs.
    fn by_itself(&mut self, account: Account, round: u32) -> Result<(), SubjectError> {
        if account == Account::Requests {
            return Ok(());
        }
        let cell = Cell {
            engine: EngineKind::Null,
            access: Access::RandRead,
            direct: false,
            block_bytes: 0,
            channels: 1,
            overlap: None,
        };
        self.announce("the machine by itself", Role::Calibration, round, false);
        let signal = Arc::new(Signal::default());
        let pause = Pause::new(signal.clone(), self.plan.account_pass_ns);
        let placement =
            JobPlacement { cpu: self.plan.cpus.last().copied(), ..JobPlacement::default() };
        let run = match self.run_beside(account, placement, pause, &signal) {
            Ok(run) => run,
            Err(SubjectError::Interrupted) => return Err(SubjectError::Interrupted),
            // Each cell of this account will say so itself.
            Err(_) => return Ok(()),
        };
        let mut sample = pass::blank(self.target, &cell, account, 0);
        sample.pass = u64::from(round);
        sample.role = Role::Calibration;
        pass::fill_calibration(&mut sample, &run);
        self.observer.pass_done(sample);
        Ok(())
    }

    fn announce(&mut self, label: &str, role: Role, round: u32, is_captured: bool) {
        self.observer.pass_starts(&PassStart {
            program: label,
            pass: Some(round),
            role,
            passes: self.plan.warmup + self.plan.runs,
            bytes: 0,
            captures: is_captured.then_some(&self.setup.place.devices),
        });
    }

    /// Runs a job, with what the account runs beside it, between two readings of the counters.
    fn run_beside<J>(
        &mut self,
        account: Account,
        placement: JobPlacement,
        job: J,
        signal: &Arc<Signal>,
    ) -> Result<Run, SubjectError>
    where
        J: Job,
        Beside<J>: Outcome,
    {
        let mut jobs = vec![(placement, Beside::Job(job))];
        if account == Account::IdleLoad {
            let loop_ns = self.setup.loop_ns.get(&idle_load::ARITHMETIC).copied().unwrap_or(1.0);
            let loops = (IDLE_LOAD_TURN_NS / loop_ns).max(1.0) as u32;
            jobs.extend(self.plan.cpus.iter().map(|cpu| {
                let placement = JobPlacement {
                    arithmetic: vec![idle_load::ARITHMETIC],
                    cpu: Some(*cpu),
                    is_background: true,
                    ..JobPlacement::default()
                };
                (placement, Beside::IdleLoad(IdleLoad::new(signal.clone(), loops)))
            }));
        }
        if let (Account::IdleLoad, Some(reason)) = (account, &self.plan.no_idle_load) {
            return Err(SubjectError::Unavailable(reason.clone()));
        }
        let accounting = match account {
            Account::Trace => Accounting::Trace,
            _ => Accounting::Difference,
        };
        let before = self.subject.counters(accounting)?;
        let done = self.subject.run(jobs);
        // Whatever became of it, the trace ends.
        let after = self.subject.counters(Accounting::Difference)?;
        collect(done?, before, after)
    }
}

/// A job, or an idle-priority loop: the subject runs jobs of one type.
enum Beside<J> {
    Job(J),
    IdleLoad(IdleLoad),
}

impl<J: Job> Job for Beside<J> {
    #[inline(always)]
    fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        match self {
            Self::Job(job) => job.turn(clock, completion),
            Self::IdleLoad(idle_load) => idle_load.turn(clock, completion),
        }
    }
}

/// What a job has to say when it is over.
trait Outcome {
    fn report(self) -> Result<ChannelsReport, u64>;
}

impl Outcome for Beside<Channels> {
    fn report(self) -> Result<ChannelsReport, u64> {
        match self {
            Self::Job(job) => Ok(job.into_report()),
            Self::IdleLoad(idle_load) => Err(idle_load.loops),
        }
    }
}

impl Outcome for Beside<Pause> {
    fn report(self) -> Result<ChannelsReport, u64> {
        match self {
            Self::Job(pause) => {
                Ok(ChannelsReport { ended_ns: pause.took_ns, ..ChannelsReport::default() })
            }
            Self::IdleLoad(idle_load) => Err(idle_load.loops),
        }
    }
}

fn collect<J>(
    done: Vec<(Beside<J>, JobCpu)>,
    before: Counters,
    after: Counters,
) -> Result<Run, SubjectError>
where
    Beside<J>: Outcome,
{
    let mut found = None;
    let mut idle_loads = Vec::new();
    for (job, cpu) in done {
        match job.report() {
            Ok(report) => found = Some((report, cpu)),
            Err(loops) => idle_loads.push((loops, cpu)),
        }
    }
    let (report, job) =
        found.ok_or_else(|| SubjectError::Failed("the subject gave no job back".into()))?;
    Ok(Run { report, job, idle_loads, before, after })
}
