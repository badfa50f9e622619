//! Experiments whose cells take turns on one system, in their session.

use super::directory::RunPlace;
use super::session::{Bench, Experiment, Outcome, Session, run_experiments, run_info};
use super::tracing::tracer;
use crate::resolve::Resolved;
use crate::resolve::place::System;
use crate::resolve::rounds::Rounds;
use experiment::rounds::Planned;
use model::record::{Experiment as Kind, Finding, Sample};

/// Runs the resolved options and keeps their records in `place`.
/// Errors: records that cannot be written. What the cells met is in the outcome.
pub(crate) fn run<P: Planned>(resolved: &Rounds<P>, place: &RunPlace) -> anyhow::Result<Outcome> {
    let mut info = run_info(P::KIND.name(), place.as_ref(), resolved.plan.turns().seed)?;
    info.plan = resolved.plan()?;
    run_experiments(&[resolved], info, place, Bench::new(resolved.plan.traces())?)
}

impl<P: Planned> Experiment for Rounds<P> {
    fn kind(&self) -> Kind {
        P::KIND
    }

    fn systems(&self) -> &[System] {
        std::slice::from_ref(&self.system)
    }

    fn passes(&self) -> u64 {
        self.plan.passes()
    }

    fn run(&self, session: &mut Session<'_>) -> anyhow::Result<()> {
        let column = &self.system.name.column;
        session.on_system(&self.system, column, tracer(false), |subject, clock, session| {
            self.plan.run(subject, column, clock, session)
        })
    }

    fn findings(&self, samples: &[Sample]) -> Vec<Finding> {
        analyze::cells::findings(P::KIND, samples)
    }
}
