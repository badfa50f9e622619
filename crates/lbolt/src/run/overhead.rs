//! The overhead experiment's session: the plan on its system.

use super::directory::RunPlace;
use super::parameter_samples::Samples;
use super::session::{Bench, Experiment, Outcome, Session, run_experiments, run_info};
use super::tracing::tracer;
use crate::resolve::Resolved;
use crate::resolve::overhead::ResolvedOverhead;
use crate::resolve::place::System;
use analyze::overhead::findings;
use experiment::overhead::{Account, Plan, run as run_system};
use model::record::{Experiment as Kind, Finding, Sample};
use model::seam::Clock;
use serde_json::json;
use sim::subject::ModelSubject;

/// Runs the resolved options and keeps their records in `place`.
/// Errors: records that cannot be written. What the cells met is in the outcome.
pub(crate) fn run(resolved: &ResolvedOverhead, place: &RunPlace) -> anyhow::Result<Outcome> {
    let bench = Bench::new(resolved.plan.trace)?;
    let (cost, precision) = (bench.clock.cost_ns(), bench.clock.precision_ns());
    let mut info = run_info("overhead", place.as_ref(), resolved.plan.seed)?;
    info.plan = resolved.plan()?;
    info.calibration = json!({
        "clock": bench.clock.name(),
        "clock_cost_ns": cost,
        "clock_precision_ns": precision,
    });
    let calibration = match resolved.system.is_model() {
        // What this machine's clock costs is no part of a modelled one.
        true => vec![],
        false => vec![("clock_cost_ns", cost), ("clock_precision_ns", precision)],
    };
    run_experiments(&[&Overhead { resolved, calibration }], info, place, bench)
}

/// The experiment, with what is known of the clock before its first pass, by quantity.
pub(super) struct Overhead<'a> {
    pub(super) resolved: &'a ResolvedOverhead,
    pub(super) calibration: Vec<(&'static str, f64)>,
}

impl Experiment for Overhead<'_> {
    fn kind(&self) -> Kind {
        Kind::Overhead
    }

    fn systems(&self) -> &[System] {
        std::slice::from_ref(&self.resolved.system)
    }

    fn passes(&self) -> u64 {
        self.resolved.plan.passes()
    }

    fn run(&self, session: &mut Session<'_>) -> anyhow::Result<()> {
        let ResolvedOverhead { plan, system, drive } = self.resolved;
        let column = &system.name.column;
        let is_traced = plan.cells().iter().any(|p| p.accounts.contains(&Account::Trace));
        session.on_system(system, column, tracer(is_traced), |subject, clock, session| {
            run_system(subject, column, plan, clock, session)
        })?;
        let once = Plan { runs: 1, until: None, ..plan.clone() };
        let run = |subject: &mut ModelSubject, samples: &mut Samples| {
            let clock = subject.clock();
            run_system(subject, column, &once, &clock, samples)
        };
        session.draw(system, run, |samples| findings(samples, &[], *drive));
        Ok(())
    }

    fn findings(&self, samples: &[Sample]) -> Vec<Finding> {
        findings(samples, &self.calibration, self.resolved.drive)
    }
}
