//! The findings of a run in the format that was requested, of whatever experiments they are.

use crate::cli::Format;
use crate::print::output::terminal_width;
use model::record::Finding;
use model::run::RunInfo;
use model::text::visible;
use report::throughput::{Matrix, details, markdown, table};
use report::visible_findings;

/// Renders the findings.
/// Errors: a run that is no JSON.
pub(crate) fn render(
    info: &RunInfo,
    findings: &[Finding],
    format: Format,
) -> anyhow::Result<String> {
    let (whole, findings) = (findings, &*visible_findings(findings));
    let rows: Vec<String> = info.rows.iter().map(|row| visible(row).into_owned()).collect();
    Ok(match format {
        Format::Json => report::json(&serde_json::to_value(info)?, whole)?,
        Format::Csv => report::csv(findings),
        Format::Markdown => joined([
            of_files(findings).then(|| markdown(&Matrix::from_findings(findings, &rows))),
            of_routines(findings).then(|| report::overhead::markdown(findings)),
            report::sync::has_findings(findings).then(|| report::sync::markdown(findings)),
            report::joined::has_findings(findings).then(|| report::joined::markdown(findings)),
            of_requests(findings).then(|| report::requests::markdown(findings)),
        ]),
        Format::Table => {
            let width = terminal_width();
            let matrix = of_files(findings).then(|| Matrix::from_findings(findings, &rows));
            joined([
                matrix.as_ref().map(|matrix| table(matrix, width)),
                matrix.as_ref().map(|matrix| details(matrix, width)),
                of_routines(findings).then(|| report::overhead::table(findings, width)),
                report::sync::has_findings(findings).then(|| report::sync::table(findings, width)),
                report::joined::has_findings(findings)
                    .then(|| report::joined::table(findings, width)),
                of_requests(findings).then(|| report::requests::table(findings, width)),
                // The overhead experiment's table ends with it.
                (!of_routines(findings)).then(|| report::calibration_line(findings)).flatten(),
            ])
        }
    })
}

fn joined<const N: usize>(parts: [Option<String>; N]) -> String {
    let texts: Vec<String> = parts.into_iter().flatten().filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

/// Whether there are cells of the throughput experiment.
fn of_files(findings: &[Finding]) -> bool {
    findings.iter().any(|f| f.quantity == "rate_bytes_per_s")
}

/// Whether there are cells of the overhead experiment.
fn of_routines(findings: &[Finding]) -> bool {
    findings.iter().any(|f| f.quantity == "routine_bytes_per_s")
}

/// Whether there is a trace.
fn of_requests(findings: &[Finding]) -> bool {
    findings.iter().any(|f| f.quantity == "requests_count")
}
