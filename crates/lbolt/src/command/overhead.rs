//! `lbolt overhead`: rate and CPU cost of every I/O routine.

use super::{note, print, throughput};
use crate::cli::{Format, OverheadOptions};
use crate::room::overhead::{announcement, measure, plan_json, resolve};
use model::record::Finding;
use model::run::RunInfo;

/// Runs the command.
///
/// # Errors
/// What could not be done, with its exit code.
pub fn run(options: &OverheadOptions) -> anyhow::Result<()> {
    let path = throughput::run_path(&options.output, "overhead");
    // Absolute: where an image lies decides which disk is beneath it.
    let setting = resolve(options, &std::path::absolute(&path)?)?;
    if options.dry_run {
        return print(&serde_json::to_string_pretty(&plan_json(&setting))?);
    }
    note(&announcement(&setting));
    let outcome = measure(&setting, "overhead", &path)?;
    print(&render(&outcome.info, &outcome.findings, options.output.format)?)?;
    throughput::conclude(&outcome, None)
}

/// The findings in the format that was asked for.
pub(crate) fn render(
    info: &RunInfo,
    findings: &[Finding],
    format: Format,
) -> anyhow::Result<String> {
    Ok(match format {
        Format::Json => report::json(&serde_json::to_value(info)?, findings)?,
        Format::Csv => report::csv(findings),
        Format::Markdown => report::overhead::markdown(findings),
        Format::Table => report::overhead::table(findings, throughput::terminal_width()),
    })
}
