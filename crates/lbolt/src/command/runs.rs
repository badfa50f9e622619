//! `lbolt runs`: list, show, remove.

use super::print;
use super::render::render;
use super::throughput::RATES;
use crate::cli::{RunsCommand, RunsOptions};
use crate::exit::{Fault, failure, of_records};
use comfy_table::{Table, presets};
use model::record::{Finding, RecordError, Verdict};
use model::run::{RunDirectory, RunError, RunInfo, list};
use std::path::{Path, PathBuf};

/// Runs the command.
///
/// # Errors
/// A run that is not there or cannot be read.
pub fn run(options: &RunsOptions) -> anyhow::Result<()> {
    match &options.command {
        RunsCommand::List => print(&table(&options.runs_dir)?),
        RunsCommand::Show { run, format } => {
            let (directory, info) = open(&options.runs_dir, run)?;
            let findings = directory.read_findings().map_err(of_records)?;
            print(&render(&info, &findings, *format)?)
        }
        RunsCommand::Rm { runs } => {
            // All must be runs before the first is removed.
            let found: Vec<_> =
                runs.iter().map(|run| open(&options.runs_dir, run)).collect::<Result<_, _>>()?;
            for (directory, _) in found {
                directory.remove().map_err(of_records)?;
            }
            Ok(())
        }
    }
}

/// A run by its name in the runs' directory, or by its own directory.
pub(super) fn open(runs_dir: &Path, run: &Path) -> anyhow::Result<(RunDirectory, RunInfo)> {
    let in_runs = runs_dir.join(run);
    let path: PathBuf = if in_runs.join("run.json").exists() { in_runs } else { run.to_owned() };
    RunDirectory::open(&path).map_err(|e| {
        failure(
            Fault::Usage,
            format!("failed to {e}; `lbolt runs list` shows the runs of --runs-dir"),
        )
    })
}

fn table(runs_dir: &Path) -> anyhow::Result<String> {
    let runs = list(runs_dir).map_err(of_records)?;
    if runs.is_empty() {
        return Ok(format!("no runs in {}", runs_dir.display()));
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["run", "state", "cells", "suspect", "not measured", "command line"]);
    for (directory, info) in runs {
        let [all, suspect, not_measured] = match directory.read_findings() {
            // Not zero: nobody knows.
            Err(RunError::Record(RecordError::Damaged { .. })) => {
                ["damaged", "", ""].map(str::to_owned)
            }
            findings => cells(&findings.unwrap_or_default()).map(|count| count.to_string()),
        };
        table.add_row([
            info.name,
            info.state,
            all,
            suspect,
            not_measured,
            info.command_line.iter().skip(1).cloned().collect::<Vec<_>>().join(" "),
        ]);
    }
    Ok(table.trim_fmt())
}

/// All cells, those that are suspect, and those that were not measured.
fn cells(findings: &[Finding]) -> [usize; 3] {
    let cells = || findings.iter().filter(|f| RATES.contains(&f.quantity.as_str()));
    let of = |verdict: Verdict| cells().filter(|f| f.verdict == verdict.name()).count();
    [cells().count(), of(Verdict::Suspect), of(Verdict::NotMeasured)]
}
