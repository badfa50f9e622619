//! The throughput experiment: how fast do files move through a file system, and
//! at what share of the CPU? After Kridle & McKusick (1983): a fresh place, then
//! each program in turn, each pass of it from a known state, the first pass left out.
//!
//! Non-goals: statistics over passes (`analyze`), printing (`report`).

mod in_turn;
pub(crate) mod job;
mod pass;
mod plan;

pub use crate::observer::{Observer, PassStart};
pub use in_turn::run_in_turn;
pub use plan::{BATTERY, Calibration, Plan, ceiling_passes, default_file_bytes};

use crate::bench::{Bench, Done, Jobs, Met, run};
use crate::checks::{Facts, judge};
use crate::on_file::{LAYOUT_BLOCK_BYTES, OnFile, layer};
use crate::sequence;
use crate::until::Passes;
use job::{Remove, Stream, StreamPlan};
use model::record::{self, Cold, Experiment, Judgement, Role, Sample};
use model::seam::{Accounting, Clock, JobPlacement, Subject, SubjectError};
use model::workload::{Access, EngineKind, Program};
pub(crate) use pass::add_work;
use plan::{CEILING_GRAIN_BYTES, CEILING_PASSES, CEILING_SHAPES};
use std::collections::BTreeMap;

/// What a system is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemName {
    /// The column: `ext4:4k`, a directory, a device.
    pub column: String,
    /// The target as it was requested.
    pub target: String,
    /// Drives that run at once.
    pub drives: usize,
}

/// Runs the plan on one system and tells the observer of every pass.
/// A program that cannot be run there becomes a *not measured* sample.
/// Errors: `Interrupted`, or a failure of cleaning up. What the programs themselves met is given
/// back: the sentences of all failures, empty where everything went well.
pub fn run_system<S: Subject>(
    subject: &mut S,
    name: &SystemName,
    plan: &Plan,
    calibration: &Calibration,
    clock: &dyn Clock,
    observer: &mut dyn Observer,
) -> Met {
    let mut run = SystemRun::new(subject, name, plan, calibration, clock, observer);
    let outcome = run.all();
    run.bench.end(outcome)
}

/// What the harness itself costs a request: random reads on the null engine, histogram on, best
/// of a few runs.
/// Errors: what the subject refuses or fails.
pub fn harness_ns_per_operation<S: Subject>(
    subject: &mut S,
    operations: u64,
) -> Result<f64, SubjectError> {
    let program = Program {
        size: Some(operations * 4096),
        ioengine: Some(EngineKind::Null),
        ..Program::new("harness", Access::RandRead)
    };
    let placement = JobPlacement::default();
    subject.prepare()?;
    let mut best = f64::INFINITY;
    for seed in 0..5 {
        let file_bytes = operations * 4096;
        let plan = StreamPlan { file_bytes, base_bytes: 0, final_sync: false, seed };
        let done = subject.run(vec![(placement.clone(), Stream::job(&program, plan))])?;
        for (stream, _) in done {
            let report = stream.work.report();
            let wall_ns = report.ended_ns.saturating_sub(report.started_ns);
            best = best.min(wall_ns as f64 / report.operations.max(1) as f64);
        }
    }
    subject.clean_up()?;
    Ok(best)
}

/// One system's run.
struct SystemRun<'a, S: Subject> {
    bench: Bench<'a, S>,
    name: &'a SystemName,
    plan: &'a Plan,
    calibration: &'a Calibration,
    /// Bytes of each file that is there, by drive and name.
    laid_out: BTreeMap<(usize, String), u64>,
}

/// What a pass is, beyond its program.
#[derive(Clone, Copy)]
struct PassKind {
    role: Role,
    number: u32,
    is_cold: bool,
    final_sync: bool,
}

impl<'a, S: Subject> SystemRun<'a, S> {
    fn new(
        subject: &'a mut S,
        name: &'a SystemName,
        plan: &'a Plan,
        calibration: &'a Calibration,
        clock: &'a dyn Clock,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let bench = Bench::new(subject, clock, observer);
        Self { bench, name, plan, calibration, laid_out: BTreeMap::new() }
    }

    fn all(&mut self) -> Result<(), SubjectError> {
        if !self.is_prepared()? {
            return Ok(());
        }
        for program in &self.plan.programs {
            let measured = self.program(program);
            self.settle(program, Role::Kept, measured)?;
        }
        self.all_ceilings()
    }

