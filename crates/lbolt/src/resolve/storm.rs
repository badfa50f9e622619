//! The storm: from the options to the plan and its system. What cannot be done is refused here,
//! before anything is made or measured.

use super::Resolved;
use super::device::DevicePlan;
use super::place::{Needs, System, SystemKind, refuse_idle_consent, system};
use super::rounds::too_short;
use super::target::Target;
use cli::StormOptions;
use experiment::storm::{NONE, Plan, Stream, Tried};
use experiment::throughput::SystemName;
use host::remedy::{REMEDIES, Remedy};
use host::subject::{FILE_SYSTEMS, FreshPlan};
use messages::fault::{Fault, failure};
use model::plan::SystemPlan;
use model::units::show_size;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use trace::capture::perf::PerfCapture;
use trace::capture::{Capture, CaptureOptions};

/// With remedies rounds go on for so long where nobody says how long.
const REMEDIES_TIME: Duration = Duration::from_secs(1200);
/// Rounds where nobody says how many, at the least.
const ROUNDS: u32 = 3;
/// The committer's file.
const COMMIT_FILE_BYTES: u64 = 4 << 20;
/// What a file system needs of its own beside the files, as a share.
const OVERHEAD_SHARE: u64 = 4;

/// A whole storm, resolved.
pub(crate) struct ResolvedStorm {
    pub(crate) plan: Plan,
    pub(crate) place: StormPlace,
    /// Remedies of `--remedies all` that this user may not have.
    left_out: usize,
}

/// Where it is.
pub(crate) enum StormPlace {
    /// What is there, or can be made by its own.
    System(Box<System>),
    /// A modelled drive as a device, with a file system on it.
    Model(DevicePlan),
    /// The same in virtual time.
    Simulated(DevicePlan, Box<System>),
}

/// The plan with what it is measured on, as JSON.
#[derive(Serialize, Deserialize)]
struct Described {
    #[serde(flatten)]
    plan: Plan,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<DevicePlan>,
    /// In virtual time alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    simulate: bool,
}

impl Resolved for ResolvedStorm {
    fn plan(&self) -> serde_json::Result<serde_json::Value> {
        let device = match &self.place {
            StormPlace::Model(device) | StormPlace::Simulated(device, _) => Some(device.clone()),
            StormPlace::System(_) => None,
        };
        let simulate = matches!(self.place, StormPlace::Simulated(..));
        serde_json::to_value(Described { plan: self.plan.clone(), device, simulate })
    }

    fn refusal(&self) -> Option<String> {
        let StormPlace::System(system) = &self.place else { return None };
        let of_command = || match self.plan.command.is_empty() {
            true => None,
            false => capture_refusal(),
        };
        system.refusal().or_else(of_command)
    }

    fn announcement(&self) -> String {
        if let StormPlace::Simulated(device, _) = &self.place {
            return format!("a storm on {} under a modelled kernel, in virtual time", device.model);
        }
        let plan = &self.plan;
        let (passes, about) = (plan.passes(), plan.estimate_ns() as f64 / 1e9);
        let most = plan.time_ns as f64 / 1e9;
        let column = &plan.systems[0].column;
        let time = match plan.keeps_time && most < about {
            true => too_short(most, about),
            // Rounds that go on end when enough is known.
            false if most > about && !plan.is_exact => format!("from {about:.0} to {most:.0} s"),
            false => format!("about {about:.0} s"),
        };
        let left_out = match self.left_out {
            0 => String::new(),
            1 => "; 1 remedy that needs root is left out".to_owned(),
            many => format!("; {many} remedies that need root are left out"),
        };
        format!("{passes} passes on {column}, {time}{left_out}")
    }
}

