//! Latency against rate in its session.

use super::directory::RunPlace;
use super::session::{Bench, Experiment, Outcome, Session, run_experiments, run_info};
use super::tracing::tracer;
use crate::resolve::Resolved;
use crate::resolve::curve::ResolvedCurve;
use crate::resolve::place::System;
use experiment::curve::run_system;
use model::record::{Experiment as Kind, Finding, Sample};

/// Runs the resolved options and keeps their records in `place`.
/// Errors: records that cannot be written. What the cells met is in the outcome.
pub(crate) fn run(resolved: &ResolvedCurve, place: &RunPlace) -> anyhow::Result<Outcome> {
    let mut info = run_info("curve", place.as_ref(), resolved.plan.seed)?;
    info.plan = resolved.plan()?;
    run_experiments(&[resolved], info, place, Bench::new(false)?)
}

impl Experiment for ResolvedCurve {
    fn kind(&self) -> Kind {
        Kind::Curve
    }

    fn systems(&self) -> &[System] {
        std::slice::from_ref(&self.system)
    }

    fn passes(&self) -> u64 {
        self.plan.cells.len() as u64 * u64::from(self.plan.runs)
    }

    fn run(&self, session: &mut Session<'_>) -> anyhow::Result<()> {
        let column = &self.system.name.column;
        session.on_system(&self.system, column, tracer(false), |subject, clock, session| {
            run_system(subject, column, &self.plan, clock, session)
        })
    }

    fn findings(&self, samples: &[Sample]) -> Vec<Finding> {
        analyze::curve::findings(samples)
    }
}
