//! The findings of a run in the format that was requested, of whatever experiments they are.

use crate::cli::Format;
use crate::print::output::terminal_width;
use model::record::Finding;
use model::run::RunInfo;
use model::text::visible;
use report::{Run, visible_findings};

/// Renders the findings.
/// Errors: a run that is no JSON.
pub(crate) fn render(
    info: &RunInfo,
    findings: &[Finding],
    format: Format,
) -> anyhow::Result<String> {
    let (whole, findings) = (findings, &*visible_findings(findings));
    let rows: Vec<String> = info.rows.iter().map(|row| visible(row).into_owned()).collect();
    let run = Run { findings, rows: &rows };
    Ok(match format {
        Format::Json => report::json(&serde_json::to_value(info)?, whole)?,
        Format::Csv => report::csv(findings),
        Format::Markdown => run.markdown(),
        Format::Table => run.table(terminal_width()),
    })
}
