//! The calibration: from the options to the plan and its system. What cannot be done is refused
//! here, before anything is measured.

use super::place::{Needs, System, SystemKind, refuse_idle_consent, system};
use super::target::Target;
use crate::cli::CalibrateOptions;
use crate::print::exit::{Fault, failure};
use experiment::calibrate::{LARGE_BYTES, Plan, cells};
use host::device::Tree;
use model::units::show_size;
use std::path::Path;
use std::time::Duration;

/// Fewer large requests than this would be in a cache, and no places.
const REQUESTS_LEAST: u64 = 64;
const PASS_LEAST: Duration = Duration::from_millis(20);

/// A whole calibration, resolved.
pub(crate) struct ResolvedCalibration {
    pub(crate) plan: Plan,
    pub(crate) system: System,
    /// It turns: what is inside is not found.
    pub(crate) is_rotating: bool,
}

/// Resolves the options.
/// Errors: a sentence for whatever cannot be done as requested, or what the guard refuses.
pub(crate) fn resolve(options: &CalibrateOptions) -> anyhow::Result<ResolvedCalibration> {
    let usage = |message: String| failure(Fault::Usage, message);
    let shown = options.target.display();
    if let Some(output) = options.output.as_deref().filter(|_| !options.dry_run) {
        refuse_output(output)?;
    }
    if options.runtime < PASS_LEAST {
        return Err(usage("--runtime: 20 ms at the least".into()));
    }
    let target = Target::Path(options.target.clone());
    if !target.is_block_device() {
        return Err(usage(format!(
            "TARGET {shown}: only a block device is calibrated; name one, perhaps that beneath it"
        )));
    }
    let needs =
        Needs { bytes: 0, writes: options.destroy.is_some(), destroy: options.destroy.as_deref() };
    let targets = [target];
    let system = system(&targets[0], &targets, &needs, Path::new("."))?;
    refuse_idle_consent(needs.destroy, std::slice::from_ref(&system))?;
    let SystemKind::Device { number, .. } = &system.kind else {
        return Err(usage(format!("TARGET {shown} is no block device")));
    };
    let tree = Tree::system();
    let size_bytes = tree.size_bytes(*number).map_err(|error| usage(error.to_string()))?;
    if size_bytes < REQUESTS_LEAST * LARGE_BYTES {
        let (size, least) = (show_size(size_bytes), show_size(REQUESTS_LEAST * LARGE_BYTES));
        return Err(usage(format!("TARGET {shown}: it has {size}, and {least} are needed")));
    }
    let plan = Plan {
        systems: vec![system.described()],
        size_bytes,
        cells: cells(needs.writes),
        rounds: options.runs,
        pass_ns: u64::try_from(options.runtime.as_nanos()).unwrap_or(u64::MAX),
        seed: options.seed,
    };
    let is_rotating = tree.rotational(*number).ok().flatten() == Some(true);
    Ok(ResolvedCalibration { plan, system, is_rotating })
}

/// A profile is not replaced, and has its name's ending, by which `--model` knows it.
fn refuse_output(output: &Path) -> anyhow::Result<()> {
    let shown = output.display();
    if output.extension().is_none_or(|extension| extension != "toml") {
        let sentence = format!("--output {shown}: a profile's name ends in .toml");
        return Err(failure(Fault::Usage, sentence));
    }
    match output.symlink_metadata() {
        Ok(_) => {
            let sentence = format!("--output {shown} is there already; name another file");
            Err(failure(Fault::Usage, sentence))
        }
        Err(_) => Ok(()),
    }
}
