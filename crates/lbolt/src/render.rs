//! The findings of a run in the format that was requested, of whatever experiments they are.

use analyze::cells::times;
use cli::Format;
use messages::output::terminal_width;
use model::quote;
use model::record::{Finding, Sample};
use model::run::RunInfo;
use model::text::visible;
use report::{Run, visible_findings};
use std::path::Path;

/// Renders the findings, all of them; as JSON with the times that samples tell.
/// Errors: a run that is no JSON.
pub(crate) fn render(
    info: &RunInfo,
    (findings, samples): (&[Finding], &[Sample]),
    format: Format,
) -> anyhow::Result<String> {
    rendered(info, (findings, samples), format, |run| run.table(terminal_width()))
}

/// The same, but of tables the first screen alone.
/// Errors: a run that is no JSON.
pub(crate) fn render_screen(
    info: &RunInfo,
    path: &Path,
    (findings, samples): (&[Finding], &[Sample]),
    format: Format,
) -> anyhow::Result<String> {
    let path = quote::path(path);
    let below = format!("every table: --all, or for this run: lbolt runs show {path}");
    rendered(info, (findings, samples), format, |run| run.screen(terminal_width(), &below))
}

fn rendered(
    info: &RunInfo,
    (findings, samples): (&[Finding], &[Sample]),
    format: Format,
    table: impl Fn(&Run<'_>) -> String,
) -> anyhow::Result<String> {
    let (whole, findings) = (findings, &*visible_findings(findings));
    let rows: Vec<String> = info.rows.iter().map(|row| visible(row).into_owned()).collect();
    let run = Run { findings, rows: &rows };
    Ok(match format {
        Format::Json => {
            let times = serde_json::to_value(times(samples))?;
            let times = times.as_array().is_some_and(|cells| !cells.is_empty()).then_some(&times);
            let answer = run.answer();
            report::json_with(&serde_json::to_value(info)?, &answer, times, whole)?
        }
        Format::Csv => report::csv(findings),
        Format::Markdown => run.markdown(),
        Format::Table => table(&run),
    })
}
