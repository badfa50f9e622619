//! The overhead experiment's session: the plan on its system.

use super::directory::RunPlace;
use super::parameter_samples::{Ranges, Samples};
use super::session::{Outcome, Session, Start, Visitor, control, on_traced_subject, run_info};
use super::tracing::tracer;
use crate::resolve::overhead::ResolvedOverhead;
use analyze::overhead::findings;
use experiment::overhead::{Account, Plan, run};
use host::clock::HostClock;
use host::drive::Control;
use model::record::{Experiment, Finding, Sample};
use model::seam::{Clock, Subject, SubjectError};
use model::units::show_time_ns;
use serde_json::json;
use sim::subject::ModelSubject;
use std::sync::Arc;

/// What is going to happen, in a line or two.
pub(crate) fn announcement(resolved: &ResolvedOverhead) -> String {
    let plan = &resolved.plan;
    let mut text = format!(
        "{} cells on {}, {} + {} rounds, {} passes, about {}{}",
        plan.cells().len(),
        resolved.system.name.column,
        plan.warmup,
        plan.runs,
        plan.passes(),
        show_time_ns(plan.estimate_ns() as f64),
        if resolved.system.is_model() { " of virtual time" } else { "" }
    );
    if let Some(left_out) = &plan.left_out {
        text.push_str(&format!("\nleft out: {left_out}; --full measures all"));
    }
    text
}

/// What is known of the clock before the first pass, by quantity.
fn clock_by_quantity(clock: &HostClock) -> [(&'static str, f64); 2] {
    [("clock_cost_ns", clock.cost_ns()), ("clock_precision_ns", clock.precision_ns())]
}

/// The experiment's findings, from the samples of all experiments.
pub(crate) fn analysis(
    resolved: &ResolvedOverhead,
    calibration: Vec<(&'static str, f64)>,
) -> impl Fn(&[Sample]) -> Vec<Finding> + use<> {
    let drive = resolved.drive;
    move |samples| {
        let own: Vec<Sample> =
            samples.iter().filter(|s| s.experiment == Experiment::Overhead).cloned().collect();
        findings(&own, &calibration, drive)
    }
}

/// Runs the resolved and keeps its records in `place`.
/// Errors: records that cannot be written. What the cells met is in the outcome.
pub(crate) fn measure(
    resolved: &ResolvedOverhead,
    command: &str,
    place: &RunPlace,
) -> anyhow::Result<Outcome> {
    let control = control()?;
    let clock = super::throughput::clock(resolved.plan.trace);
    let calibration = match resolved.system.is_model() {
        // What this machine's clock costs is no part of a modelled one.
        true => vec![],
        false => clock_by_quantity(&clock).to_vec(),
    };
    let mut info = run_info(command, place.as_ref(), resolved.plan.seed)?;
    info.plan = serde_json::to_value(&resolved.plan)?;
    info.calibration = json!({
        "clock": clock.name(),
        "clock_cost_ns": clock.cost_ns(),
        "clock_precision_ns": clock.precision_ns(),
    });
    let ranges = Ranges::default();
    let (found, shared) = (analysis(resolved, calibration), ranges.clone());
    let mut session = Session::begin(Start {
        info,
        place,
        kinds: vec![&resolved.system.kind],
        passes: resolved.plan.passes(),
        findings: Box::new(move |samples| shared.applied_to(found(samples))),
        control: control.clone(),
        clock: clock.clone(),
        traces: resolved.plan.trace,
    })?;
    let (failures, was_interrupted) = run_in(&mut session, resolved, &clock, &control)?;
    if !was_interrupted {
        let (plan, drive) = (Plan { runs: 1, ..resolved.plan.clone() }, resolved.drive);
        let column = &resolved.system.name.column;
        let run = |subject: &mut ModelSubject, samples: &mut Samples| {
            run(subject, column, &plan, samples)
        };
        ranges.find(&resolved.system, run, |samples| findings(samples, &[], drive));
    }
    session.finish(&failures, was_interrupted)
}

/// Runs the resolved in a session that has begun; what it met, and whether it was interrupted.
/// Errors: records that could not be written meanwhile.
pub(crate) fn run_in(
    session: &mut Session,
    resolved: &ResolvedOverhead,
    clock: &HostClock,
    control: &Arc<Control>,
) -> anyhow::Result<(Vec<SubjectError>, bool)> {
    session.prepare(&resolved.system.name.column);
    let run = session.run_name().to_owned();
    let kind = &resolved.system.kind;
    let is_traced = resolved.plan.cells().iter().any(|p| p.accounts.contains(&Account::Trace));
    let visitor = OnSystem { session, resolved };
    let met = on_traced_subject(kind, &run, clock, control, tracer(is_traced), visitor);
    match met {
        Err(SubjectError::Interrupted) => Ok((vec![], true)),
        Ok(failures) => {
            session.system_done()?;
            Ok((failures, false))
        }
        Err(error) => {
            session.system_done()?;
            Ok((vec![error], false))
        }
    }
}

/// The sweeps, to be run on whatever subject the system is.
struct OnSystem<'a> {
    session: &'a mut Session,
    resolved: &'a ResolvedOverhead,
}

impl Visitor for OnSystem<'_> {
    type Found = Vec<SubjectError>;

    fn visit<S: Subject, C: Clock>(
        self,
        subject: &mut S,
        _: &C,
    ) -> Result<Self::Found, SubjectError> {
        run(subject, &self.resolved.system.name.column, &self.resolved.plan, self.session)
    }
}
