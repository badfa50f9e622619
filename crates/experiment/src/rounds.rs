//! The frame of experiments whose cells take turns: the target is prepared and laid out; then each
//! round has a pass of every cell, so that a drift of the machine falls on all, until every rate is
//! known or the time is over. A cell that is refused once is not tried again.
//!
//! Non-goals: what a cell is, and what its passes do ([`Cells`]).

use crate::account::{add_cpu, add_devices};
use crate::checks::Meanwhile;
use crate::failure::StreamError;
use crate::observer::{Observer, PassStart};
use crate::sequence::{Sequence, mix};
use crate::until::{Rounds, Until};
use model::doubt::Doubt;
use model::record::{Judgement, Role, Sample};
use model::seam::{
    Accounting, Clock, Job, JobCpu, JobPlacement, PreparedTarget, Subject, SubjectError,
};
use std::hash::Hash;

/// Jobs of a pass, each where it does its work.
pub(crate) type Jobs<J> = Vec<(JobPlacement, J)>;

/// What is written before the first round.
pub(crate) struct Layout<J> {
    /// What the user reads meanwhile.
    pub(crate) label: String,
    /// Bytes that are written.
    pub(crate) bytes: u64,
    pub(crate) jobs: Jobs<J>,
}

/// What an experiment adds to the frame.
pub(crate) trait Cells {
    type Cell: Copy + Eq + Hash;
    type Job: Job;

    /// All cells, in the order of a round.
    fn cells(&self) -> Vec<Self::Cell>;
    /// Rounds that there are; with an `until`, rounds before any rate is looked at.
    fn wanted(&self) -> (u32, Option<Until>);
    /// The seed by which the order of each round is drawn; none: the cells keep theirs.
    fn order_seed(&self) -> Option<u64> {
        None
    }
    /// A cell as the user reads it.
    fn label(&self, cell: &Self::Cell) -> String;
    /// What is the same in all samples of a cell.
    fn sample(&self, cell: &Self::Cell, column: &str) -> Sample;
    fn layout(&self, place: &PreparedTarget) -> Option<Layout<Self::Job>>;
    fn jobs(&self, cell: &Self::Cell, round: u32, place: &PreparedTarget) -> Jobs<Self::Job>;
    /// What stopped a job.
    fn error(job: &Self::Job) -> Option<StreamError>;
    /// Adds what the jobs of a pass did to its sample.
    fn add(&mut self, cell: &Self::Cell, sample: &mut Sample, done: Vec<(Self::Job, JobCpu)>);
    /// What is doubtful about the last pass, besides what is so of all experiments.
    fn doubts(&self, _: &Self::Cell, _: &Sample) -> Vec<Doubt> {
        Vec::new()
    }
}

/// Runs all rounds on one system.
/// Errors: `Interrupted`, or a failure of cleaning up. What the cells met is given back.
pub(crate) fn run<S: Subject, C: Cells>(
    subject: &mut S,
    column: &str,
    cells: C,
    clock: &dyn Clock,
    observer: &mut dyn Observer,
) -> Result<Vec<SubjectError>, SubjectError> {
    let (place, failures) = (PreparedTarget::default(), vec![]);
    let mut run = Run { subject, column, cells, clock, observer, place, failures };
    let outcome = run.all();
    let failures = std::mem::take(&mut run.failures);
    subject.clean_up()?;
    outcome.map(|()| failures)
}

struct Run<'a, S: Subject, C: Cells> {
    subject: &'a mut S,
    column: &'a str,
    cells: C,
    clock: &'a dyn Clock,
    observer: &'a mut dyn Observer,
    place: PreparedTarget,
    failures: Vec<SubjectError>,
}