    /// Prepares the place. Where that is refused, no program was measured.
    fn is_prepared(&mut self) -> Result<bool, SubjectError> {
        let prepared = self.bench.prepare();
        for program in self.plan.programs.iter().filter(|_| prepared.is_err()) {
            let blank = Sample { role: Role::Kept, ..self.blank_sample(program) };
            self.bench.taken(prepared.clone(), blank)?;
        }
        // All for one reason.
        self.bench.failures.truncate(1);
        Ok(prepared.is_ok())
    }

    fn all_ceilings(&mut self) -> Result<(), SubjectError> {
        if self.plan.ceiling {
            for program in self.ceilings() {
                let measured = self.ceiling(&program);
                self.settle(&program, Role::Ceiling, measured)?;
            }
        }
        Ok(())
    }

    /// Passes an interruption on, turns another error into a cell that was not measured.
    fn settle(
        &mut self,
        program: &Program,
        role: Role,
        measured: Result<(), SubjectError>,
    ) -> Result<(), SubjectError> {
        let blank = Sample { role, ..self.blank_sample(program) };
        self.bench.taken(measured, blank)?;
        self.bench.observer.cell_done();
        Ok(())
    }

    /// Whether a program cannot run here at all: on a device there is nothing to create.
    fn is_impossible(&self, program: &Program) -> bool {
        self.bench.place.is_device && program.rw.creates()
    }

    fn program(&mut self, program: &Program) -> Result<(), SubjectError> {
        self.make_ready(program)?;
        for number in 0..self.plan.warmup {
            self.counted_pass(program, number)?;
        }
        let mut passes = Passes::new(self.plan.runs, self.plan.until, self.bench.clock.now_ns());
        while passes.goes_on(self.bench.clock.now_ns()) {
            passes.add(self.counted_pass(program, self.plan.warmup + passes.count())?);
        }
        Ok(())
    }

    /// Space and files for a program.
    fn make_ready(&mut self, program: &Program) -> Result<(), SubjectError> {
        if self.is_impossible(program) {
            return Err(SubjectError::Unavailable(format!(
                "{} creates files, but a block device has none; use rewrite, randread or randwrite",
                program.name
            )));
        }
        self.check_room(program)?;
        self.remove_others(program)?;
        if !program.rw.creates() {
            self.lay_out(program)?;
        }
        Ok(())
    }

    /// The pass of that number, and its rate: the first ones warm up.
    fn counted_pass(&mut self, program: &Program, number: u32) -> Result<f64, SubjectError> {
        let role = if number < self.plan.warmup { Role::Warm } else { Role::Kept };
        let (is_cold, final_sync) = (self.plan.is_cold, self.plan.final_sync);
        self.pass(program, PassKind { role, number, is_cold, final_sync })
    }

    /// The path's greatest rate, on a file of its own.
    fn ceiling(&mut self, program: &Program) -> Result<(), SubjectError> {
        self.check_room(program)?;
        self.remove_others(program)?;
        self.lay_out(program)?;
        for number in 0..CEILING_PASSES {
            let kind = PassKind { role: Role::Ceiling, number, is_cold: true, final_sync: true };
            self.pass(program, kind)?;
        }
        Ok(())
    }

    /// The ceilings that the battery's rates are to be held against.
    fn ceilings(&self) -> Vec<Program> {
        let programs = &self.plan.programs;
        // A program that does not run must not bring a ceiling that writes where it would have.
        let runs = |p: &&Program| p.engine() != EngineKind::Null && !self.is_impossible(p);
        let real = || programs.iter().filter(runs);
        let size = self.plan.file_bytes.max(CEILING_GRAIN_BYTES);
        let directions = [
            ("ceiling_read", Access::Read, real().any(|p| p.rw.reads())),
            ("ceiling_write", Access::Rewrite, real().any(|p| p.rw.writes())),
        ];
        directions
            .into_iter()
            .filter(|(_, _, is_wanted)| *is_wanted)
            .flat_map(|(name, rw, _)| {
                CEILING_SHAPES.iter().map(move |(bs, iodepth)| Program {
                    bs: *bs,
                    iodepth: *iodepth,
                    direct: true,
                    ioengine: Some(EngineKind::IoUring),
                    size: Some(size),
                    ..Program::new(name, rw)
                })
            })
            .collect()
    }

    fn file_bytes(&self, program: &Program) -> u64 {
        program.size.unwrap_or(self.plan.file_bytes) / program.bs * program.bs
    }

