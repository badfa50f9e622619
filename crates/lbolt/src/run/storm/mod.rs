//! The storm in its session: measured, predicted, or both.

mod advice;
mod beside;
mod folded;
#[cfg(test)]
mod luck;
mod machine;
mod predicted;
mod seen;

use super::directory::RunPlace;
use super::parameter_samples::Samples;
use super::session::{Bench, Experiment, Outcome, Session, run_experiments, run_info};
use super::tracing::tracer;
use crate::resolve::Resolved;
use crate::resolve::device::DevicePlan;
use crate::resolve::place::{System, SystemKind};
use crate::resolve::storm::{ResolvedStorm, StormPlace, on_device};
use crate::run::device::ModelDevice;
use beside::Beside;
use experiment::storm::{Plan, run_system};
use machine::Machine;
use model::record::{Experiment as Kind, Finding, Sample, Subject};
use model::run::RunInfo;
use model::workload::Access;
use sim::kernel::Layout;
use std::cell::RefCell;
use std::path::Path;

/// Runs the resolved options and keeps their records in `place`.
/// Errors: a device that cannot be made; records that cannot be written. What the passes met is in
/// the outcome.
pub(crate) fn run(resolved: &ResolvedStorm, place: &RunPlace) -> anyhow::Result<Outcome> {
    let mut info = run_info("storm", place.as_ref(), resolved.plan.seed)?;
    info.plan = resolved.plan()?;
    let bench = Bench::new(resolved.plan.trace)?;
    let plan = &resolved.plan;
    let machine =
        |device, beside| Some(RefCell::new(Machine::new(device, place.as_ref()).beside(beside)));
    let storm = |system, model, machine| Storm {
        plan,
        system,
        model,
        machine,
        predicted: RefCell::default(),
    };
    match &resolved.place {
        StormPlace::System(system) => {
            let beside =
                (!plan.command.is_empty()).then(|| Beside::new(plan, bench.control.clone()));
            storm(system, None, machine(None, beside)).run_in(info, place, bench)
        }
        StormPlace::Simulated(device, system) => {
            storm(system, Some(device), None).run_in(info, place, bench)
        }
        StormPlace::Model(device) => {
            let mut made = ModelDevice::begin(device)?;
            // Files are laid out as fast as this machine can.
            made.hurry(true)?;
            let target = &plan.systems[0].target;
            let system = on_device(target, device, made.path().to_owned());
            storm(&system, Some(device), machine(Some(made), None)).run_in(info, place, bench)
        }
    }
}

pub(super) use folded::who_waited;

/// The storm among the questions of a survey, on a directory: reads come at half of the rate at the
/// knee, where that was found before.
pub(super) struct InSurvey<'a> {
    resolved: &'a ResolvedStorm,
    run: &'a Path,
}

impl<'a> InSurvey<'a> {
    /// Its run's directory is where notes of what is changed belong.
    pub(super) fn new(resolved: &'a ResolvedStorm, run: &'a Path) -> Self {
        Self { resolved, run }
    }

    fn system(&self) -> Option<&System> {
        match &self.resolved.place {
            StormPlace::System(system) => Some(system),
            StormPlace::Model(_) | StormPlace::Simulated(..) => None,
        }
    }
}

/// The storm's reads, as a share of the rate at the knee.
const SHARE_OF_KNEE: f64 = 0.5;

/// The rate at the knee of random reads of a system.
fn knee_per_s(findings: &[Finding], column: &str) -> Option<f64> {
    let is_it = |finding: &&Finding| match &finding.subject {
        Subject::Curve(curve) => {
            curve.access == Access::RandRead && curve.target.as_deref() == Some(column)
        }
        _ => false,
    };
    let mut own = findings.iter().filter(is_it);
    own.find(|finding| finding.quantity == "knee_rate_operations_per_s")?.value
}

