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

use crate::bench::{Bench, Done, Met, run as run_jobs};
use crate::failure::StreamError;
use crate::on_file::{Measured, layer};
use crate::sequence::mix;
use crate::until::{Rounds, TIME_IS_OVER};
use channels::{Channels, ChannelsPlan, ChannelsReport};
use idle_load::{IdleLoad, Pause};
use model::record::{Role, Sample};
use model::seam::{
    Accounting, Clock, Counters, Job, JobCpu, JobPlacement, Subject, SubjectError, TimedCompletion,
    Turn,
};
use model::units::show_size;
use model::workload::{Access, Arithmetic, EngineKind};
use signal::Signal;
use std::collections::HashMap;
use std::sync::Arc;

/// A calibration runs for this time, or for so many tests where those are long.
const CALIBRATION_NS: u64 = 10_000_000;
const CALIBRATION_LOOPS_MIN: u64 = 40;
/// How long an idle-priority load computes before it looks whether the job is over.
const IDLE_LOAD_TURN_NS: f64 = 20_000.0;

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
) -> Met {
    let counted = plan.cells().into_iter().map(|planned| planned.cell);
    let rounds = Rounds::new(counted, (plan.runs, plan.until), clock.now_ns());
    let (loop_ns, refused) = (HashMap::new(), Vec::new());
    let bench = Bench::new(subject, clock, observer);
    let mut run = Overhead { bench, target, plan, loop_ns, rounds, refused };
    let outcome = run.all();
    run.bench.failures.dedup();
    run.bench.end(outcome)
}

struct Overhead<'a, S: Subject> {
    bench: Bench<'a, S>,
    target: &'a str,
    plan: &'a Plan,
    /// Time of one loop of each arithmetic, roughly.
    loop_ns: HashMap<Arithmetic, f64>,
    /// Of the passes by difference that count.
    rounds: Rounds<Cell>,
    /// Cells and accounts that were refused once are not tried again.
    refused: Vec<(Cell, Account)>,
}

