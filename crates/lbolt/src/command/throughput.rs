//! `lbolt throughput`: the battery through the file system.

use super::compare::{Base, Shown, of_interleaved, show};
use super::{note, print, print_json};
use crate::cli::{OutputOptions, ThroughputOptions};
use crate::print::exit::{Fault, failure};
use crate::print::render::render;
use crate::resolve::throughput::{ResolvedThroughput, resolve};
use crate::run;
use crate::run::compare::Side;
use crate::run::directory::RunPlace;
use crate::run::session::Outcome;
use model::engine::EngineKind;
use model::record::{Finding, Subject, Verdict};
use model::run::RunDirectory;
use model::seam::SubjectError;
use model::units::show_size;

/// Runs the command.
/// Errors: what could not be done, with its exit code.
pub fn run(options: &ThroughputOptions) -> anyhow::Result<()> {
    let base = options.against.as_deref().map(|run| Base::open(run, options)).transpose()?;
    let options = base.as_ref().map_or(options, |base| &base.options);
    if options.fail_on.is_some() && base.is_none() && !options.abab {
        let sentence = "--fail-on goes with --against or --abab; `lbolt compare A B --fail-on 5%` \
            compares stored runs";
        return Err(failure(Fault::Usage, sentence));
    }
    let path = run_path(&options.output, "throughput");
    // Absolute: where the images lie decides which disk is beneath them.
    let resolved = resolve(options, &std::path::absolute(&path)?)?;
    if options.dry_run {
        return print_json(&serde_json::to_value(&resolved.plan)?);
    }
    announce(&resolved);
    let outcome = run::throughput::run(&resolved, "throughput", &path)?;
    if options.abab || base.is_some() {
        let shown = Shown::of(options.fail_on, options.output.format);
        let compared = match &base {
            Some(base) => show(&base.side, &Side::of_outcome(&outcome), false, &shown),
            None => of_interleaved(Side::of_outcome(&outcome))
                .and_then(|(a, b)| show(&a, &b, true, &shown)),
        };
        // What went wrong with the run comes before what differs.
        conclude(&outcome, options.steady)?;
        return compared;
    }
    let printed = print(&render(&outcome.info, &outcome.findings, options.output.format)?);
    conclude(&outcome, options.steady).and(printed)
}

/// Where the records go.
pub(crate) fn run_path(output: &OutputOptions, command: &str) -> RunPlace {
    RunPlace::of(output, command)
}

/// What is going to happen, where somebody may wait for it.
pub(crate) fn announce(resolved: &ResolvedThroughput) {
    let plan = &resolved.plan;
    let systems: Vec<String> =
        resolved.systems.iter().map(|s| format!("{} × {}", s.name.column, s.name.drives)).collect();
    note(&format!(
        "{} programs × {} systems ({}), {} + {} passes each{}, files of {} ({}), {}, {}",
        plan.programs.len(),
        systems.len(),
        systems.join(", "),
        plan.warmup,
        plan.runs,
        plan.until.map_or(String::new(), |until| format!(
            " and more until its rate is known to ± {} % or {} s are over",
            until.precision_percent,
            until.max_time_ns as f64 / 1e9
        )),
        show_size(plan.file_bytes),
        plan.file_bytes_reason,
        if plan.is_cold { "caches emptied before each" } else { "caches as they are" },
        if plan.final_sync { "writes end with fdatasync" } else { "no fdatasync at the end" },
    ));
}

/// The quantity by which a cell counts as measured, in each experiment.
const RATES: &[&str] = &["rate_bytes_per_s", "routine_bytes_per_s"];

/// Whether a finding is the rate of a cell, by which the cell counts as measured.
pub(crate) fn is_rate(finding: &Finding) -> bool {
    let of_commits = matches!(finding.subject, Subject::Commit(_));
    RATES.contains(&finding.quantity.as_str())
        || of_commits && finding.quantity == "rate_operations_per_s"
}

/// Says where the records are, and turns what was met into an exit code.
pub(crate) fn conclude(outcome: &Outcome, steady: Option<f64>) -> anyhow::Result<()> {
    // The null engine measures the harness, and nothing that was requested.
    let is_harness = |f: &Finding| f.subject.engine() == Some(EngineKind::Null);
    let is_measured =
        |f: &Finding| is_rate(f) && f.verdict != Verdict::NotMeasured && !is_harness(f);
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
    note(&format!("records: {}", outcome.path.display()));
    if outcome.was_interrupted {
        return Err(failure(
            Fault::Interrupted,
            "interrupted; the cells that were whole are in the records, and nothing else is left",
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
        _ => Ok(()),
    }
}
