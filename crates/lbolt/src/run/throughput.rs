//! The throughput experiment's session: calibrates, and runs the battery on every system.

use super::parameter_samples::{Ranges, Samples};
use crate::print::exit::{Fault, failure};
use crate::resolve::place::{System, SystemKind};
use crate::resolve::throughput::ResolvedThroughput;
use crate::run::directory::RunPlace;
use crate::run::session::{Outcome, Session, Start, Visitor, control, on_subject, run_info};
use analyze::throughput::{PRECISION_PERCENT, findings};
use experiment::throughput::{
    Calibration, Plan, SystemName, ceiling_passes, harness_ns_per_operation, run_in_turn,
    run_system,
};
use host::clock::HostClock;
use host::drive::Control;
use host::subject::Nowhere;
use model::record::{Experiment, Finding, Sample};
use model::run::RunInfo;
use model::seam::{Clock, Subject, SubjectError};
use serde_json::json;
use sim::subject::ModelSubject;
use std::path::Path;
use std::sync::Arc;

/// In virtual time neither clock nor harness costs anything.
const OF_MODELS: Calibration = Calibration {
    clock_cost_ns: 0.0,
    clock_precision_ns: 1.0,
    harness_ns_per_operation: 0.0,
    memory_copy_bytes_per_s: 0.0,
};

/// Requests over which the harness's own cost is measured: some tens of milliseconds.
const HARNESS_OPERATIONS: u64 = 500_000;

/// Runs the resolved and keeps its records in `place`.
/// Errors: records that cannot be written. What the systems met is in the outcome.
pub(crate) fn run(
    resolved: &ResolvedThroughput,
    command: &str,
    place: &RunPlace,
) -> anyhow::Result<Outcome> {
    let control = control()?;
    let clock = clock(resolved.plan.trace);
    let calibration = match resolved.systems.iter().all(System::is_model) {
        // What this machine costs is no part of a modelled one.
        true => OF_MODELS,
        false => calibrate(&clock, &control)?,
    };
    let ranges = Ranges::default();
    let (found, shared) = (analysis(&calibration, &resolved.plan), ranges.clone());
    let mut session = Session::begin(Start {
        info: info(resolved, command, place.as_ref(), &clock, &calibration)?,
        place,
        kinds: resolved.systems.iter().map(|system| &system.kind).collect(),
        passes: passes(resolved),
        findings: Box::new(move |samples| shared.applied_to(found(samples))),
        control: control.clone(),
        clock: clock.clone(),
        traces: resolved.plan.trace,
    })?;
    let (failures, was_interrupted) =
        systems(&mut session, resolved, &calibration, &clock, &control)?;
    if !was_interrupted {
        let plan = Plan { runs: 1, until: None, ..resolved.plan.clone() };
        for system in &resolved.systems {
            let name = &system.name;
            let run = |subject: &mut ModelSubject, samples: &mut Samples| {
                let clock = subject.clock();
                run_system(subject, name, &plan, &OF_MODELS, &clock, samples)
            };
            // One pass a draw has no interval that could be wide.
            ranges.find(system, run, |samples| findings(samples, &[], PRECISION_PERCENT));
        }
    }
    let mut nowhere = Nowhere::new(clock.clone(), control.clone());
    if calibration != OF_MODELS
        && let Ok(at_end) = harness_ns_per_operation(&mut nowhere, HARNESS_OPERATIONS)
    {
        // Whether the machine still is what it was: `compare` asks.
        session.add_calibration("harness_at_end_ns_per_operation", at_end);
    }
    session.finish(&failures, was_interrupted)
}

/// The best clock; beside a capture the kernel's own, by which its times are.
pub(crate) fn clock(traces: bool) -> HostClock {
    if traces { HostClock::by_kernel() } else { HostClock::new() }
}

/// What run.json says.
/// Errors: a machine that says nothing of itself.
pub(crate) fn info(
    resolved: &ResolvedThroughput,
    command: &str,
    path: &Path,
    clock: &HostClock,
    calibration: &Calibration,
) -> anyhow::Result<RunInfo> {
    let mut info = run_info(command, path, resolved.plan.seed)?;
    info.rows.clone_from(&resolved.rows);
    info.plan = serde_json::to_value(&resolved.plan)?;
    info.calibration = json!({
        "clock": clock.name(),
        "clock_cost_ns": calibration.clock_cost_ns,
        "clock_precision_ns": calibration.clock_precision_ns,
        "harness_ns_per_operation": calibration.harness_ns_per_operation,
        "memory_copy_bytes_per_s": calibration.memory_copy_bytes_per_s,
    });
    Ok(info)
}

/// The experiment's findings, from the samples of all experiments.
pub(crate) fn analysis(
    calibration: &Calibration,
    plan: &Plan,
) -> impl Fn(&[Sample]) -> Vec<Finding> + use<> {
    let by_quantity = by_quantity(calibration);
    let precision_percent = plan.until.map_or(PRECISION_PERCENT, |until| until.precision_percent);
    move |samples| {
        let own: Vec<Sample> =
            samples.iter().filter(|s| s.experiment == Experiment::Throughput).cloned().collect();
        findings(&own, &by_quantity, precision_percent)
    }
}