/// Resolves the options.
/// Errors: a sentence for whatever cannot be done as requested.
pub(crate) fn resolve(options: &StormOptions, output: &Path) -> anyhow::Result<ResolvedStorm> {
    let usage = |message: String| failure(Fault::Usage, message);
    if !options.size.is_multiple_of(options.bs) || options.bs > 1 << 30 {
        let (bs, size) = (show_size(options.bs), show_size(options.size));
        return Err(usage(format!(
            "--size {size} is not a multiple of --bs {bs}; change one of \
                                  them"
        )));
    }
    if options.period < Duration::from_millis(100) {
        return Err(usage("--period is too short: give at least 100ms".into()));
    }
    let commit_bytes = COMMIT_FILE_BYTES.next_multiple_of(options.bs);
    let bytes = 2 * options.size + commit_bytes;
    if !options.command.is_empty() {
        refuse_own_load(options)?;
    }
    let (names, left_out) = permitted(options, geteuid().is_root())?;
    let bytes = if options.command.is_empty() { bytes } else { 0 };
    let (place, described) = place(options, bytes, output)?;
    let period_ns = ns(options.period);
    let is_device = is_device(&place);
    // Files each begin at 0; areas of a device lie one behind the other.
    let mut end_bytes = 0;
    let mut stream = |rate: Option<f64>, file_bytes: u64| {
        let from_bytes = if is_device { end_bytes } else { 0 };
        end_bytes += file_bytes;
        Stream { rate, block_bytes: options.bs, file_bytes, from_bytes, is_durable: false }
    };
    let dirty =
        options.dirty.map(|bytes| bytes as f64 / options.bs as f64 * 1e9 / period_ns as f64);
    let has_remedies = !options.remedies.is_empty();
    let goes_on = has_remedies && options.runs.is_none();
    let time = options.max_time.or(goes_on.then_some(REMEDIES_TIME)).unwrap_or_default();
    let least = options.runs.or(options.min_runs);
    let plan = Plan {
        systems: vec![described],
        read: stream(options.rate_iops, options.size),
        commit: Stream { is_durable: is_device, ..stream(options.commits, commit_bytes) },
        write: stream(dirty, options.size),
        period_ns,
        periods: options.periods.unwrap_or(if has_remedies { 1 } else { 2 }),
        remedies: tried(&names),
        rounds: least.unwrap_or(ROUNDS),
        time_ns: ns(time),
        is_exact: options.runs.is_some(),
        keeps_time: options.max_time.is_some() && options.min_runs.is_none(),
        command: options.command.clone(),
        trace: options.trace,
        seed: options.measure.seed,
    };
    Ok(ResolvedStorm { plan, place, left_out })
}

/// Why this user may not capture the requests of a command, by either method.
fn capture_refusal() -> Option<String> {
    if geteuid().is_root() {
        return None;
    }
    let options = CaptureOptions { ring_bytes: 0, calls: true, ..CaptureOptions::default() };
    let bpf = Capture::load(&options).err()?;
    PerfCapture::load(&options).err()?;
    Some(format!("the requests of COMMAND cannot be captured: failed to {bpf}"))
}

fn is_device(place: &StormPlace) -> bool {
    matches!(place, StormPlace::System(system) if matches!(system.kind, SystemKind::Device { .. }))
}

