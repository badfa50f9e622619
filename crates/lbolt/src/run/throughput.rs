//! The throughput experiment's session: calibrates, and runs the battery on every system.

use super::parameter_samples::Samples;
use super::session::{Bench, Experiment, Outcome, Session, run_info};
use super::tracing::tracer;
use crate::resolve::Resolved;
use crate::resolve::place::System;
use crate::resolve::throughput::ResolvedThroughput;
use crate::run::directory::RunPlace;
use analyze::throughput::findings;
use experiment::throughput::{
    Calibration, Plan, ceiling_passes, harness_ns_per_operation, run_in_turn, run_system,
};
use host::clock::HostClock;
use host::subject::Nowhere;
use messages::fault::{Fault, failure};
use model::record::{Experiment as Kind, Finding, Sample};
use model::seam::{Clock, SubjectError};
use serde_json::json;
use sim::subject::ModelSubject;

/// In virtual time neither clock nor harness costs anything.
const OF_MODELS: Calibration = Calibration {
    clock_cost_ns: 0.0,
    clock_precision_ns: 1.0,
    harness_ns_per_operation: 0.0,
    memory_copy_bytes_per_s: 0.0,
};

/// Requests over which the harness's own cost is measured: some tens of milliseconds.
const HARNESS_OPERATIONS: u64 = 500_000;

/// Runs the resolved options and keeps their records in `place`.
/// Errors: records that cannot be written. What the systems met is in the outcome.
pub(crate) fn run(resolved: &ResolvedThroughput, place: &RunPlace) -> anyhow::Result<Outcome> {
    let bench = Bench::new(resolved.plan.trace)?;
    let calibration = match resolved.systems.iter().all(System::is_model) {
        // What this machine costs is no part of a modelled one.
        true => OF_MODELS,
        false => calibrate(&bench)?,
    };
    let mut info = run_info("throughput", place.as_ref(), resolved.plan.seed)?;
    info.rows.clone_from(&resolved.rows);
    info.plan = resolved.plan()?;
    info.calibration = calibrated(&bench.clock, &calibration);
    let mut nowhere = nowhere(&bench);
    let experiments: [&dyn Experiment; 1] = [&Throughput { resolved, calibration }];
    let mut session = Session::begin(&experiments, info, place, bench)?;
    session.run_all()?;
    if calibration != OF_MODELS
        && let Ok(at_end) = harness_ns_per_operation(&mut nowhere, HARNESS_OPERATIONS)
    {
        // Whether the machine still is what it was: `compare` asks.
        session.add_calibration("harness_at_end_ns_per_operation", at_end);
    }
    session.finish()
}

/// What run.json says of the calibration.
pub(super) fn calibrated(clock: &HostClock, calibration: &Calibration) -> serde_json::Value {
    json!({
        "clock": clock.name(),
        "clock_cost_ns": calibration.clock_cost_ns,
        "clock_precision_ns": calibration.clock_precision_ns,
        "harness_ns_per_operation": calibration.harness_ns_per_operation,
        "memory_copy_bytes_per_s": calibration.memory_copy_bytes_per_s,
    })
}

/// The experiment, with what was calibrated before its first pass.
pub(super) struct Throughput<'a> {
    pub(super) resolved: &'a ResolvedThroughput,
    pub(super) calibration: Calibration,
}

impl Experiment for Throughput<'_> {
    fn kind(&self) -> Kind {
        Kind::Throughput
    }

    fn systems(&self) -> &[System] {
        &self.resolved.systems
    }

    fn passes(&self) -> u64 {
        let plan = &self.resolved.plan;
        let of_programs = plan.programs.len() as u64 * u64::from(plan.warmup + plan.runs);
        let of_ceilings = if plan.ceiling { ceiling_passes(2) } else { 0 };
        self.systems().len() as u64 * (of_programs + of_ceilings)
    }

    fn run(&self, session: &mut Session<'_>) -> anyhow::Result<()> {
        match self.systems() {
            [a, b] if self.resolved.plan.interleaved => self.run_in_turn(a, b, session)?,
            systems => systems.iter().try_for_each(|system| self.run_on(system, session))?,
        }
        self.systems().iter().for_each(|system| self.draw(system, session));
        Ok(())
    }

    fn findings(&self, samples: &[Sample]) -> Vec<Finding> {
        findings(samples, &by_quantity(&self.calibration))
    }
}

impl Throughput<'_> {
    /// The battery on one system.
    fn run_on(&self, system: &System, session: &mut Session<'_>) -> anyhow::Result<()> {
        let (name, plan) = (&system.name, &self.resolved.plan);
        let calibration = if system.is_model() { &OF_MODELS } else { &self.calibration };
        let label = format!("{} × {}", name.column, name.drives);
        session.on_system(system, &label, tracer(false), |subject, clock, session| {
            run_system(subject, name, plan, calibration, clock, session)
        })
    }

    /// The battery in turn on two systems.
    fn run_in_turn(&self, a: &System, b: &System, session: &mut Session<'_>) -> anyhow::Result<()> {
        let (plan, calibration) = (&self.resolved.plan, &self.calibration);
        let label = format!("{} and {} in turn", a.name.column, b.name.column);
        session.on_system(a, &label, tracer(false), |first, _, session| {
            let (mut second, clock) = session.subject(b, tracer(false))?;
            let (first, second) = ((first, &a.name), (&mut second, &b.name));
            run_in_turn(first, second, plan, calibration, &*clock, session)
        })
    }

    /// The battery on draws of a modelled system: one pass a draw has no interval that could be
    /// wide.
    fn draw(&self, system: &System, session: &mut Session<'_>) {
        let (name, plan) = (&system.name, &self.resolved.plan);
        let plan = Plan { runs: 1, until: None, ..plan.clone() };
        let run = |subject: &mut ModelSubject, samples: &mut Samples| {
            let clock = subject.clock();
            run_system(subject, name, &plan, &OF_MODELS, &clock, samples)
        };
        session.draw(system, run, |samples| findings(samples, &[]));
    }
}

/// The null engine's subject, by which the harness is measured.
fn nowhere(bench: &Bench) -> Nowhere {
    Nowhere::new(bench.clock.clone(), bench.control.clone())
}

/// Clock, harness and memory, before the first pass.
/// Errors: interruption, or what the null engine met.
pub(super) fn calibrate(bench: &Bench) -> anyhow::Result<Calibration> {
    Ok(Calibration {
        clock_cost_ns: bench.clock.cost_ns(),
        clock_precision_ns: bench.clock.precision_ns(),
        harness_ns_per_operation: harness_ns_per_operation(&mut nowhere(bench), HARNESS_OPERATIONS)
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