impl<S: Subject, C: Cells> Run<'_, S, C> {
    fn all(&mut self) -> Result<(), SubjectError> {
        self.place = self.subject.prepare()?;
        self.lay_out()?;
        let mut cells = self.cells.cells();
        let mut rounds =
            Rounds::new(cells.iter().copied(), self.cells.wanted(), self.clock.now_ns());
        for round in 0.. {
            if !rounds.go_on(self.clock.now_ns()) {
                break;
            }
            for place in self.order(cells.len(), round) {
                self.turn(&cells[place], round, &mut rounds)?;
            }
            cells.retain(|cell| rounds.have(cell));
            self.observer.cell_done();
        }
        Ok(())
    }

    fn order(&self, count: usize, round: u32) -> Vec<usize> {
        let Some(seed) = self.cells.order_seed() else { return (0..count).collect() };
        let mut order = Sequence::new(count as u64, true, mix(seed, u64::from(round)));
        (0..count).map(|_| order.next_block() as usize).collect()
    }

    fn lay_out(&mut self) -> Result<(), SubjectError> {
        let Some(Layout { label, bytes, jobs }) = self.cells.layout(&self.place) else {
            return Ok(());
        };
        self.observer.pass_starts(&PassStart {
            program: &label,
            pass: None,
            role: Role::Warm,
            passes: 0,
            bytes,
            captures: None,
        });
        self.run_jobs(&label, jobs).map(|_| ())
    }

    /// A pass of a cell; one that is refused is left out from here on.
    fn turn(
        &mut self,
        cell: &C::Cell,
        round: u32,
        rounds: &mut Rounds<C::Cell>,
    ) -> Result<(), SubjectError> {
        match self.pass(cell, round) {
            Ok(sample) => {
                rounds.add(cell, sample.operations_per_s());
                self.observer.pass_done(sample);
            }
            Err(SubjectError::Interrupted) => return Err(SubjectError::Interrupted),
            Err(error) => {
                let mut sample = self.blank(cell, round);
                sample.judge(Judgement::not_measured(Doubt::refused(&error)));
                self.observer.pass_done(sample);
                self.failures.push(error);
                rounds.leave_out(cell);
            }
        }
        Ok(())
    }

    fn blank(&self, cell: &C::Cell, round: u32) -> Sample {
        Sample {
            target: self.column.to_owned(),
            drives: 1,
            program: self.cells.label(cell),
            pass: u64::from(round),
            started_ns: i64::try_from(self.clock.now_ns()).unwrap_or(i64::MAX),
            ..self.cells.sample(cell, self.column)
        }
    }

    fn pass(&mut self, cell: &C::Cell, round: u32) -> Result<Sample, SubjectError> {
        let label = self.cells.label(cell);
        self.observer.pass_starts(&PassStart {
            program: &label,
            pass: Some(round),
            role: Role::Kept,
            passes: self.cells.wanted().0,
            bytes: 0,
            captures: Some(&self.place.devices),
        });
        let jobs = self.cells.jobs(cell, round, &self.place);
        let before = self.subject.counters(Accounting::Difference)?;
        let done = self.run_jobs(&label, jobs)?;
        let after = self.subject.counters(Accounting::Difference)?;
        let mut sample = self.blank(cell, round);
        let cpu: Vec<JobCpu> = done.iter().map(|(_, cpu)| *cpu).collect();
        self.cells.add(cell, &mut sample, done);
        add_cpu(&mut sample, &cpu, &before, &after);
        add_devices(&mut sample, &before, &after);
        let own = self.cells.doubts(cell, &sample);
        let meanwhile = Meanwhile { sample: &sample, before: &before, after: &after }.doubts();
        sample.judge(Judgement::of([self.place.doubts.clone(), own, meanwhile].concat()));
        Ok(sample)
    }

    fn run_jobs(
        &mut self,
        label: &str,
        jobs: Jobs<C::Job>,
    ) -> Result<Vec<(C::Job, JobCpu)>, SubjectError> {
        let placements: Vec<JobPlacement> =
            jobs.iter().map(|(placement, _)| placement.clone()).collect();
        let done = self.subject.run(jobs)?;
        let failed = done.iter().zip(&placements).find_map(|((job, _), placement)| {
            C::error(job).map(|error| error.on(placement, label))
        });
        failed.map_or(Ok(done), Err)
    }
}
