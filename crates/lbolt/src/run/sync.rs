//! The sync experiment in its session.

use super::directory::RunPlace;
use super::session::{Bench, Experiment, Outcome, Session, run_experiments, run_info};
use super::tracing::tracer;
use crate::resolve::Resolved;
use crate::resolve::place::System;
use crate::resolve::sync::ResolvedSync;
use experiment::sync::run_system;
use model::record::{Experiment as Kind, Finding, Sample};

/// Runs the resolved options and keeps their records in `place`.
/// Errors: records that cannot be written. What the cells met is in the outcome.
pub(crate) fn run(resolved: &ResolvedSync, place: &RunPlace) -> anyhow::Result<Outcome> {
    let mut info = run_info("sync", place.as_ref(), resolved.plan.seed)?;
    info.plan = resolved.plan()?;
    run_experiments(&[resolved], info, place, Bench::new(resolved.plan.trace)?)
}

impl Experiment for ResolvedSync {
    fn kind(&self) -> Kind {
        Kind::Sync
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
            run_system(subject, column, &self.plan, clock, session)
        })
    }

    fn findings(&self, samples: &[Sample]) -> Vec<Finding> {
        analyze::sync::findings(samples)
    }
}
