//! The frame of experiments whose cells take turns: the target is prepared and laid out; then each
//! round has a pass of every cell, so that a drift of the machine falls on all, until every rate is
//! known or the time is over. A cell that is refused once is not tried again.
//!
//! Non-goals: what a cell is, and what its passes do ([`Cells`]).

use crate::bench::{Bench, Done, Jobs, Met, placed};
use crate::observer::Observer;
use crate::on_file::{Layer, Measured, OnFile, laid_out_ns};
use crate::sequence::{Sequence, mix};
use crate::until::{Rounds, Until};
use model::doubt::Doubt;
use model::record::{Experiment, Role, Sample, Subject as About};
use model::seam::{Accounting, Clock, PreparedTarget, Subject, SubjectError};
use model::units::show_size;
use model::workload::Access;
use serde::{Deserialize, Serialize};
use std::hash::Hash;

/// What surrounds a pass: counters before and after, threads, files, the records of each round.
const PASS_OVERHEAD_NS: u64 = 20_000_000;

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

    /// The requests of the passes are captured too.
    fn traces(&self) -> bool;

    /// Passes of all cells, at the least.
    fn passes(&self) -> u64;

    /// About how long these take, with what is before and beside them, ns.
    fn estimate_ns(&self) -> u64;

    /// Runs it on one system.
    /// Errors: `Interrupted`, or a failure of cleaning up. What the cells met is given back.
    fn run<S: Subject>(
        &self,
        subject: &mut S,
        column: &str,
        clock: &dyn Clock,
        observer: &mut dyn Observer,
    ) -> Met;
}

impl<P: Cells> Planned for P {
    const KIND: Experiment = P::KIND;

    fn turns(&self) -> &Turns {
        Cells::turns(self)
    }

    fn traces(&self) -> bool {
        Cells::traces(self)
    }

    fn passes(&self) -> u64 {
        self.cells().len() as u64 * u64::from(Cells::turns(self).runs)
    }

    fn estimate_ns(&self) -> u64 {
        let files = self.files(&PreparedTarget::default());
        let written = files.iter().map(|(placement, _)| placement.file_bytes).sum();
        let pass_ns = Cells::turns(self).pass_ns + PASS_OVERHEAD_NS;
        laid_out_ns(written) + Planned::passes(self) * pass_ns
    }

    fn run<S: Subject>(
        &self,
        subject: &mut S,
        column: &str,
        clock: &dyn Clock,
        observer: &mut dyn Observer,
    ) -> Met {
        let bench = Bench::new(subject, clock, observer);
        let mut run = Run { bench, column, plan: self, seen: P::Seen::default() };
        let outcome = run.all();
        run.bench.end(outcome)
    }
}

/// What a plan adds to the frame.
pub(crate) trait Cells: Serialize {
    const KIND: Experiment;
    type Cell: Copy + Eq + Hash;
    type Job: Measured;
    /// What passes tell those after them.
    type Seen: Default;

    /// All cells, in the order of a round.
    fn cells(&self) -> Vec<Self::Cell>;
    /// How often they take turns.
    fn turns(&self) -> &Turns;
    /// The seed by which the order of each round is drawn; none: the cells keep theirs.
    fn order_seed(&self) -> Option<u64> {
        None
    }
    /// The requests of the passes are captured too.
    fn traces(&self) -> bool {
        false
    }
    /// A cell as the user reads it.
    fn label(&self, cell: &Self::Cell) -> String;
    /// What a cell's findings are about, and how it goes through its file.
    fn about(&self, cell: &Self::Cell, column: &str) -> (About, Access);
    /// What is written before the first round.
    fn files(&self, place: &PreparedTarget) -> Jobs<OnFile<Layer>>;
    fn jobs(
        &self,
        seen: &Self::Seen,
        cell: &Self::Cell,
        round: u32,
        place: &PreparedTarget,
    ) -> Jobs<Self::Job>;
    /// Adds what the jobs of a pass did to its sample.
    fn add(
        &self,
        seen: &mut Self::Seen,
        cell: &Self::Cell,
        sample: &mut Sample,
        done: &Done<Self::Job>,
    );
    /// What is doubtful about the last pass, besides what is so of all experiments.
    fn doubts(&self, _: &Self::Seen, _: &Self::Cell, _: &Sample) -> Vec<Doubt> {
        Vec::new()
    }
}

struct Run<'a, S: Subject, P: Cells> {
    bench: Bench<'a, S>,
    column: &'a str,
    plan: &'a P,
    seen: P::Seen,
}

impl<S: Subject, P: Cells> Run<'_, S, P> {
    fn all(&mut self) -> Result<(), SubjectError> {
        let mut cells = self.plan.cells();
        let Turns { runs, until, .. } = *self.plan.turns();
        // What comes before the first pass is of the time, too.
        let mut rounds =
            Rounds::new(cells.iter().copied(), (runs, until), self.bench.clock.now_ns());
        self.bench.prepare()?;
        self.lay_out()?;
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
        let Some(seed) = self.plan.order_seed() else { return (0..count).collect() };
        let mut order = Sequence::new(count as u64, true, mix(seed, u64::from(round)));
        (0..count).map(|_| order.next_block() as usize).collect()
    }

    fn lay_out(&mut self) -> Result<(), SubjectError> {
        let files = self.plan.files(&self.bench.place);
        if files.is_empty() {
            return Ok(());
        }
        let bytes = files.iter().map(|(placement, _)| placement.file_bytes).sum();
        self.bench.lay_out(&format!("writing {}", show_size(bytes)), bytes, files)
    }

    /// A pass of a cell; one that is refused is left out from here on.
    fn turn(
        &mut self,
        cell: &P::Cell,
        round: u32,
        rounds: &mut Rounds<P::Cell>,
    ) -> Result<(), SubjectError> {
        let passed = match rounds.may(cell, self.bench.clock.now_ns()) {
            Ok(true) => self.pass(cell, round),
            Ok(false) => return Ok(()),
            Err(error) => Err(error),
        };
        let blank = self.blank(cell, round);
        match self.bench.taken(passed, blank)? {
            Some(sample) => {
                rounds.add(cell, sample.operations_per_s());
                self.bench.observer.pass_done(sample);
            }
            None => rounds.leave_out(cell),
        }
        Ok(())
    }

    fn jobs(&self, cell: &P::Cell, round: u32) -> Jobs<P::Job> {
        self.plan.jobs(&self.seen, cell, round, &self.bench.place)
    }

    fn blank(&self, cell: &P::Cell, round: u32) -> Sample {
        let (subject, access) = self.plan.about(cell, self.column);
        Sample {
            experiment: P::KIND,
            subject,
            access,
            target: self.column.to_owned(),
            drives: 1,
            program: self.plan.label(cell),
            pass: u64::from(round),
            started_ns: self.bench.now(),
            ..placed(&self.jobs(cell, round))
        }
    }

    fn pass(&mut self, cell: &P::Cell, round: u32) -> Result<Sample, SubjectError> {
        let label = self.plan.label(cell);
        self.bench.starts(&label, (Role::Kept, round, self.plan.turns().runs), 0, true);
        let done = self.bench.measure(Accounting::Difference, &label, self.jobs(cell, round))?;
        let mut sample = self.blank(cell, round);
        self.plan.add(&mut self.seen, cell, &mut sample, &done);
        done.account(&mut sample);
        let own = self.plan.doubts(&self.seen, cell, &sample);
        done.judge(&mut sample, [self.bench.place.doubts.clone(), own].concat());
        Ok(sample)
    }
}
