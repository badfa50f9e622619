//! `lbolt runs`: list, show, remove.

use super::print;
use super::render::render;
use super::throughput::RATES;
use crate::cli::{RunsCommand, RunsOptions};
use crate::exit::{Fault, failure, of_records};
use comfy_table::{Table, presets};
use model::record::{Finding, Verdict};
use model::run::{RunDirectory, RunInfo, list};
use model::text::visible;
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
        return Ok(format!("no runs in {}", visible(&runs_dir.display().to_string())));
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["run", "state", "cells", "suspect", "not measured", "command line"]);
    for (directory, info) in runs {
        let findings = directory.read_findings().unwrap_or_default();
        let [ok, suspect, not_measured] =
            [Verdict::Ok, Verdict::Suspect, Verdict::NotMeasured].map(|v| cells(&findings, v));
        table.add_row([
            visible(&info.name).into_owned(),
            visible(&info.state).into_owned(),
            (ok + suspect + not_measured).to_string(),
            suspect.to_string(),
            not_measured.to_string(),
            visible(&info.command_line.iter().skip(1).cloned().collect::<Vec<_>>().join(" "))
                .into_owned(),
        ]);
    }
    Ok(table.trim_fmt())
}

fn cells(findings: &[Finding], verdict: Verdict) -> usize {
    let is_cell =
        |f: &&Finding| RATES.contains(&f.quantity.as_str()) && f.verdict == verdict.name();
    findings.iter().filter(is_cell).count()
}