impl<S: Subject> Overhead<'_, S> {
    fn all(&mut self) -> Result<(), SubjectError> {
        let cells = self.plan.cells();
        let prepared = self.prepare(&cells);
        if prepared.is_err() {
            let refused = |planned: &PlannedCell| {
                self.taken(&planned.cell, Account::Difference, prepared.clone())
            };
            return cells.iter().try_for_each(refused);
        }
        for round in 0.. {
            if round >= self.plan.warmup && !self.rounds.go_on(self.bench.clock.now_ns()) {
                break;
            }
            self.round(&cells, round)?;
            self.bench.observer.cell_done();
        }
        Ok(())
    }

    /// Places, files, and the time of a loop.
    fn prepare(&mut self, cells: &[PlannedCell]) -> Result<(), SubjectError> {
        self.bench.prepare()?;
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
            if !self.loop_ns.contains_key(&arithmetic) {
                let loop_ns = self.loop_ns(arithmetic)?;
                self.loop_ns.insert(arithmetic, loop_ns);
            }
        }
        Ok(())
    }

    /// The file of buffered requests, or of direct ones: both kinds on one file would empty the
    /// cache of each other.
    fn file(&self, direct: bool) -> String {
        match self.bench.place.is_device {
            true => String::new(),
            false => format!("file.{}", u8::from(direct)),
        }
    }

    /// Where the part of a device begins that serves as that file.
    fn base_bytes(&self, direct: bool) -> u64 {
        if self.bench.place.is_device && direct { self.plan.file_bytes } else { 0 }
    }

    fn lay_out(&mut self, direct: bool) -> Result<(), SubjectError> {
        let file_bytes = self.plan.file_bytes;
        let what = format!("two files of {} need", show_size(file_bytes));
        self.bench.check_room(&what, 2 * file_bytes)?;
        let is_device = self.bench.place.is_device;
        if is_device && direct {
            return Ok(());
        }
        let (label, bytes) = (if direct { "direct file" } else { "cached file" }, 0..file_bytes);
        let file = self.file(direct);
        let (placement, mut job) = layer(&self.bench.place, &file, (false, bytes));
        if is_device {
            // Reading it is what can be done to a device to have it in the cache.
            job.work.only_read();
        }
        self.bench.lay_out(label, self.plan.file_bytes, vec![(placement, job)])?;
        if direct { self.bench.subject.make_cold(&[(0, file)]) } else { Ok(()) }
    }

    /// Time of a loop, roughly, by which the loops between two tests are chosen.
    fn loop_ns(&mut self, arithmetic: Arithmetic) -> Result<f64, SubjectError> {
        const LOOPS: u32 = 1000;
        const TESTS: u64 = 5;
        let cell = Cell { block_bytes: 4096, ..NOTHING };
        let plan = ChannelsPlan {
            computing: Some((arithmetic, LOOPS)),
            calibrates: Some(TESTS),
            ..self.channels_plan(&cell, 0, 0)
        };
        let placement = JobPlacement { arithmetic: vec![arithmetic], ..self.placement(&cell) };
        let mut best = f64::INFINITY;
        for _ in 0..10 {
            let jobs = vec![(placement.clone(), Channels::new(plan.clone()))];
            for (job, cpu) in run_jobs(self.bench.subject, "calibrating", jobs)? {
                let report = job.report();
                let wall_ns = report.ended_ns.saturating_sub(report.started_ns);
                let loops = (u64::from(LOOPS) * TESTS) as f64;
                best = best.min(cpu.timed_ns.unwrap_or(wall_ns) as f64 / loops);
            }
        }
        Ok(best.max(0.1))
    }

    fn loops_per_test(&self, overlap: Overlap) -> u32 {
        let loop_ns = self.loop_ns.get(&overlap.arithmetic).copied().unwrap_or(1.0);
        (overlap.test_interval_ns as f64 / loop_ns).round().clamp(1.0, 1e9) as u32
    }

    /// Loops of a piece of the core-speed probe; none while nothing is known of the loop yet.
    fn probe_loops(&self) -> Option<u32> {
        let loop_ns = self.loop_ns.get(&probe::ARITHMETIC)?;
        Some((probe::PIECE_NS / loop_ns).clamp(1.0, 1e9) as u32)
    }

    fn channels_plan(&self, cell: &Cell, runtime_ns: u64, seed: u64) -> ChannelsPlan {
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
            signal: Arc::default(),
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
            self.settle(&cell, (account, round), |run| run.calibrate(&cell, round))?;
        }
        for cell in sizes {
            self.settle(cell, (account, round), |run| run.pass(cell, account, round))?;
        }
        if let Some(cell) = calibrated(self) {
            self.settle(&cell, (account, round), |run| run.calibrate(&cell, round))?;
        }
        Ok(())
    }

    /// Measures, unless the cell was refused before.
    fn settle(
        &mut self,
        cell: &Cell,
        (account, round): (Account, u32),
        measure: impl FnOnce(&mut Self) -> Result<(), SubjectError>,
    ) -> Result<(), SubjectError> {
        if self.is_refused(cell, account) {
            return Ok(());
        }
        let measured = match self.rounds.may(cell, self.bench.clock.now_ns()) {
            Ok(true) => measure(self),
            // The other accounts come after it in a round.
            Ok(false) if account == Account::Difference || round > 0 => return Ok(()),
            Ok(false) => Err(SubjectError::Unavailable(TIME_IS_OVER.into())),
            Err(error) => Err(error),
        };
        self.taken(cell, account, measured)
    }

    fn is_refused(&self, cell: &Cell, account: Account) -> bool {
        self.refused.contains(&(*cell, account))
    }

    /// Passes an interruption on; another error refuses the cell from here on.
    fn taken(
        &mut self,
        cell: &Cell,
        account: Account,
        measured: Result<(), SubjectError>,
    ) -> Result<(), SubjectError> {
        let blank = pass::blank(self.target, cell, account, self.plan.file_bytes);
        if self.bench.taken(measured, blank)?.is_none() {
            if account == Account::Difference {
                self.rounds.leave_out(cell);
            }
            self.refused.push((*cell, account));
        }
        Ok(())
    }

    fn pass(&mut self, cell: &Cell, account: Account, round: u32) -> Result<(), SubjectError> {
        let role = match account {
            Account::Difference if round < self.plan.warmup => Role::Warm,
            _ => Role::Kept,
        };
        let label = pass::label(cell, account);
        self.announce(&label, role, round, account == Account::Requests);
        let (seed, time_ns) =
            (mix(self.plan.seed, u64::from(round)), self.plan.pass_ns(cell, account));
        let mut plan = self.channels_plan(cell, time_ns, seed);
        if account == Account::Requests {
            // The pass is all operations: what is captured in it is theirs.
            plan.probe_loops = None;
        }
        let (mut sample, run) = self.measured(cell, account, plan, &label)?;
        (sample.pass, sample.role) = (u64::from(round), role);
        pass::fill(&mut sample, cell, &run, &self.bench.place);
        if (role, account) == (Role::Kept, Account::Difference) {
            self.rounds.add(cell, sample.operations_per_s());
        }
        self.bench.observer.pass_done(sample);
        Ok(())
    }

    /// The compute-and-test loop without I/O: t_loop.
    fn calibrate(&mut self, cell: &Cell, round: u32) -> Result<(), SubjectError> {
        let Some(overlap) = cell.overlap else { return Ok(()) };
        let account = Account::Difference;
        self.announce(&pass::label(cell, account), Role::Calibration, round, false);
        let loops = (CALIBRATION_NS / overlap.test_interval_ns).max(CALIBRATION_LOOPS_MIN);
        let plan = ChannelsPlan {
            calibrates: Some(loops),
            ..self.channels_plan(cell, u64::MAX, self.plan.seed)
        };
        let (sample, run) = self.measured(cell, account, plan, "calibrating")?;
        self.calibrated(sample, round, &run);
        Ok(())
    }

    /// A run without work is over.
    fn calibrated(&mut self, mut sample: Sample, round: u32, run: &Run) {
        (sample.pass, sample.role) = (u64::from(round), Role::Calibration);
        pass::fill_calibration(&mut sample, run);
        self.bench.observer.pass_done(sample);
    }

    /// A cell's channels as a pass of an account, and a sample that knows only the cell.
    fn measured(
        &mut self,
        cell: &Cell,
        account: Account,
        plan: ChannelsPlan,
        label: &str,
    ) -> Result<(Sample, Run), SubjectError> {
        let mut sample = pass::blank(self.target, cell, account, self.plan.file_bytes);
        let loops_per_test = plan.computing.map(|(_, loops)| u64::from(loops));
        sample.overhead_mut().loops_per_test = loops_per_test;
        let signal = plan.signal.clone();
        let task = (self.placement(cell), Task::Channels(Channels::new(plan)));
        Ok((sample, self.run_beside(account, label, task, &signal)?))
    }

    /// The machine with nothing beside what the account itself runs.
    fn by_itself(&mut self, account: Account, round: u32) -> Result<(), SubjectError> {
        if account == Account::Requests {
            return Ok(());
        }
        let label = "the machine by itself";
        self.announce(label, Role::Calibration, round, false);
        let signal = Arc::new(Signal::default());
        let pause = Task::Pause(Pause::new(signal.clone(), self.plan.account_pass_ns));
        let cpu = self.plan.cpus.last().copied();
        let task = (JobPlacement { cpu, ..JobPlacement::default() }, pause);
        match self.run_beside(account, label, task, &signal) {
            Ok(run) => {
                self.calibrated(pass::blank(self.target, &NOTHING, account, 0), round, &run);
                Ok(())
            }
            Err(SubjectError::Interrupted) => Err(SubjectError::Interrupted),
            // Each cell of this account will say so itself.
            Err(_) => Ok(()),
        }
    }

    fn announce(&mut self, label: &str, role: Role, round: u32, is_captured: bool) {
        let passes = self.plan.warmup + self.plan.runs;
        self.bench.starts(label, (role, round, passes), 0, is_captured);
    }

    /// Runs a task, with what the account runs beside it, between two readings of the counters.
    fn run_beside(
        &mut self,
        account: Account,
        label: &str,
        task: (JobPlacement, Task),
        signal: &Arc<Signal>,
    ) -> Result<Run, SubjectError> {
        let mut jobs = vec![task];
        if account == Account::IdleLoad {
            if let Some(reason) = &self.plan.no_idle_load {
                return Err(SubjectError::Unavailable(reason.clone()));
            }
            let loop_ns = self.loop_ns.get(&idle_load::ARITHMETIC).copied().unwrap_or(1.0);
            let loops = (IDLE_LOAD_TURN_NS / loop_ns).max(1.0) as u32;
            jobs.extend(self.plan.cpus.iter().map(|cpu| {
                let placement = JobPlacement {
                    arithmetic: vec![idle_load::ARITHMETIC],
                    cpu: Some(*cpu),
                    is_background: true,
                    ..JobPlacement::default()
                };
                (placement, Task::IdleLoad(IdleLoad::new(signal.clone(), loops)))
            }));
        }
        let accounting = match account {
            Account::Trace => Accounting::Trace,
            _ => Accounting::Difference,
        };
        collect(self.bench.measure(accounting, label, jobs)?)
    }
}

