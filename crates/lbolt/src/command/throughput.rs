//! `lbolt throughput`: the battery through the file system.

use super::{note, print};
use crate::cli::{Format, OutputOptions, ThroughputOptions};
use crate::exit::{Fault, failure};
use crate::room;
use crate::session::{self, Outcome};
use crate::setting::{self, Setting};
use model::record::{Finding, Verdict};
use model::run::{RunDirectory, RunInfo};
use model::seam::SubjectError;
use model::units::show_size;
use std::path::PathBuf;

/// Runs the command.
///
/// # Errors
/// What could not be done, with its exit code.
pub fn run(options: &ThroughputOptions) -> anyhow::Result<()> {
    let outcome = measure(options, "throughput")?;
    let Some(outcome) = outcome else { return Ok(()) };
    print(&render(&outcome.info, &outcome.findings, options.output.format)?)?;
    conclude(&outcome, options.steady)
}

/// Resolves, runs and keeps; none under `--dry-run`, which prints the plan.
pub(crate) fn measure(
    options: &ThroughputOptions,
    command: &str,
) -> anyhow::Result<Option<Outcome>> {
    let path = run_path(&options.output, command);
    // Absolute: where the images lie decides which disk is beneath them.
    let setting = setting::resolve(options, &std::path::absolute(&path)?)?;
    if options.dry_run {
        print(&serde_json::to_string_pretty(&room::throughput::plan_json(&setting))?)?;
        return Ok(None);
    }
    announce(&setting);
    room::throughput::run(&setting, command, &path).map(Some)
}

pub(crate) fn run_path(output: &OutputOptions, command: &str) -> PathBuf {
    output.output.clone().unwrap_or_else(|| {
        let name = session::run_name(command);
        // Two runs can begin in one second.
        let later = (2..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(later).map(|n| output.runs_dir.join(n));
        free.into_iter().find(|path| !path.exists()).unwrap_or_default()
    })
}

/// What is going to happen, where somebody may wait for it.
pub(crate) fn announce(setting: &Setting) {
    let plan = &setting.plan;
    let systems: Vec<String> =
        setting.systems.iter().map(|s| format!("{} × {}", s.name.column, s.name.drives)).collect();
    note(&format!(
        "{} programs × {} systems ({}), {} + {} passes each, files of {} ({}), {}, {}",
        plan.battery.programs.len(),
        systems.len(),
        systems.join(", "),
        plan.warmup,
        plan.runs,
        show_size(plan.file_bytes),
        setting.size_reason,
        if plan.is_cold { "caches emptied before each" } else { "caches as they are" },
        if plan.final_sync { "writes end with fdatasync" } else { "no fdatasync at the end" },
    ));
}

/// The findings in the format that was asked for.
pub(crate) fn render(
    info: &RunInfo,
    findings: &[Finding],
    format: Format,
) -> anyhow::Result<String> {
    use report::calibration_line;
    use report::throughput::{Matrix, details, markdown, table};
    let matrix = || Matrix::from_findings(findings, &info.rows);
    Ok(match format {
        Format::Json => report::json(&serde_json::to_value(info)?, findings)?,
        Format::Csv => report::csv(findings),
        Format::Markdown => markdown(&matrix()),
        Format::Table => {
            let width = terminal_width();
            let parts = [
                Some(table(&matrix(), width)),
                Some(details(&matrix(), width)),
                calibration_line(findings),
            ];
            let texts: Vec<String> =
                parts.into_iter().flatten().filter(|text| !text.is_empty()).collect();
            texts.join("\n")
        }
    })
}

/// Columns of the terminal; none where the output is no terminal.
pub(crate) fn terminal_width() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}

/// The quantity by which a cell counts as measured, in each room.
pub(crate) const RATES: &[&str] = &["rate_bytes_per_s", "routine_bytes_per_s"];

/// Says where the records are, and turns what was met into an exit code.
pub(crate) fn conclude(outcome: &Outcome, steady: Option<f64>) -> anyhow::Result<()> {
    // The null engine measures the harness, and nothing that was asked for.
    let is_harness = |f: &Finding| f.subject_value("engine").as_deref() == Some("null");
    let is_measured = |f: &Finding| {
        RATES.contains(&f.quantity.as_str())
            && f.verdict != Verdict::NotMeasured.name()
            && !is_harness(f)
    };
    let has_failed = outcome.failures.iter().any(|f| matches!(f, SubjectError::Failed(_)));
    if let (Some(error), false, false, false) = (
        outcome.failures.first(),
        has_failed,
        outcome.was_interrupted,
        outcome.findings.iter().any(is_measured),
    ) {
        // What cannot be done leaves no run. A file that is not ours keeps the directory.
        let _ = RunDirectory::open(&outcome.path).and_then(|(run, _)| run.remove());
        return Err(failure(Fault::Usage, format!("nothing was measured: {error}")));
    }
    note(&format!("records: {}", outcome.path.display()));
    if outcome.was_interrupted {
        return Err(failure(
            Fault::Interrupted,
            "interrupted; the cells that were whole are in the records, and nothing else is left",
        ));
    }
    let first = |pick: fn(&SubjectError) -> bool| outcome.failures.iter().find(|f| pick(f));
    if let Some(error) = first(|f| matches!(f, SubjectError::Failed(_))) {
        return Err(failure(Fault::Io, error));
    }
    let unsteady = steady.map(|bound| analyze::throughput::unsteady(&outcome.samples, bound));
    match unsteady.as_deref() {
        Some([first, rest @ ..]) => Err(failure(
            Fault::NotSteady,
            match rest.len() {
                0 => format!("not steady: {first}"),
                more => format!("not steady: {first}; and {more} more"),
            },
        )),
        _ => Ok(()),
    }
}
