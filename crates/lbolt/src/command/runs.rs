//! `lbolt runs`: list, show, remove.

use super::measure::Extent;
use super::{calibrate, print};
use crate::render::render;
use crate::run::directory::open;
use cli::{Format, RunsCommand, RunsOptions};
use comfy_table::{Table, presets};
use host::scratch::{Left, direct, is_scratch_name};
use messages::fault::{Fault, failure, of_records};
use model::record::requests::RequestFile;
use model::record::{Context, Finding, RecordError, Verdict};
use model::run::{RunDirectory, RunError, list};
use model::text::visible;
use report::calibrated::Calibrated;
use std::path::Path;

/// Runs the command.
/// Errors: a run that is not there or cannot be read.
pub(super) fn run(options: &RunsOptions) -> anyhow::Result<()> {
    match options.command.as_ref().unwrap_or(&RunsCommand::List) {
        RunsCommand::List => print(&table(&options.runs_dir)?),
        RunsCommand::Show { run, format } => {
            let (directory, info) = open(&options.runs_dir, run)?;
            if let Some(calibrated) = Calibrated::of(&info) {
                return print(&calibrate::rendered(&calibrated, *format, Extent::Whole, None));
            }
            let findings = directory.read_findings().map_err(of_records)?;
            // Only JSON tells what is in samples alone, and records of a trace have none.
            let samples = match format {
                Format::Json => directory.read_samples().unwrap_or_default(),
                _ => vec![],
            };
            print(&render(&info, (&findings, &samples), *format)?)
        }
        RunsCommand::Rm { runs } => {
            // All must be runs before the first is removed.
            let found = runs.iter().map(|run| Doomed::find(&options.runs_dir, run));
            let found: Vec<Doomed> = found.collect::<Result<_, _>>()?;
            found.into_iter().try_for_each(Doomed::remove)
        }
    }
}

/// What is to be removed.
enum Doomed {
    Run(RunDirectory),
    /// What a killed run left beside the others.
    Scratch(Left),
}

impl Doomed {
    fn find(runs_dir: &Path, named: &Path) -> anyhow::Result<Self> {
        let usage = |sentence: String| failure(Fault::Usage, sentence);
        if named.file_name().is_some_and(is_scratch_name) {
            let in_runs = runs_dir.join(named);
            let path = if in_runs.symlink_metadata().is_ok() { &in_runs } else { named };
            let left = Left::open(&direct(path)).map_err(|e| usage(format!("failed to {e}")))?;
            let gone = || usage(format!("failed to remove {}: no such directory", path.display()));
            return left.map(Self::Scratch).ok_or_else(gone);
        }
        let (run, _) = open(runs_dir, named)?;
        match run.is_being_written() {
            true => Err(usage(format!(
                "failed to remove {}: a running lbolt still writes it; stop that process first",
                run.path().display()
            ))),
            false => Ok(Self::Run(run)),
        }
    }

    fn remove(self) -> anyhow::Result<()> {
        match self {
            Self::Run(run) => run.remove().map_err(of_records),
            Self::Scratch(left) => left.remove().map_err(of_records),
        }
    }
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
        let [all, suspect, not_measured] = match directory.read_findings() {
            // Not zero: nobody knows.
            Err(RunError::Record(RecordError::Damaged { .. })) => {
                ["damaged", "", ""].map(str::to_owned)
            }
            findings => cells(&findings.unwrap_or_default()).map(|count| count.to_string()),
        };
        table.add_row([
            visible(&info.name).into_owned(),
            match info.state.as_str() {
                "running" if !directory.is_being_written() => killed(&directory),
                state => visible(state).into_owned(),
            },
            all,
            suspect,
            not_measured,
            visible(&info.command_line.iter().skip(1).cloned().collect::<Vec<_>>().join(" "))
                .into_owned(),
        ]);
    }
    Ok(table.trim_fmt())
}

/// The state of a run whose process is dead, with what is left of its requests. Before they are put
/// together it is known how many they are at the least.
fn killed(directory: &RunDirectory) -> String {
    let requests = directory.requests();
    let context = Context::read(&directory.held().at(".")).unwrap_or_default();
    let and_summed = match context.summed.iter().map(|sum| sum.count).sum::<u64>() {
        0 => String::new(),
        count => format!(", {count} as sums"),
    };
    if let Ok(file) = RequestFile::open(&requests) {
        return format!("killed, {} requests kept{and_summed}", file.rows());
    }
    match trace::output::Left::find(&requests) {
        Ok(Some(left)) => format!("killed, at least {} requests kept{and_summed}", left.rows()),
        _ => "killed".to_owned(),
    }
}

/// All cells, those that are suspect, and those that were not measured.
fn cells(findings: &[Finding]) -> [usize; 3] {
    let cells = || findings.iter().filter(|f| f.is_rate());
    let of = |verdict: Verdict| cells().filter(|f| f.verdict == verdict).count();
    [cells().count(), of(Verdict::Suspect), of(Verdict::NotMeasured)]
}
