//! What the commands of all experiments have in common: the plan printed, or run and shown; what
//! was met becomes an exit code.

use super::report::kept;
use super::{note, print, print_json};
use crate::render::{render, render_screen};
use crate::resolve::Resolved;
use crate::run::directory::RunPlace;
use crate::run::session::Outcome;
use cli::{Format, OutputOptions};
use messages::fault::{Failure, Fault, failure};
use model::engine::EngineKind;
use model::record::{Finding, Verdict};
use model::run::RunDirectory;
use model::seam::SubjectError;
use std::path::Path;

/// Resolves an experiment's options, given the directory of its output; then prints its plan, or
/// runs it and prints what was found.
/// Errors: what could not be done, with its exit code.
pub(super) fn measure<R: Resolved>(
    name: &str,
    output: &OutputOptions,
    (is_dry_run, extent): (bool, Extent),
    resolve: impl FnOnce(&Path) -> anyhow::Result<R>,
    run: impl FnOnce(&R, &RunPlace) -> anyhow::Result<Outcome>,
) -> anyhow::Result<()> {
    let place = RunPlace::of(output, name);
    // Absolute: where an image lies decides which disk is beneath it.
    let resolved = resolve(&std::path::absolute(&place)?)?;
    if is_dry_run {
        return print_json(&resolved.plan()?);
    }
    if let Some(reason) = resolved.refusal() {
        return Err(failure(Fault::Usage, format!("nothing was measured: {reason}")));
    }
    resolved.announcement().lines().for_each(note);
    let outcome = run(&resolved, &place)?;
    let printed = show(&outcome, output.format, extent);
    conclude(&outcome, output, None).and(printed)
}

/// How much of what was found is printed where it is tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    Screen,
}

impl Extent {
    /// All, where that was requested.
    pub(super) fn of(all: bool) -> Self {
        if all { Self::Whole } else { Self::Screen }
    }
}

/// Prints what was found.
/// Errors: output that cannot be printed.
pub(super) fn show(outcome: &Outcome, format: Format, extent: Extent) -> anyhow::Result<()> {
    let Outcome { info, path, findings, samples, .. } = outcome;
    let records = (findings.as_slice(), samples.as_slice());
    print(&match extent {
        Extent::Whole => render(info, records, format)?,
        Extent::Screen => render_screen(info, path, records, format)?,
    })?;
    match format == Format::Table && !outcome.advice.is_empty() {
        true => print(&outcome.advice),
        false => Ok(()),
    }
}

/// Says where the records are, makes the page if that was requested, and turns what was met into an
/// exit code.
pub(super) fn conclude(
    outcome: &Outcome,
    output: &OutputOptions,
    steady: Option<f64>,
) -> anyhow::Result<()> {
    if let Some(Failure { fault, message }) = &outcome.broken {
        let kept = match outcome.findings.iter().any(Finding::is_rate) {
            true => "; the results so far are printed above",
            false => "",
        };
        return Err(failure(*fault, format!("{message}{kept}")));
    }
    // The null engine measures the harness, and nothing that was requested.
    let is_harness = |f: &Finding| f.subject.engine() == Some(EngineKind::Null);
    let is_measured =
        |f: &Finding| f.is_rate() && f.verdict != Verdict::NotMeasured && !is_harness(f);
    let first = |pick: fn(&SubjectError) -> bool| outcome.failures.iter().find(|f| pick(f));
    let refused = first(|f| matches!(f, SubjectError::Refused(_)));
    let has_failed = first(|f| matches!(f, SubjectError::Failed(_))).is_some();
    if let (Some(error), false, false, false) = (
        outcome.failures.first(),
        has_failed,
        outcome.was_interrupted,
        outcome.findings.iter().any(is_measured),
    ) {
        // What cannot be done leaves no run. A file that is not ours keeps the directory.
        let _ = RunDirectory::open(&outcome.path).and_then(|(run, _)| run.remove());
        return Err(match refused {
            Some(refused) => failure(Fault::Guard, refused),
            None => failure(Fault::Usage, format!("nothing was measured: {error}")),
        });
    }
    let paged = kept(&outcome.path, output);
    if outcome.was_interrupted {
        return Err(failure(
            Fault::Interrupted,
            "interrupted; complete cells are kept in the records, everything else is removed",
        ));
    }
    if let Some(error) = refused {
        return Err(failure(Fault::Guard, error));
    }
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
        _ => paged,
    }
}