    fn check_room(&self, program: &Program) -> Result<(), SubjectError> {
        use model::units::show_size;
        if program.engine() == EngineKind::Null {
            return Ok(());
        }
        let file_bytes = match self.bench.place.is_device || program.rw.creates() {
            true => self.file_bytes(program),
            // It is laid out in whole blocks.
            false => self.file_bytes(program).next_multiple_of(LAYOUT_BLOCK_BYTES),
        };
        let needed = file_bytes * u64::from(program.numjobs);
        self.bench.check_room(&format!("{} needs", program.name), needed)?;
        if needed == 0 {
            return Err(SubjectError::Unavailable(format!(
                "--size is smaller than one block of {}",
                show_size(program.bs)
            )));
        }
        Ok(())
    }

    /// One placement for each job on each drive.
    fn placements(&self, program: &Program) -> Vec<JobPlacement> {
        let jobs = 0..program.numjobs;
        (0..self.bench.place.drives)
            .flat_map(|drive| jobs.clone().map(move |job| (drive, job)))
            .map(|(drive, job)| JobPlacement {
                drive,
                file: if self.bench.place.is_device {
                    String::new()
                } else {
                    format!("file.{job}")
                },
                engine: program.engine(),
                direct: program.direct,
                depth: program.iodepth,
                block_bytes: u32::try_from(program.bs).unwrap_or(u32::MAX),
                file_bytes: self.file_bytes(program),
                ..JobPlacement::default()
            })
            .collect()
    }

    /// One stream a placement.
    fn streams(&self, program: &Program, kind: PassKind) -> Jobs<OnFile<Stream>> {
        let file_bytes = self.file_bytes(program);
        let seed = sequence::mix(self.plan.seed, u64::from(kind.number));
        let is_device = self.bench.place.is_device;
        let stream = |(index, placement): (usize, JobPlacement)| {
            let plan = StreamPlan {
                file_bytes,
                base_bytes: if is_device { index as u64 * file_bytes } else { 0 },
                final_sync: kind.final_sync,
                seed: sequence::mix(seed, index as u64),
            };
            (placement, Stream::job(program, plan))
        };
        self.placements(program).into_iter().enumerate().map(stream).collect()
    }

    /// Notes that a program's files are there by now, so long.
    fn note_files(&mut self, program: &Program, bytes: u64) {
        for file in self.files(program) {
            self.laid_out.insert(file, bytes);
        }
    }

    /// The files of a program, each with its drive.
    fn files(&self, program: &Program) -> Vec<(usize, String)> {
        self.placements(program).into_iter().map(|at| (at.drive, at.file)).collect()
    }

    /// Makes the files that a program needs, where they are not there or too short.
    fn lay_out(&mut self, program: &Program) -> Result<(), SubjectError> {
        if self.bench.place.is_device || program.engine() == EngineKind::Null {
            return Ok(());
        }
        let file_bytes = self.file_bytes(program);
        let is_there = |file| self.laid_out.get(file).is_some_and(|bytes| *bytes >= file_bytes);
        if self.files(program).iter().all(is_there) {
            return Ok(());
        }
        self.remove(program)?;
        // Large buffered writes, rounded up: they need no alignment, and extents come out as a
        // user's.
        let whole_bytes = file_bytes.next_multiple_of(LAYOUT_BLOCK_BYTES);
        let files = self.files(program).into_iter().map(|(drive, file)| {
            let (placement, job) = layer(&self.bench.place, &file, (false, 0..whole_bytes));
            (JobPlacement { drive, ..placement }, job)
        });
        let (files, drives) = (files.collect(), self.bench.place.drives as u64);
        // A part of them is removed too.
        self.note_files(program, 0);
        let bytes = file_bytes * u64::from(program.numjobs) * drives;
        self.bench.lay_out(&program.name, bytes, files)?;
        self.note_files(program, whole_bytes);
        Ok(())
    }

    /// Whether there are files of a program that can come to lie elsewhere.
    fn has_layout(&self, program: &Program, is_there: bool) -> bool {
        is_there && !self.bench.place.is_device && program.engine() != EngineKind::Null
    }

    /// Removes the files of a program.
    fn take_away(&mut self, program: &Program, is_there: bool) -> Result<(), SubjectError> {
        if self.has_layout(program, is_there) { self.remove(program) } else { Ok(()) }
    }

    /// Makes the files that a program finds once more. Those that it creates it creates by itself.
    fn lay_anew(&mut self, program: &Program, is_there: bool) -> Result<(), SubjectError> {
        let is_wanted = self.has_layout(program, is_there) && !program.rw.creates();
        if is_wanted { self.lay_out(program) } else { Ok(()) }
    }

