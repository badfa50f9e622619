//! `lbolt survey`: five questions, an experiment each, in one run.

use super::measure::{Extent, conclude, show};
use super::report::page_of;
use super::{note, print, print_json};
use crate::resolve::Resolved as _;
use crate::resolve::survey::{ResolvedSurvey, resolve};
use crate::run::directory::RunPlace;
use crate::run::session::Outcome;
use crate::run::survey::{Earlier, run};
use cli::{Format, OutputOptions, SurveyOptions};
use messages::output::terminal_width;
use model::quote;
use model::text::visible;
use report::{Run, survey, visible_findings};
use std::path::Path;

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
        .map(|run| Earlier::open(run, &options.output.runs_dir, &resolved));
    let earlier = earlier.transpose()?;
    resolved.announcement().lines().for_each(note);
    let (outcome, who) = run(&resolved, &place, &earlier.unwrap_or_default())?;
    let page = page_of(&outcome.path).map(|(path, _)| path).map_err(|error| {
        note(&format!("no page written: {error:#}"));
    });
    let printed = match options.output.format {
        Format::Table if !options.all => {
            print(&screen(&outcome, &resolved, &who, page.ok().as_deref()))
        }
        format => show(&outcome, format, Extent::Whole),
    };
    if outcome.was_interrupted {
        note(&format!("continue with: lbolt survey --resume {}", quote::path(&outcome.path)));
    }
    // Its page is made already.
    let output = OutputOptions { report: false, ..options.output.clone() };
    conclude(&outcome, &output, None).and(printed)
}

fn screen(
    outcome: &Outcome,
    resolved: &ResolvedSurvey,
    who: &[String],
    page: Option<&Path>,
) -> String {
    let findings = &*visible_findings(&outcome.findings);
    let rows: Vec<String> = outcome.info.rows.iter().map(|row| visible(row).into_owned()).collect();
    let run = Run { findings, rows: &rows };
    let path = quote::path(&outcome.path);
    let doubted = survey::doubted(findings).map_or_else(String::new, |text| format!("{text}. "));
    let page = page.map_or_else(String::new, |page| {
        format!(". As a page: {}", visible(&page.display().to_string()))
    });
    let left_out = resolved.volumes.iter().flat_map(|volume| &volume.left_out);
    let left_out: String = left_out.map(|why| format!("{}. ", visible(why))).collect();
    let below = format!("{left_out}{doubted}Every table: lbolt runs show {path}{page}");
    survey::screen(&run, who, terminal_width(), &below)
}