/// The null engine, which touches nothing.
const NOTHING: Cell = Cell {
    engine: EngineKind::Null,
    access: Access::RandRead,
    direct: false,
    block_bytes: 0,
    channels: 1,
    overlap: None,
};

/// A job, or what stands in its place or runs beside it: the subject runs jobs of one type.
#[allow(clippy::large_enum_variant, reason = "a few a pass, and its turns are what is measured")]
enum Task {
    Channels(Channels),
    Pause(Pause),
    IdleLoad(IdleLoad),
}

impl Job for Task {
    #[inline(always)]
    fn turn<C: Clock>(&mut self, clock: &C, completion: Option<TimedCompletion>) -> Turn {
        match self {
            Self::Channels(channels) => channels.turn(clock, completion),
            Self::Pause(pause) => pause.turn(clock, completion),
            Self::IdleLoad(idle_load) => idle_load.turn(clock, completion),
        }
    }
}

impl Measured for Task {
    fn error(&self) -> Option<StreamError> {
        if let Self::Channels(channels) = self { channels.error() } else { None }
    }
}

fn collect(done: Done<Task>) -> Result<Run, SubjectError> {
    let Done { jobs, before, after } = done;
    let (mut found, mut idle_loads) = (None, Vec::new());
    for (task, cpu) in jobs {
        match task {
            Task::Channels(channels) => found = Some((channels.into_report(), cpu)),
            Task::Pause(Pause { took_ns: ended_ns, .. }) => {
                found = Some((ChannelsReport { ended_ns, ..ChannelsReport::default() }, cpu));
            }
            Task::IdleLoad(idle_load) => idle_loads.push((idle_load.loops, cpu)),
        }
    }
    let (report, job) =
        found.ok_or_else(|| SubjectError::Failed("the subject gave no job back".into()))?;
    Ok(Run { report, job, idle_loads, before, after })
}
