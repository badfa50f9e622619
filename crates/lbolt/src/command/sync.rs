//! `lbolt sync`: what it costs to make a write durable.

use super::throughput::{conclude, run_path};
use super::{note, print, print_json};
use crate::cli::{OutputOptions, size, time};
use crate::print::exit::{Fault, failure};
use crate::print::render::render;
use crate::resolve::place::{Needs, System, SystemKind, system};
use crate::resolve::target::Target;
use crate::run::directory::RunPlace;
use crate::run::session::{Outcome, Session, Start, Visitor, control, on_subject, run_info};
use crate::run::throughput::clock;
use analyze::throughput::PRECISION_PERCENT;
use clap::Args;
use experiment::sync::{METHODS, Plan, run_system};
use host::device::Tree;
use model::seam::{Clock, Subject, SubjectError};
use std::path::Path;
use std::time::Duration;

const HELP: &str = "\
Each method writes one block and makes it durable, over and over: at the end of a growing file
(append) and in the place of old blocks (overwrite), with one writer and with several at once, each
in a file of its own, whose commits the file system's journal can make together.

The rate counts commits of all writers. A latency is that of the write and of what makes it durable.
A number is suspect where no flush reached the device, or where half of the commits came back
quicker than such a medium can make anything durable: 2 ms where it turns, 5 µs elsewhere.

  lbolt sync .                       every method, 4k, 8k and 64k, 1 and 4 writers
  lbolt sync fresh:xfs --bs 8k       on a fresh file system of its own
  lbolt sync . --bs 8k --numjobs 1 --trace
                                     where a commit's time went: data, flush, commit, flush";

/// `lbolt sync`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = HELP)]
pub struct SyncOptions {
    /// Where to measure: a directory, or `fresh:FS[,…]`.
    pub target: String,
    /// Only these methods; a list.
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = clap::builder::PossibleValuesParser::new(METHODS.map(|method| method.name)),
        help_heading = "Workload"
    )]
    pub method: Vec<String>,
    /// Bytes a write; a list.
    #[arg(long, value_delimiter = ',', value_parser = size, default_value = "4k,8k,64k", help_heading = "Workload")]
    pub bs: Vec<u64>,
    /// Writers at once, each with its own file; a list.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=256), default_value = "1,4", help_heading = "Workload")]
    pub numjobs: Vec<u32>,
    /// Through the page cache (0), past it (1), or both.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..=1), default_value = "0,1", help_heading = "Workload")]
    pub direct: Vec<u8>,
    /// Size of the file that is overwritten.
    #[arg(long, value_parser = size, default_value = "16m", help_heading = "Workload")]
    pub size: u64,
    /// Time of each pass.
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "200ms", help_heading = "Passes")]
    pub runtime: Duration,
    /// Passes of each cell.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), default_value_t = 3, help_heading = "Passes")]
    pub runs: u32,
    /// Capture the requests, and say where a commit's time went.
    #[arg(long, help_heading = "Passes")]
    pub trace: bool,
    /// Print the resolved plan and measure nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// Half a revolution at 15,000 a minute; and a call that reaches flash and comes back.
const ROTATING_LEAST_NS: u64 = 2_000_000;
const OTHER_LEAST_NS: u64 = 5_000;
/// The room that all writers' appended files may take.
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