/// Beside a command no load of ours runs.
/// Errors: an option that says how one is to be.
fn refuse_own_load(options: &StormOptions) -> anyhow::Result<()> {
    let usage = |message: String| Err(failure(Fault::Usage, message));
    let of_ours = [
        ("--rate_iops", options.rate_iops.is_some()),
        ("--commits", options.commits.is_some()),
        ("--dirty", options.dirty.is_some()),
    ];
    if let Some((option, _)) = of_ours.iter().find(|(_, is_given)| *is_given) {
        return usage(format!(
            "{option} does not apply with COMMAND, which replaces lbolt's load; leave one of them \
             out"
        ));
    }
    if !Path::new(&options.target).is_dir() {
        return usage(format!(
            "TARGET {}: not a directory; with COMMAND, name the directory that the command uses",
            options.target
        ));
    }
    Ok(())
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The remedies that this user may have, and how many of all are left out.
/// Errors: one that was named and that only root may have.
fn permitted(options: &StormOptions, is_root: bool) -> anyhow::Result<(Vec<String>, usize)> {
    // A modelled machine's settings are nobody's.
    if is_root || options.simulate {
        return Ok((options.remedies.clone(), 0));
    }
    let refused = |name: &&String| Remedy::named(name).is_some_and(Remedy::needs_root);
    if let Some(name) = options.remedies.iter().find(refused) {
        return Err(failure(
            Fault::Usage,
            format!(
                "--remedies {name} changes a setting of this machine, which needs root; run as \
                 root, or try only what the writer does: {}",
                own_remedies().join(",")
            ),
        ));
    }
    Ok(match options.remedies.iter().any(|name| name == "all") {
        true => (own_remedies(), REMEDIES.len() - own_remedies().len()),
        false => (options.remedies.clone(), 0),
    })
}

/// The remedies that need no root.
fn own_remedies() -> Vec<String> {
    let own = REMEDIES.iter().filter(|remedy| !remedy.needs_root());
    own.map(|remedy| remedy.name.to_owned()).collect()
}

/// What is tried, without a remedy first.
fn tried(names: &[String]) -> Vec<Tried> {
    let is_wanted =
        |remedy: &&Remedy| names.iter().any(|name| name == remedy.name || name == "all");
    let of = |remedy: &Remedy| Tried {
        name: remedy.name.to_owned(),
        kind: format!("{:?}", remedy.kind),
        writer: remedy.writer,
    };
    let none = Tried { name: NONE.to_owned(), ..Tried::default() };
    [none].into_iter().chain(REMEDIES.iter().filter(is_wanted).map(of)).collect()
}

fn place(
    options: &StormOptions,
    bytes: u64,
    output: &Path,
) -> anyhow::Result<(StormPlace, SystemPlan)> {
    let usage = |message: String| failure(Fault::Usage, message);
    if options.target.starts_with("model:") {
        let device = DevicePlan::parse(&options.target, options.at.as_deref())?;
        if bytes + bytes / OVERHEAD_SHARE > device.size_bytes {
            let (bytes, size) = (show_size(bytes), show_size(device.size_bytes));
            return Err(usage(format!(
                "TARGET {}: the files need {bytes}, but the drive has {size}; give a smaller \
                 --size",
                options.target
            )));
        }
        let system = on_device(&options.target, &device, PathBuf::new());
        let described = system.described();
        let place = match options.simulate {
            true => StormPlace::Simulated(device, Box::new(system)),
            false => StormPlace::Model(device),
        };
        return Ok((place, described));
    }
    if options.simulate {
        return Err(usage(format!(
            "--simulate: {} is not a model; write model:NAME",
            options.target
        )));
    }
    let targets = Target::parse(&options.target).map_err(usage)?;
    let [target] = targets.as_slice() else {
        return Err(usage(format!("TARGET {}: names several systems; name one", options.target)));
    };
    if target.drives() > 1 {
        return Err(usage(format!(
            "TARGET {}: storm measures one drive; name a directory, a block device, fresh:FS with \
             one drive, or model:NAME",
            options.target
        )));
    }
    let destroy = options.measure.destroy.as_deref();
    let system = system(target, &targets, &Needs { bytes, writes: true, destroy }, output)?;
    refuse_idle_consent(destroy, std::slice::from_ref(&system))?;
    let described = system.described();
    Ok((StormPlace::System(Box::new(system)), described))
}

/// A file system on a modelled device, which is at a path when it is there.
pub(crate) fn on_device(target: &str, device: &DevicePlan, path: PathBuf) -> System {
    let file_system = &FILE_SYSTEMS[0];
    let column = format!("{} {}", device.model, file_system.name);
    System {
        name: SystemName { column, target: target.to_owned(), drives: 1 },
        kind: SystemKind::Fresh(FreshPlan {
            file_system,
            block_bytes: file_system.default_block_bytes,
            image_bytes: device.size_bytes,
            drives: 1,
            at: vec![],
            options: vec![],
            device: Some(path),
        }),
    }
}
