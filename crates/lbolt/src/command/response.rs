//! `lbolt response`: what each request of a trace went through, and which of them fared badly.

use super::print;
use crate::cli::{Format, ResponseOptions};
use crate::print::exit::{Fault, failure};
use crate::print::ticker::Ticker;
use crate::run::Watch;
use crate::run::response::{Analysed, analyse};
use crate::run::session::control;
use crate::run::trace::terminal_width;
use model::record::Finding;
use report::verdict::Shown;
use report::visible_findings;

/// Runs the command.
/// Errors: a trace that cannot be read; interruption.
pub(super) fn run(options: &ResponseOptions) -> anyhow::Result<()> {
    if options.ticks && !matches!(options.format, Format::Table | Format::Csv) {
        let sentence = "--ticks prints lines or CSV; leave --format away, or give --format csv";
        return Err(failure(Fault::Usage, sentence));
    }
    let watch = Watch::new(&control()?);
    let ticker = progress(watch.clone());
    let analysed = analyse(&options.traces, options.input_format.as_deref(), &watch);
    drop(ticker);
    let mut analysed = analysed?;
    let findings = analysed.findings();
    print(&shown(options, &mut analysed, &findings)?)
}

fn progress(watch: Watch) -> Ticker {
    let began = std::time::Instant::now();
    Ticker::reading(move || {
        let rows = watch.rows();
        format!("{rows} requests, {:.0} a second", rows as f64 / began.elapsed().as_secs_f64())
    })
}

/// The findings in the format that was requested.
fn shown(
    options: &ResponseOptions,
    analysed: &mut Analysed,
    findings: &[Finding],
) -> anyhow::Result<String> {
    if options.ticks {
        let counts = analysed.response.ticks().into_iter();
        let counts = counts.map(|count| (count.ticks, count.responses));
        return Ok(report::response::ticks(counts, options.format == Format::Csv));
    }
    Ok(match options.format {
        Format::Json => {
            let origin = analysed.provenance.origin_name();
            let trace = serde_json::json!({ "trace": options.traces, "origin": origin });
            report::json(&trace, findings)?
        }
        Format::Csv => report::csv(findings),
        Format::Markdown => report::response::markdown(&visible_findings(findings)),
        Format::Table if options.all => {
            report::response::table(&visible_findings(findings), terminal_width())
        }
        Format::Table => first_rows(options, &visible_findings(findings)),
    })
}

/// The first screen, or the tables that were requested.
fn first_rows(options: &ResponseOptions, findings: &[Finding]) -> String {
    let top = options.top.map_or(usize::MAX, |top| top as usize);
    match options.by.as_deref().filter(|by| !report::verdict::TABLES.contains(by)) {
        Some(by) => report::response::by(findings, by, top, terminal_width()),
        None => report::verdict::screen(findings, &selection(options), terminal_width()),
    }
}

/// What the first screen shows.
fn selection(options: &ResponseOptions) -> Shown {
    Shown {
        top: options.top.map(|top| top as usize),
        device: options.device.clone(),
        role: options.role.clone(),
        file: options.file.clone(),
        by: options.by.clone(),
    }
}