impl Experiment for InSurvey<'_> {
    fn kind(&self) -> Kind {
        Kind::Storm
    }

    fn systems(&self) -> &[System] {
        self.system().map_or(&[], std::slice::from_ref)
    }

    fn passes(&self) -> u64 {
        self.resolved.plan.passes() * SAMPLES_OF_PASS
    }

    fn run(&self, session: &mut Session<'_>) -> anyhow::Result<()> {
        let Some(system) = self.system() else { return Ok(()) };
        let mut plan = self.resolved.plan.clone();
        let of_knee =
            knee_per_s(session.findings(), &system.name.column).map(|per_s| per_s * SHARE_OF_KNEE);
        plan.read.rate = plan.read.rate.or(of_knee);
        let machine = Some(RefCell::new(Machine::new(None, self.run)));
        let predicted = RefCell::default();
        Storm { plan: &plan, system, model: None, machine, predicted }.run(session)
    }

    fn findings(&self, samples: &[Sample]) -> Vec<Finding> {
        analyze::storm::findings(samples)
    }
}

/// A sample of each stream.
const SAMPLES_OF_PASS: u64 = 5;

/// A storm on a system.
struct Storm<'a> {
    plan: &'a Plan,
    system: &'a System,
    /// The drive, where it is a modelled one.
    model: Option<&'a DevicePlan>,
    /// The machine around the passes; none where they are in virtual time alone.
    machine: Option<RefCell<Machine>>,
    /// What was predicted beside a measurement.
    predicted: RefCell<Vec<Sample>>,
}

impl Storm<'_> {
    fn run_in(&self, info: RunInfo, place: &RunPlace, bench: Bench) -> anyhow::Result<Outcome> {
        let outcome = run_experiments(&[self], info, place, bench)?;
        let is_own_disk =
            matches!(self.system.kind, SystemKind::Directory(_) | SystemKind::Device { .. });
        let Some(machine) = &self.machine else { return Ok(outcome) };
        let advice = advice::advice(&outcome.findings, machine.borrow().place(), is_own_disk);
        // Windows of a load that is not ours know no period.
        let shown = match self.plan.trace && self.plan.command.is_empty() {
            true => {
                let (target, period_ns) = (&self.system.name.column, self.plan.period_ns);
                folded::text(&outcome.path, target, (&outcome.samples, period_ns))?
            }
            false => String::new(),
        };
        let parts: Vec<String> = [shown, advice].into_iter().filter(|t| !t.is_empty()).collect();
        Ok(Outcome { advice: parts.join("\n"), ..outcome })
    }

    /// Predicts what is about to be measured, now that its rates are known.
    fn predict(&self, plan: &Plan, layout: Option<Layout>, column: &str) {
        let Some(device) = self.model else { return };
        let mut samples = Samples::default();
        // What the model does not know is not predicted.
        if predicted::run(plan, (device, layout), column, &mut samples).is_ok() {
            *self.predicted.borrow_mut() = samples.0;
        }
    }
}

impl Experiment for Storm<'_> {
    fn kind(&self) -> Kind {
        Kind::Storm
    }

    fn systems(&self) -> &[System] {
        std::slice::from_ref(self.system)
    }

    fn passes(&self) -> u64 {
        self.plan.passes() * SAMPLES_OF_PASS
    }

    fn run(&self, session: &mut Session<'_>) -> anyhow::Result<()> {
        let column = &self.system.name.column;
        let Some(machine) = &self.machine else {
            let Some(device) = self.model else { return Ok(()) };
            return session.under(column, |session| {
                predicted::run(self.plan, (device, None), column, session)
            });
        };
        let mut machine = machine.borrow_mut();
        machine.around(|machine| {
            session.on_system(self.system, column, tracer(false), |subject, clock, session| {
                run_system(subject, column, self.plan, (clock, machine), session)
            })
        })?;
        if let Some(plan) = machine.plan() {
            self.predict(plan, machine.layout().cloned(), column);
        }
        Ok(())
    }

    fn findings(&self, samples: &[Sample]) -> Vec<Finding> {
        let predicted = self.predicted.borrow();
        let beside = analyze::storm::predicted(samples, &predicted);
        analyze::storm::findings(samples).into_iter().chain(beside).collect()
    }
}