    /// The script's `rm -f`.
    fn remove(&mut self, program: &Program) -> Result<(), SubjectError> {
        let placements =
            self.placements(&Program { ioengine: Some(EngineKind::Psync), ..program.clone() });
        let jobs = placements.into_iter().map(|placement| (placement, Remove::default())).collect();
        let removed = run(self.bench.subject, &program.name, jobs);
        for file in self.files(program) {
            self.laid_out.remove(&file);
        }
        removed.map(|_| ())
    }

    /// Removes the files that a program does not need, to free some space.
    fn remove_others(&mut self, program: &Program) -> Result<(), SubjectError> {
        let needed = self.files(program);
        if self.laid_out.keys().all(|file| needed.contains(file)) {
            return Ok(());
        }
        let jobs = self.plan.programs.iter().map(|p| p.numjobs).max().unwrap_or(1);
        self.remove(&Program { numjobs: jobs, ..Program::new("clean up", Access::Write) })
    }

    /// One pass: the state before it, the counters around it, the sample, the checks. Its rate, in
    /// bytes a second.
    fn pass(&mut self, program: &Program, kind: PassKind) -> Result<f64, SubjectError> {
        if program.rw.creates() && program.engine() != EngineKind::Null {
            self.remove(program)?;
        }
        if kind.is_cold && program.engine() != EngineKind::Null {
            self.bench.subject.make_cold(&self.files(program))?;
        }
        let passes = match kind.role {
            Role::Ceiling => CEILING_PASSES,
            _ => self.plan.warmup + self.plan.runs,
        };
        let jobs = u64::from(program.numjobs) * self.bench.place.drives as u64;
        let is_captured = kind.role == Role::Kept && program.engine() != EngineKind::Null;
        let bytes = if program.time_based { 0 } else { self.file_bytes(program) * jobs };
        let pass = (kind.role, kind.number, passes);
        self.bench.starts(&program.name, pass, bytes, is_captured);
        let streams = self.streams(program, kind);
        let creates = program.rw.creates() && program.engine() != EngineKind::Null;
        if creates {
            self.note_files(program, 0);
        }
        let done = self.bench.measure(Accounting::Difference, &program.name, streams)?;
        if creates {
            let written = done.jobs.iter().map(|(stream, _)| stream.work.report().bytes_written);
            let written = written.min().unwrap_or(0).min(self.file_bytes(program));
            self.note_files(program, written);
        }
        let sample = self.sample(program, kind, &done);
        let rate = sample.bytes as f64 / sample.wall_ns.max(1) as f64 * 1e9;
        self.bench.observer.pass_done(sample);
        Ok(rate)
    }

    fn blank_sample(&self, program: &Program) -> Sample {
        let drives = self.name.drives;
        Sample {
            experiment: Experiment::Throughput,
            subject: record::Subject::cell(&self.name.column, &program.name, drives as u64),
            target: self.name.target.clone(),
            drives: drives as u64,
            started_ns: self.bench.now(),
            program: program.name.clone(),
            engine: program.engine(),
            access: program.rw,
            block_bytes: program.bs,
            file_bytes: self.file_bytes(program),
            jobs: u64::from(program.numjobs) * drives as u64,
            depth: u64::from(program.iodepth),
            direct: u64::from(program.direct),
            rate_requested_iops: program.rate_iops,
            ..Sample::default()
        }
    }

    fn sample(&self, program: &Program, kind: PassKind, done: &Done<OnFile<Stream>>) -> Sample {
        let mut sample = self.blank_sample(program);
        sample.pass = u64::from(kind.number);
        sample.role = kind.role;
        sample.cold = match (kind.is_cold, self.bench.place.remounts) {
            (false, _) => Cold::No,
            (true, true) => Cold::Remount,
            (true, false) => Cold::Fadvise,
        };
        add_work(&mut sample, done);
        done.account(&mut sample);
        let reports = || done.jobs.iter().map(|(stream, _)| stream.work.report());
        let facts = Facts {
            program,
            sample: &sample,
            bytes_read: reports().map(|r| r.bytes_read).sum(),
            bytes_written: reports().map(|r| r.bytes_written).sum(),
            before: &done.before,
            after: &done.after,
            harness_ns_per_operation: self.calibration.harness_ns_per_operation,
            is_cached: false,
        };
        let place_doubts = match program.engine() {
            EngineKind::Null => vec![],
            _ => self.bench.place.doubts.clone(),
        };
        let doubts = [judge(&facts), place_doubts].concat();
        sample.judge(Judgement::of(doubts));
        sample
    }
}
