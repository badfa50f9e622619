//! The frame of experiments whose cells take turns: the target is prepared and laid out; then each
//! round has a pass of every cell, so that a drift of the machine falls on all, until every rate is
//! known or the time is over. A cell that is refused once is not tried again.
//!
//! Non-goals: what a cell is, and what its passes do ([`Cells`]).

use crate::bench::{Bench, Done, Jobs, Met};
use crate::checks::Meanwhile;
use crate::observer::Observer;
use crate::on_file::{Layer, Measured, OnFile};
use crate::sequence::{Sequence, mix};
use crate::until::{Rounds, Until};
use model::doubt::Doubt;
use model::record::{Experiment, Judgement, Role, Sample};
use model::seam::{Accounting, Clock, PreparedTarget, Subject, SubjectError};
use model::units::show_size;
use serde::{Deserialize, Serialize};
use std::hash::Hash;

/// How often cells take turns, as plans have it.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Turns {
    /// Rounds that there are; where there is an `until`, so many before any rate is looked at.
    pub runs: u32,
    /// Until when more of them go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// Time of a pass.
    pub pass_ns: u64,
    /// The seed of all places, or of the order of each round.
    pub seed: u64,
}

/// The plan of an experiment whose cells take turns on one system. As JSON it is what `--dry-run`
/// prints and run.json keeps.
pub trait Planned: Serialize {
    /// Which experiment it is.
    const KIND: Experiment;

    /// How often its cells take turns.
    fn turns(&self) -> &Turns;

    /// How many cells there are.
    fn count(&self) -> usize;

    /// The requests of the passes are captured too.
    fn traces(&self) -> bool {
        false
    }

    /// Runs it on one system.
    /// Errors: `Interrupted`, or a failure of cleaning up. What the cells met is given back.
    fn run<S: Subject>(
        &self,
        subject: &mut S,
        column: &str,
        clock: &dyn Clock,
        observer: &mut dyn Observer,
    ) -> Met;

    /// Passes of all cells, at the least.
    fn passes(&self) -> u64 {
        self.count() as u64 * u64::from(self.turns().runs)
    }
}

/// What an experiment adds to the frame.
pub(crate) trait Cells {
    type Cell: Copy + Eq + Hash;
    type Job: Measured;

    /// All cells, in the order of a round.
    fn cells(&self) -> Vec<Self::Cell>;
    /// How often they take turns.
    fn turns(&self) -> &Turns;
    /// The seed by which the order of each round is drawn; none: the cells keep theirs.
    fn order_seed(&self) -> Option<u64> {
        None
    }
    /// A cell as the user reads it.
    fn label(&self, cell: &Self::Cell) -> String;
    /// What is the same in all samples of a cell.
    fn sample(&self, cell: &Self::Cell, column: &str) -> Sample;
    /// What is written before the first round.
    fn files(&self, place: &PreparedTarget) -> Jobs<OnFile<Layer>>;
    fn jobs(&self, cell: &Self::Cell, round: u32, place: &PreparedTarget) -> Jobs<Self::Job>;
    /// Adds what the jobs of a pass did to its sample.
    fn add(&mut self, cell: &Self::Cell, sample: &mut Sample, done: &Done<Self::Job>);
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
) -> Met {
    let mut run = Run { bench: Bench::new(subject, clock, observer), column, cells };
    let outcome = run.all();
    run.bench.end(outcome)
}

struct Run<'a, S: Subject, C: Cells> {
    bench: Bench<'a, S>,
    column: &'a str,
    cells: C,
}

impl<S: Subject, C: Cells> Run<'_, S, C> {
    fn all(&mut self) -> Result<(), SubjectError> {
        self.bench.prepare()?;
        self.lay_out()?;
        let mut cells = self.cells.cells();
        let Turns { runs, until, .. } = *self.cells.turns();
        let mut rounds =
            Rounds::new(cells.iter().copied(), (runs, until), self.bench.clock.now_ns());
        for round in 0.. {
            if !rounds.go_on(self.bench.clock.now_ns()) {
                break;
            }
            for place in self.order(cells.len(), round) {
                self.turn(&cells[place], round, &mut rounds)?;
            }
            cells.retain(|cell| rounds.have(cell));
            self.bench.observer.cell_done();
        }
        Ok(())
    }

    fn order(&self, count: usize, round: u32) -> Vec<usize> {
        let Some(seed) = self.cells.order_seed() else { return (0..count).collect() };
        let mut order = Sequence::new(count as u64, true, mix(seed, u64::from(round)));
        (0..count).map(|_| order.next_block() as usize).collect()
    }

    fn lay_out(&mut self) -> Result<(), SubjectError> {
        let files = self.cells.files(&self.bench.place);
        if files.is_empty() {
            return Ok(());
        }
        let bytes = files.iter().map(|(placement, _)| placement.file_bytes).sum();
        self.bench.lay_out(&format!("writing {}", show_size(bytes)), bytes, files)
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
                self.bench.observer.pass_done(sample);
            }
            Err(SubjectError::Interrupted) => return Err(SubjectError::Interrupted),
            Err(error) => {
                let blank = self.blank(cell, round);
                self.bench.refuse(blank, error);
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
            started_ns: self.bench.now(),
            ..self.cells.sample(cell, self.column)
        }
    }

    fn pass(&mut self, cell: &C::Cell, round: u32) -> Result<Sample, SubjectError> {
        let label = self.cells.label(cell);
        self.bench.starts(&label, (Role::Kept, round, self.cells.turns().runs), 0, true);
        let jobs = self.cells.jobs(cell, round, &self.bench.place);
        let done = self.bench.measure(Accounting::Difference, &label, jobs)?;
        let mut sample = self.blank(cell, round);
        self.cells.add(cell, &mut sample, &done);
        done.account(&mut sample);
        let own = self.cells.doubts(cell, &sample);
        let Done { before, after, .. } = &done;
        let meanwhile = Meanwhile { sample: &sample, before, after }.doubts();
        let all = [self.bench.place.doubts.clone(), own, meanwhile].concat();
        sample.judge(Judgement::of(all));
        Ok(sample)
    }
}
