//! The calibration: from the options to the plan and its system. What cannot be done is refused
//! here, before anything is measured.

use super::modelled::{check, load};
use super::place::{Needs, System, SystemKind, free_bytes, refuse_idle_consent, system};
use super::rounds::{nanoseconds, usage};
use super::target::{ModelTarget, Target};
use analysis::import::is_of_cpus;
use cli::CalibrateOptions;
use experiment::calibrate::{LARGE_BYTES, Plan, cells};
use host::device::{DeviceNumber, Tree};
use model::units::show_size;
use sim::profile::Profile;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Fewer large requests than this would be in a cache, and no places.
const REQUESTS_LEAST: u64 = 64;
const PASS_LEAST: Duration = Duration::from_millis(20);
const SECTOR_BYTES: u64 = 512;
/// A scratch file has so much, and no more than a share of what is free.
const FILE_BYTES: u64 = 4 << 30;
const FREE_SHARE: u64 = 4;
/// A device with leave to write is filled first up to so much: beyond, that takes too long.
const FILLED_BYTES_MAX: u64 = 16 << 30;

/// What is calibrated.
pub(crate) enum Device {
    /// One of this machine.
    Here(Box<System>),
    /// A modelled one, whose profile is the truth.
    Model(Box<Profile>),
}

/// A whole calibration, resolved.
pub(crate) struct ResolvedCalibration {
    pub(crate) plan: Plan,
    pub(crate) device: Device,
    /// As it is called.
    pub(crate) name: String,
    /// Bytes of the whole device.
    pub(crate) capacity_bytes: u64,
    /// It may turn: then it is looked what is inside.
    pub(crate) may_turn: bool,
    pub(crate) sector_bytes: u64,
}

/// Resolves the options.
/// Errors: a sentence for whatever cannot be done as requested, or what the guard refuses.
pub(crate) fn resolve(options: &CalibrateOptions) -> anyhow::Result<ResolvedCalibration> {
    if let Some(output) = options.output.as_deref().filter(|_| !options.measure.dry_run) {
        refuse_output(output)?;
    }
    if options.runtime.is_some_and(|runtime| runtime < PASS_LEAST) {
        return Err(usage("--runtime is too short: give at least 20ms"));
    }
    refuse_of_traces(options)?;
    let [target] = options.targets.as_slice() else {
        return Err(usage("TARGET: several devices are named; calibrate one at a time"));
    };
    let text = target.to_string_lossy();
    let targets = match text.starts_with("model:") {
        true => Target::parse(&text).map_err(usage)?,
        false => vec![Target::Path(target.clone())],
    };
    let resolved = match targets.as_slice() {
        [Target::Model(model)] => of_model(model, options)?,
        [target @ Target::Path(path)] => match path.is_dir() {
            true => of_directory(target, path, options)?,
            false => of_device(target, options)?,
        },
        _ => {
            return Err(usage(format!(
                "TARGET {text}: names several devices; calibrate one at a \
                                       time"
            )));
        }
    };
    let size_bytes = resolved.plan.size_bytes;
    if size_bytes < REQUESTS_LEAST * LARGE_BYTES {
        let (size, least) = (show_size(size_bytes), show_size(REQUESTS_LEAST * LARGE_BYTES));
        return Err(usage(format!(
            "TARGET {text}: {size} is too small; calibration needs at least \
                                  {least}"
        )));
    }
    Ok(resolved)
}

/// Rounds and time of a pass: a machine's mood lasts for some passes, so that many short ones say
/// more than a few long ones.
const OF_MACHINES: (u32, Duration) = (18, Duration::from_millis(60));
const OF_MODELS: (u32, Duration) = (7, Duration::from_millis(250));
/// Rounds at the least, and the time within which there may be more.
const ROUNDS_LEAST: u32 = 7;
const ROUNDS_TIME: Duration = Duration::from_mins(5);

/// Rounds of bursts, of some 5 s each.
const BURST_ROUNDS: u32 = 5;

fn plan(
    options: &CalibrateOptions,
    (rounds, pass): (u32, Duration),
    size_bytes: u64,
    writes: bool,
) -> Plan {
    let pass = options.runtime.unwrap_or(pass);
    Plan {
        systems: vec![],
        size_bytes,
        fills: false,
        cells: cells(writes),
        rounds: options.runs.unwrap_or(rounds),
        rounds_least: options.runs.unwrap_or(ROUNDS_LEAST),
        rounds_ns: ROUNDS_TIME.as_nanos() as u64,
        pass_ns: nanoseconds(pass),
        burst_rounds: if writes { BURST_ROUNDS.min(options.runs.unwrap_or(rounds)) } else { 0 },
        seed: options.measure.seed,
    }
}

/// A modelled device: it may be written, for nothing is lost.
fn of_model(
    target: &ModelTarget,
    options: &CalibrateOptions,
) -> anyhow::Result<ResolvedCalibration> {
    if options.measure.destroy.is_some() {
        return Err(usage("--destroy: a modelled device holds no data; leave the option out"));
    }
    let profile = load(&target.model, &target.changes())?;
    check(&profile)?;
    let machine = sim::replay::ReplayMachine::of(&profile).map_err(super::modelled::refused)?;
    let capacity = machine.drive.capacity();
    Ok(ResolvedCalibration {
        plan: plan(options, OF_MODELS, within(options, capacity.bytes())?, true),
        device: Device::Model(Box::new(profile)),
        name: format!("model:{}", target.model),
        capacity_bytes: capacity.bytes(),
        may_turn: true,
        sector_bytes: u64::from(capacity.sector_bytes),
    })
}

