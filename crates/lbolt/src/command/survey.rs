//! `lbolt survey`: five questions, an experiment each, in one run.

use super::measure::{Extent, conclude, show};
use super::{note, print, print_json};
use crate::cli::{Format, SurveyOptions};
use crate::print::output::terminal_width;
use crate::resolve::{Resolved as _, survey::resolve};
use crate::run::directory::RunPlace;
use crate::run::session::Outcome;
use crate::run::survey::{Earlier, run};
use model::text::visible;
use report::{Run, survey, visible_findings};

/// Runs the command.
/// Errors: what could not be done, with its exit code.
pub(super) fn run_survey(options: &SurveyOptions) -> anyhow::Result<()> {
    let place = RunPlace::of(&options.output, "survey");
    // Absolute: where the images lie decides which disk is beneath them.
    let resolved = resolve(options, &std::path::absolute(&place)?)?;
    if options.dry_run {
        return print_json(&resolved.plan()?);
    }
    let earlier = options
        .resume
        .as_deref()
        .map(|run| Earlier::open(run, &options.output.runs_dir, &resolved.directory));
    let earlier = earlier.transpose()?;
    resolved.announcement().lines().for_each(note);
    let (outcome, who) = run(&resolved, &place, earlier.unwrap_or_default())?;
    let printed = match options.output.format {
        Format::Table if !options.all => print(&screen(&outcome, &who)),
        format => show(&outcome, format, Extent::Whole),
    };
    if outcome.was_interrupted {
        note(&format!("lbolt survey --resume {} goes on", outcome.path.display()));
    }
    conclude(&outcome, &options.output, None).and(printed)
}

fn screen(outcome: &Outcome, who: &[String]) -> String {
    let findings = &*visible_findings(&outcome.findings);
    let rows: Vec<String> = outcome.info.rows.iter().map(|row| visible(row).into_owned()).collect();
    let run = Run { findings, rows: &rows };
    let path = outcome.path.display().to_string();
    let doubted = survey::doubted(findings).map_or_else(String::new, |text| format!("{text}. "));
    let below =
        format!("{doubted}Every table, with the reasons: lbolt runs show {}", visible(&path));
    survey::screen(&run, who, terminal_width(), &below)
}
