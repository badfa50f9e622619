//! `lbolt sync`: what it costs to make a write durable.

use super::throughput::{conclude, run_path};
use super::{note, print, print_json};
use crate::cli::SyncOptions;
use crate::print::exit::{Fault, failure};
use crate::print::render::render;
use crate::resolve::place::{Needs, System, SystemKind, system};
use crate::resolve::target::Target;
use crate::run::directory::RunPlace;
use crate::run::session::{Outcome, Session, Start, Visitor, control, on_subject, run_info};
use crate::run::throughput::clock;
use analyze::throughput::PRECISION_PERCENT;
use experiment::sync::{METHODS, Plan, run_system};
use host::device::Tree;
use model::seam::{Clock, Subject, SubjectError};
use std::path::Path;

/// Half a revolution at 15,000 a minute; and a call that reaches flash and comes back.
const ROTATING_LEAST_NS: u64 = 2_000_000;
const OTHER_LEAST_NS: u64 = 5_000;
/// The space that all writers' appended files may take.
const APPENDED_BYTES: u64 = 256 << 20;

/// Runs the command.
///
/// Errors: what could not be done, with its exit code.
pub fn run(options: &SyncOptions) -> anyhow::Result<()> {
    let path = run_path(&options.output, "sync");
    let (plan, system) = resolve(options, &std::path::absolute(&path)?)?;
    if options.dry_run {
        return print_json(&serde_json::to_value(&plan)?);
    }
    let seconds = plan.passes() as f64 * plan.pass_ns as f64 / 1e9;
    note(&format!("{} passes on {}, about {seconds:.0} s", plan.passes(), system.name.column));
    let outcome = measure(&plan, &system, &path)?;
    let printed = print(&render(&outcome.info, &outcome.findings, options.output.format)?);
    conclude(&outcome, None).and(printed)
}

/// Resolves the options.
fn resolve(options: &SyncOptions, output: &Path) -> anyhow::Result<(Plan, System)> {
    let usage = |message: String| failure(Fault::Usage, message);
    let targets = Target::parse(&options.target).map_err(usage)?;
    let [target] = targets.as_slice() else {
        return Err(usage(format!("TARGET {}: one system at a time", options.target)));
    };
    if matches!(target, Target::Model(_)) || target.is_block_device() || target.drives() > 1 {
        return Err(usage(format!(
            "TARGET {}: sync measures files; name a directory, or fresh:FS with one drive",
            options.target
        )));
    }
    let broken = |bytes: &&u64| !options.size.is_multiple_of(**bytes) || **bytes > 1 << 30;
    if let Some(bytes) = options.bs.iter().find(broken) {
        let (bytes, size) =
            (model::units::show_size(*bytes), model::units::show_size(options.size));
        return Err(usage(format!(
            "--bs {bytes}: --size {size} is no multiple of it; give others"
        )));
    }
    let writers = u64::from(options.numjobs.iter().copied().max().unwrap_or(1));
    let bytes = writers * (options.size + APPENDED_BYTES);
    let needs = Needs { bytes, writes: false, destroy: None };
    let system = system(target, &targets, &needs, output)?;
    let is_wanted =
        |name: &&str| options.method.is_empty() || options.method.iter().any(|m| m == name);
    let plan = Plan {
        systems: vec![system.described()],
        methods: METHODS
            .map(|method| method.name)
            .iter()
            .filter(|name| is_wanted(name))
            .map(|name| (*name).to_owned())
            .collect(),
        block_bytes: options.bs.clone(),
        writers: options.numjobs.clone(),
        direct: options.direct.iter().map(|direct| *direct == 1).collect(),
        file_bytes: options.size,
        runs: options.runs,
        pass_ns: u64::try_from(options.runtime.as_nanos()).unwrap_or(u64::MAX),
        medium_least_ns: medium_least_ns(&system),
        trace: options.trace,
        seed: 1,
    };
    Ok((plan, system))
}

/// The least time in which the medium beneath a system can make anything durable.
fn medium_least_ns(system: &System) -> u64 {
    let path = match &system.kind {
        SystemKind::Directory(path) => Some(path),
        SystemKind::Fresh(fresh) => fresh.at.first(),
        SystemKind::Device { .. } | SystemKind::Model(_) => None,
    };
    let tree = Tree::system();
    let device = path.and_then(|path| tree.device_of_path(path).ok().flatten());
    match device.and_then(|device| tree.rotational(device).ok().flatten()) {
        Some(true) => ROTATING_LEAST_NS,
        _ => OTHER_LEAST_NS,
    }
}

fn measure(plan: &Plan, system: &System, place: &RunPlace) -> anyhow::Result<Outcome> {
    let (control, clock) = (control()?, clock(plan.trace));
    let mut info = run_info("sync", place.as_ref(), plan.seed)?;
    info.plan = serde_json::to_value(plan)?;
    let mut session = Session::begin(Start {
        info,
        place,
        kinds: vec![&system.kind],
        passes: plan.passes(),
        findings: Box::new(|samples| analyze::sync::findings(samples, PRECISION_PERCENT)),
        control: control.clone(),
        clock: clock.clone(),
        traces: plan.trace,
    })?;
    session.prepare(&system.name.column);
    let run = session.run_name().to_owned();
    let visitor = OnSystem { session: &mut session, column: &system.name.column, plan };
    let met = on_subject(&system.kind, &run, &clock, &control, visitor);
    let (failures, was_interrupted) = match met {
        Ok(failures) => (failures, false),
        Err(SubjectError::Interrupted) => (vec![], true),
        Err(error) => (vec![error], false),
    };
    if !was_interrupted {
        session.system_done()?;
    }
    session.finish(&failures, was_interrupted)
}

/// The plan, to be run on whatever the system is.
struct OnSystem<'a> {
    session: &'a mut Session,
    column: &'a str,
    plan: &'a Plan,
}

impl Visitor for OnSystem<'_> {
    type Found = Vec<SubjectError>;

    fn visit<S: Subject, C: Clock>(
        self,
        subject: &mut S,
        clock: &C,
    ) -> Result<Self::Found, SubjectError> {
        run_system(subject, self.column, self.plan, clock, self.session)
    }
}