/// Of a device, the bytes that requests stay within.
fn within(options: &CalibrateOptions, capacity_bytes: u64) -> anyhow::Result<u64> {
    match options.size {
        Some(size) if size > capacity_bytes => Err(usage(format!(
            "--size {}: the device has only {}; give a smaller size",
            show_size(size),
            show_size(capacity_bytes)
        ))),
        size => Ok(size.unwrap_or(capacity_bytes)),
    }
}

fn of_device(target: &Target, options: &CalibrateOptions) -> anyhow::Result<ResolvedCalibration> {
    let destroy = options.measure.destroy.as_deref();
    let needs = Needs { bytes: 0, writes: destroy.is_some(), destroy };
    let system = system(target, std::slice::from_ref(target), &needs, Path::new("."))?;
    refuse_idle_consent(destroy, std::slice::from_ref(&system))?;
    let SystemKind::Device { number, .. } = &system.kind else {
        return Err(usage(format!(
            "TARGET {} is not a block device; name a block device, a \
                                  directory, model:NAME or a trace",
            target.canonical()
        )));
    };
    let (tree, number): (Tree, DeviceNumber) = (Tree::system(), *number);
    let capacity_bytes = tree.size_bytes(number).map_err(usage)?;
    let size_bytes = within(options, capacity_bytes)?;
    let may_turn = host::turning::turns(&tree, number);
    let fills = needs.writes && (options.size.is_some() || size_bytes <= FILLED_BYTES_MAX);
    let plan = Plan {
        systems: vec![system.described()],
        fills,
        ..plan(options, OF_MACHINES, size_bytes, needs.writes)
    };
    Ok(ResolvedCalibration {
        plan,
        name: system.name.column.clone(),
        device: Device::Here(Box::new(system)),
        capacity_bytes,
        may_turn,
        sector_bytes: SECTOR_BYTES,
    })
}

/// A directory: a file of ours in it may be written.
fn of_directory(
    target: &Target,
    path: &Path,
    options: &CalibrateOptions,
) -> anyhow::Result<ResolvedCalibration> {
    let free_bytes = free_bytes(target, Path::new(".")).unwrap_or(0);
    let size_bytes = options.size.unwrap_or_else(|| FILE_BYTES.min(free_bytes / FREE_SHARE));
    let size_bytes = size_bytes / LARGE_BYTES * LARGE_BYTES;
    let needs =
        Needs { bytes: size_bytes, writes: true, destroy: options.measure.destroy.as_deref() };
    let system = system(target, std::slice::from_ref(target), &needs, Path::new("."))?;
    refuse_idle_consent(needs.destroy, std::slice::from_ref(&system))?;
    let plan = Plan {
        systems: vec![system.described()],
        fills: true,
        ..plan(options, OF_MACHINES, size_bytes, true)
    };
    // The device beneath serves places past the file, too.
    let tree = Tree::system();
    let beneath = std::path::absolute(path).ok();
    let beneath = beneath.and_then(|path| tree.device_of_path(&path).ok().flatten());
    let capacity_bytes = beneath.and_then(|number| tree.size_bytes(number).ok());
    Ok(ResolvedCalibration {
        plan,
        name: system.name.column.clone(),
        device: Device::Here(Box::new(system)),
        capacity_bytes: capacity_bytes.unwrap_or(size_bytes).max(size_bytes),
        may_turn: false,
        sector_bytes: SECTOR_BYTES,
    })
}

/// Whether what is named is a trace: files, one name of several, or a run's directory.
pub(crate) fn is_trace(targets: &[PathBuf]) -> bool {
    let is_run = |path: &Path| {
        let has = |name: &str| path.join(name).symlink_metadata().is_ok();
        has("requests.parquet") || has("run.json")
    };
    let is_trace =
        |path: &PathBuf| path.is_file() || path.is_dir() && is_run(path) || is_of_cpus(path);
    targets.first().is_some_and(is_trace)
}

/// Refuses what means nothing to a trace.
/// Errors: a sentence that names the option.
pub(crate) fn check_trace(options: &CalibrateOptions) -> anyhow::Result<()> {
    let of_devices = [
        ("--destroy", options.measure.destroy.is_some()),
        ("--size", options.size.is_some()),
        ("--dry-run", options.measure.dry_run),
    ];
    if let Some((name, _)) = of_devices.iter().find(|(_, is_given)| *is_given) {
        return Err(usage(format!("{name} does not apply to a trace; leave it out")));
    }
    options.output.as_deref().map_or(Ok(()), refuse_output)
}

fn refuse_of_traces(options: &CalibrateOptions) -> anyhow::Result<()> {
    let of_traces = [
        ("--device", options.device.is_some()),
        ("--input-format", options.read_as.input_format.is_some()),
        ("--time-unit", options.read_as.time_unit.is_some()),
        ("--size-unit", options.read_as.size_unit.is_some()),
    ];
    match of_traces.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(usage(format!("{name} applies only to a trace; leave it out"))),
        None => Ok(()),
    }
}

/// A profile is not replaced, and has its name's ending, by which `--model` knows it.
fn refuse_output(output: &Path) -> anyhow::Result<()> {
    let shown = output.display();
    if output.extension().is_none_or(|extension| extension != "toml") {
        return Err(usage(format!("--output {shown}: the name of a profile must end in .toml")));
    }
    match output.symlink_metadata() {
        Ok(_) => Err(usage(format!("--output {shown} already exists; name another file"))),
        Err(_) => Ok(()),
    }
}