/// Runs every system in turn; what they met, and whether it was interrupted.
/// Errors: records that could not be written meanwhile.
pub(crate) fn systems(
    session: &mut Session,
    resolved: &ResolvedThroughput,
    calibration: &Calibration,
    clock: &HostClock,
    control: &Arc<Control>,
) -> anyhow::Result<(Vec<SubjectError>, bool)> {
    if let (true, [a, b]) = (resolved.plan.interleaved, resolved.systems.as_slice()) {
        session.prepare(&format!("{} and {} in turn", a.name.column, b.name.column));
        let run = session.run_name().to_owned();
        let plan = &resolved.plan;
        let visitor = OnFirst {
            session,
            names: [&a.name, &b.name],
            second: &b.kind,
            run: &run,
            plan,
            calibration,
            clock,
            control,
        };
        let (failures, was_interrupted) = match on_subject(&a.kind, &run, clock, control, visitor) {
            Ok(met) => (met, false),
            Err(SubjectError::Interrupted) => (vec![], true),
            Err(error) => (vec![error], false),
        };
        if !was_interrupted {
            session.system_done()?;
        }
        return Ok((failures, was_interrupted));
    }
    let mut failures = Vec::new();
    for System { name, kind } in &resolved.systems {
        session.prepare(&format!("{} × {}", name.column, name.drives));
        let run = session.run_name().to_owned();
        let plan = &resolved.plan;
        let is_model = matches!(kind, SystemKind::Model(_));
        let calibration = if is_model { &OF_MODELS } else { calibration };
        let visitor = OnSystem { session, name, plan, calibration };
        match on_subject(kind, &run, clock, control, visitor) {
            Ok(met) => failures.extend(met),
            Err(SubjectError::Interrupted) => return Ok((failures, true)),
            Err(error) => failures.push(error),
        }
        session.system_done()?;
    }
    Ok((failures, false))
}

/// The battery, to be run on whatever subject the system is.
struct OnSystem<'a> {
    session: &'a mut Session,
    name: &'a SystemName,
    plan: &'a Plan,
    calibration: &'a Calibration,
}

impl Visitor for OnSystem<'_> {
    type Found = Vec<SubjectError>;

    fn visit<S: Subject, C: Clock>(
        self,
        subject: &mut S,
        clock: &C,
    ) -> Result<Self::Found, SubjectError> {
        run_system(subject, self.name, self.plan, self.calibration, clock, self.session)
    }
}

/// The battery in turn on two subjects, the first of which is made.
struct OnFirst<'a> {
    session: &'a mut Session,
    names: [&'a SystemName; 2],
    second: &'a SystemKind,
    run: &'a str,
    plan: &'a Plan,
    calibration: &'a Calibration,
    clock: &'a HostClock,
    control: &'a Arc<Control>,
}

impl Visitor for OnFirst<'_> {
    type Found = Vec<SubjectError>;

    fn visit<S: Subject, C: Clock>(
        self,
        subject: &mut S,
        _: &C,
    ) -> Result<Self::Found, SubjectError> {
        let (kind, run, clock, control) = (self.second, self.run, self.clock, self.control);
        on_subject(kind, run, clock, control, OnBoth { first: subject, of: self })
    }
}

/// The same, with both made.
struct OnBoth<'a, A: Subject> {
    first: &'a mut A,
    of: OnFirst<'a>,
}

impl<A: Subject> Visitor for OnBoth<'_, A> {
    type Found = Vec<SubjectError>;

    fn visit<B: Subject, C: Clock>(
        self,
        second: &mut B,
        clock: &C,
    ) -> Result<Self::Found, SubjectError> {
        let OnFirst { session, names: [a, b], plan, calibration, .. } = self.of;
        run_in_turn((self.first, a), (second, b), plan, calibration, clock, session)
    }
}

/// Clock, harness and memory, before the first pass.
/// Errors: interruption, or what the null engine met.
pub(crate) fn calibrate(clock: &HostClock, control: &Arc<Control>) -> anyhow::Result<Calibration> {
    let mut nowhere = Nowhere::new(clock.clone(), control.clone());
    Ok(Calibration {
        clock_cost_ns: clock.cost_ns(),
        clock_precision_ns: clock.precision_ns(),
        harness_ns_per_operation: harness_ns_per_operation(&mut nowhere, HARNESS_OPERATIONS)
            .map_err(|e| match e {
                SubjectError::Interrupted => {
                    failure(Fault::Interrupted, "interrupted; nothing was measured")
                }
                e => failure(Fault::Io, format!("failed to calibrate: {e}")),
            })?,
        memory_copy_bytes_per_s: host::machine::memory_copy_bytes_per_s(),
    })
}

/// The calibration by quantity; a run of models alone has none.
fn by_quantity(c: &Calibration) -> Vec<(&'static str, f64)> {
    if *c == OF_MODELS {
        return vec![];
    }
    vec![
        ("clock_cost_ns", c.clock_cost_ns),
        ("clock_precision_ns", c.clock_precision_ns),
        ("harness_ns_per_operation", c.harness_ns_per_operation),
        ("memory_copy_bytes_per_s", c.memory_copy_bytes_per_s),
    ]
}

/// How many passes there will be, layouts left aside.
pub(crate) fn passes(resolved: &ResolvedThroughput) -> u64 {
    let plan = &resolved.plan;
    let of_programs = plan.programs.len() as u64 * u64::from(plan.warmup + plan.runs);
    let of_ceilings = if plan.ceiling { ceiling_passes(2) } else { 0 };
    resolved.systems.len() as u64 * (of_programs + of_ceilings)
}
