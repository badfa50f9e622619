//! `lbolt overhead`: rate and CPU cost of every I/O routine.

use super::{note, print, print_json, throughput};
use crate::cli::OverheadOptions;
use crate::print::render::render;
use crate::resolve::overhead::resolve;
use crate::run::overhead::{announcement, measure};

/// Runs the command.
/// Errors: what could not be done, with its exit code.
pub fn run(options: &OverheadOptions) -> anyhow::Result<()> {
    let path = throughput::run_path(&options.output, "overhead");
    // Absolute: where an image lies decides which disk is beneath it.
    let resolved = resolve(options, &std::path::absolute(&path)?)?;
    if options.dry_run {
        return print_json(&serde_json::to_value(&resolved.plan)?);
    }
    note(&announcement(&resolved));
    let outcome = measure(&resolved, "overhead", &path)?;
    let printed = print(&render(&outcome.info, &outcome.findings, options.output.format)?);
    throughput::conclude(&outcome, None).and(printed)
}
